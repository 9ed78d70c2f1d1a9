"""Which columns of one table are sensitive: those declared so, and those that are made of the same fields of
a record or computed from them.
"""

from collections.abc import Callable, Iterable

from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.silver import Dimension, Silver

# Sensitive fields of records: which columns that a dimension or silver table takes from its records tell of a
# field that is sensitive. A field is sensitive for all tables of its source as soon as one of them declares
# it so.

FieldPath = tuple[str, ...]
"""Where a value stands in a record; empty: it is the record."""
RecordTable = Silver | Dimension


class Names(frozenset[str]):
    """Names of columns in lower case, asked without regard to case."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and super().__contains__(name.lower())


def own_sensitive(pipeline: Pipeline, table: RecordTable, more: Iterable[str] = ()) -> Names:
    """Of the table's own columns those that are sensitive, if `more` are; and the hash of its rows, by which
    values could be guessed.
    """
    hidden = _names([*_declared(table), *_sharing(pipeline, table, _declared), *more])
    computed = _computed(table) if hidden else {}
    while made_from := [
        name
        for name, inputs in computed.items()
        if name not in hidden and any(column in hidden for column in inputs)
    ]:
        hidden = _names([*hidden, *made_from])
    revealing = [name for name in _revealing(table) if table.columns[name].sql]
    found = [*hidden, *revealing, *_sharing(pipeline, table, _revealing)]
    return _names([*found, "_content"] if found else ())


def record_tables(pipeline: Pipeline) -> list[RecordTable]:
    return [*pipeline.dimensions.values(), *pipeline.silver.values()]


def field_paths(pipeline: Pipeline, table: RecordTable) -> dict[str, FieldPath]:
    """Where the columns without SQL stand in the record, as the engine takes them: the fields of a CSV header
    by their whole name, elsewhere dots lead into objects, and a text record is one field, of which those that
    its source names are parts.
    """
    source = pipeline.sources.get(table.from_)
    kind = source.record_format if source else "json"
    origins = {
        name: column.from_ or name
        for name, column in table.columns.items()
        if column.has_path and not (source and source.origin_of(column.from_))
    }
    rest: dict[str, FieldPath] = {name: () for name, column in table.columns.items() if column.rest}
    if kind == "text":
        return {name: () if origin == "value" else (origin,) for name, origin in origins.items()}
    return rest | {
        name: (origin,) if kind == "csv" else tuple(origin.split(".")) for name, origin in origins.items()
    }


def columns_named(expression: str, otherwise: Iterable[str]) -> list[str]:
    """The columns that an expression names; of one that cannot be read all that it might."""
    from spark_jobs.config.sql import SqlError, columns_in  # only where there is something to read

    try:
        return columns_in(expression)
    except SqlError:
        return list(otherwise)


def _declared(table: RecordTable) -> list[str]:
    return [name for name, column in table.columns.items() if column.sensitive]


def _revealing(table: RecordTable) -> list[str]:
    """What a sensitive SQL column is computed from, directly or through others. That others are computed from
    it too does not make them sensitive.
    """
    found = _names(_declared(table))
    computed = _computed(table) if found else {}
    inputs = Names()
    while (
        more := Names(
            column.lower() for name, named in computed.items() if name in found | inputs for column in named
        )
        - inputs
    ):
        inputs = Names(inputs | more)
    return [name for name in table.columns if name in inputs]


def _computed(table: RecordTable) -> dict[str, list[str]]:
    """The SQL columns, each with the columns that it names."""
    return {
        name: columns_named(column.sql, table.columns) for name, column in table.columns.items() if column.sql
    }


def _sharing(pipeline: Pipeline, table: RecordTable, chosen: Callable[[RecordTable], list[str]]) -> list[str]:
    """The table's columns that overlap in the record with columns chosen from any table of its source."""
    mates = [
        (other, _names(chosen(other))) for other in record_tables(pipeline) if other.from_ == table.from_
    ]
    fields = [
        path for other, names in mates for name, path in field_paths(pipeline, other).items() if name in names
    ]
    return [
        name
        for name, path in field_paths(pipeline, table).items()
        if any(_overlap(path, field) for field in fields)
    ]


def _overlap(one: FieldPath, other: FieldPath) -> bool:
    """Whether one field is the other, or lies within it."""
    return all(mine.lower() == theirs.lower() for mine, theirs in zip(one, other, strict=False))


def _names(names: Iterable[str]) -> Names:
    return Names(name.lower() for name in names)
