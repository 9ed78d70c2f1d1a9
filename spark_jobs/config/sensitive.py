"""Which columns hold values that are shown nowhere but in the tables: those of the table itself, and all
that come from sensitive ones upstream.
"""

from collections.abc import Mapping
from pathlib import Path

from spark_jobs.config.columns import WINDOW, gold_above
from spark_jobs.config.files import read_text
from spark_jobs.config.gold import Gold, Join
from spark_jobs.config.graph import gold_inputs
from spark_jobs.config.lakehouse import Profile
from spark_jobs.config.names import SIDES, name_at_home, other_pipeline
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sensitive_fields import (
    FieldPath,
    Names,
    columns_named,
    field_paths,
    own_sensitive,
    record_tables,
)
from spark_jobs.config.silver import Dimension, Silver
from spark_jobs.config.table_name import TableName

MASK = "•••"


class Everything(Names):
    """All columns of a table, whatever they are called: of a table by SQL or Python nobody knows where a
    column comes from.
    """

    def __contains__(self, name: object) -> bool:
        return True


EVERYTHING = Everything(["*"])


def all_names(*known: frozenset[str]) -> frozenset[str]:
    """The names of several answers of sensitive_columns as one, asked in the same way."""
    return (
        EVERYTHING
        if any(isinstance(names, Everything) for names in known)
        else Names(name for names in known for name in names)
    )


def hidden_windows(pipeline: Pipeline, conf: Path) -> list[str]:
    """The gold tables that Spark is told times of a sensitive column for: the bounds by which windows are
    found, and the watermarks by which rows are late. They stand in its plans.
    """
    return [
        f"gold.{name}" for name, gold in pipeline.gold.items() if _tells_times(pipeline, name, gold, conf)
    ]


def _tells_times(pipeline: Pipeline, name: str, gold: Gold, conf: Path) -> bool:
    asked = [(f"gold.{name}", column) for column in WINDOW if gold.window]
    asked += [(table, "_seen_until") for table, delay in gold.delays if delay]
    return any(column in sensitive_columns(pipeline, table, conf) for table, column in asked)


def without_hidden_plans(profile: Profile, pipeline: Pipeline, conf: Path) -> Profile:
    """The profile, without an event log where the plans in it would tell of sensitive values."""
    return (
        profile.model_copy(update={"event_log": False})
        if profile.event_log and hidden_windows(pipeline, conf)
        else profile
    )


def sensitive_columns(pipeline: Pipeline, table: str, conf: Path | None = None) -> frozenset[str]:
    """Of a table by its full name, as in silver.orders or quarantine.silver.orders: ask it with `in`, which
    may say yes to any name.

    Without `conf` the SQL file of a gold table is not read, and its table counts as sensitive where any other
    one is.
    """
    if other_pipeline(table):
        home = pipeline.home_of(table)
        return sensitive_columns(home, name_at_home(table), conf) if home else EVERYTHING
    layer, name = TableName(table).parts
    if layer in SIDES:
        return sensitive_columns(pipeline, name, conf)
    if layer == "bronze":
        return Names(["record"] if sensitive_paths(pipeline, name) else ())
    if layer == "dimension":
        return _of_dimension(pipeline, pipeline.dimensions[name])
    return (
        _of_silver(pipeline, pipeline.silver[name])
        if layer == "silver"
        else _of_gold(pipeline, pipeline.gold[name], conf)
    )


def sensitive_paths(pipeline: Pipeline, source: str) -> frozenset[FieldPath]:
    """Where the records of a source hold sensitive values, for any of its tables; a text source has the one
    path `()`: all of it.
    """
    definitions: list[tuple[Silver | Dimension, Names]] = [
        *((dimension, _of_dimension(pipeline, dimension)) for dimension in pipeline.dimensions.values()),
        *((silver, _of_silver(pipeline, silver)) for silver in pipeline.silver.values()),
    ]
    mine = [(table, hidden) for table, hidden in definitions if table.from_ == source]
    return frozenset(
        path
        for table, hidden in mine
        for name, path in field_paths(pipeline, table).items()
        if name in hidden
    )


def has_sensitive(pipeline: Pipeline) -> bool:
    return any(column.sensitive for table in record_tables(pipeline) for column in table.columns.values())


def _all_upstream(pipeline: Pipeline) -> list[Pipeline]:
    """The other pipelines that its rows may come from, directly or through others."""
    found: dict[str, Pipeline] = {}
    waiting = [pipeline]
    while waiting:
        more = {name: other for name, other in waiting.pop().upstream.items() if name not in found}
        found |= more
        waiting += more.values()
    return list(found.values())


def _of_dimension(pipeline: Pipeline, dimension: Dimension) -> Names:
    own, taken = _with_lookups(pipeline, dimension)
    times = ("_valid_from", "_valid_to", "_confirmed_by") if {*dimension.sequence_by} & {*own} else ()
    return Names([*own, *taken, *times])


def _with_lookups(pipeline: Pipeline, table: Silver | Dimension) -> tuple[Names, list[str]]:
    """The table's own columns that are sensitive, and those that its lookups take."""
    taken, matched = list[str](), list[str]()
    for name, lookup in table.lookup.items():
        dimension = pipeline.dimensions.get(name)
        hidden = _of_dimension(pipeline, dimension) if dimension else Names()
        taken += [name for name, column in lookup.pairs if column in hidden]
        matched += [
            column
            for column, key in zip(lookup.on, dimension.key if dimension else (), strict=False)
            if key in hidden
        ]
    return own_sensitive(pipeline, table, matched), [name.lower() for name in taken]


def _of_silver(pipeline: Pipeline, silver: Silver) -> Names:
    own, taken = _with_lookups(pipeline, silver)
    event = (
        ("_event_at", "_seen_until", "_closed_until")
        if silver.event_time and silver.event_time.column in own
        else ()
    )
    return Names([*own, *taken, *event])


def _of_gold(pipeline: Pipeline, gold: Gold, conf: Path | None) -> Names:
    if gold.join is not None:
        return _of_join(pipeline, gold.join)
    if gold.from_ is None:
        return EVERYTHING if _reads_sensitive(pipeline, gold, conf) else Names()
    if gold.reads_gold:
        return _of_gold_above(pipeline, gold, conf)
    home, silver = pipeline.home_of(gold.from_), pipeline.silver_named(gold.from_)
    hidden = _of_silver(home, silver) if home and silver else Names()
    if not hidden or silver is None:
        return Names()
    if gold.is_native:  # a class may do anything with its rows
        return EVERYTHING if gold.state else hidden
    at = (gold.window.column if gold.window else None) or (
        silver.event_time.column if silver.event_time else None
    )
    return _of_aggregate(gold, hidden, at)


def _of_gold_above(pipeline: Pipeline, gold: Gold, conf: Path | None) -> Names:
    if (above := gold_above(pipeline, gold)) is None:
        return Names()
    at = (gold.window.column if gold.window else None) or "window_start"
    return _of_aggregate(gold, _of_gold(pipeline, above, conf), at)


def _of_aggregate(gold: Gold, hidden: Names, at: str | None) -> Names:
    """What groups, windows and measures tell of these columns."""
    windows = tuple(WINDOW) if gold.window and at in hidden else ()
    groups = [column for column in gold.group_by if column in hidden]
    measures = _telling(gold.measures, Names([*hidden, *(name.lower() for name in windows)]))
    return Names(
        name.lower() for name in (*groups, *windows, *measures, *_telling(gold.running, Names(measures)))
    )


def _telling(expressions: Mapping[str, str], hidden: Names) -> list[str]:
    return [
        name.lower()
        for name, sql in expressions.items()
        if any(column in hidden for column in columns_named(sql, hidden))
    ]


def _of_join(pipeline: Pipeline, join: Join) -> Names:
    silver = {side: pipeline.silver_named(definition.from_) for side, definition in join.sides.items()}
    hidden = {side: _of_silver(pipeline, table) if table else Names() for side, table in silver.items()}
    taken = {name: path.partition(".") for name, path in join.take.items()}
    return Names(
        name.lower() for name, (side, _, column) in taken.items() if column in hidden.get(side, Names())
    )


def _reads_sensitive(pipeline: Pipeline, gold: Gold, conf: Path | None) -> bool:
    """A function may do anything with its inputs. Of a SQL file it is enough that it names no sensitive
    column, and not all by a star.
    """
    if not any(has_sensitive(known) for known in (pipeline, *_all_upstream(pipeline))):
        return False
    if gold.sql is None:
        return any(sensitive_columns(pipeline, table, conf) for table in gold.inputs)
    if conf is None:
        return True
    from spark_jobs.config.sql import SqlError, has_star, parse_query, words_of

    hidden = [sensitive_columns(pipeline, table, conf) for table in gold_inputs(gold, conf)]
    try:
        tree = parse_query(read_text(conf / gold.sql))
    except SqlError:
        return any(hidden)
    return any(
        bool(names) and (has_star(tree) or any(word in names for word in words_of(tree))) for names in hidden
    )
