"""The columns of a table with their types, as its definition gives them: what expressions, keys and SQL may
name.
"""

from collections.abc import Collection

from spark_jobs.config.expectations import FAILED_RULES
from spark_jobs.config.gold import Gold
from spark_jobs.config.names import ROW_ORIGINS, name_at_home
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.silver import Dimension, Silver
from spark_jobs.config.table_name import TableName

ROW_ORIGIN = {
    "_arrived_at": "timestamp",
    "_processed_at": "timestamp",
    "_file": "string",
    "_file_id": "string",
    "_line": "bigint",
    "_content": "bigint",
}
# Where the arrival decides between versions: what the origin lacks of a row's place among the arrivals.
ARRIVAL = {"_chunk": "bigint", "_element": "int"}
# What had been seen when the row's file arrived: there where a gold table closes windows over the silver
# table.
SEEN = {"_seen_until": "timestamp", "_closed_until": "timestamp"}
# Columns that tell of processing, or of the order of arrival: a table made from them would be no function of
# the files.
OF_PROCESSING = ("_processed_at", *SEEN, *ARRIVAL)
WINDOW = {"window_start": "timestamp", "window_end": "timestamp"}
# The type of a measure is Spark's to find; the checks need only its name.
ANY = "unknown"


def own_columns(table: Silver | Dimension) -> dict[str, str]:
    """The columns that a silver table or dimension takes from its records."""
    return {name: column.type for name, column in table.columns.items()}


def row_columns(pipeline: Pipeline, table: Silver | Dimension) -> dict[str, str]:
    """What SQL over one row may name: the table's own columns and, of files, where the row came from."""
    source = pipeline.sources.get(table.from_)
    origins = {name: kind for name, kind in ROW_ORIGINS.items() if source and source.origin_of(name)}
    return own_columns(table) | origins


def taken_columns(
    pipeline: Pipeline, table: Silver | Dimension, above: Collection[str] = ()
) -> dict[str, str]:
    """What the lookups of a table take, in their order. What a mistaken lookup takes counts, too: one
    mistake, one problem.
    """
    taken: dict[str, str] = {}
    for name, lookup in table.lookup.items():
        members = member_columns(pipeline, name, above)
        taken |= {new: members.get(column, ANY) for new, column in lookup.pairs}
    return taken


def member_columns(pipeline: Pipeline, dimension: str, above: Collection[str] = ()) -> dict[str, str]:
    """What lookups may take of a dimension; nothing of one that is not there, or that looks itself up."""
    if dimension not in pipeline.dimensions or dimension in above:
        return {}
    table = pipeline.dimensions[dimension]
    return taken_columns(pipeline, table, (*above, dimension)) | own_columns(table)


def dimension_columns(pipeline: Pipeline, name: str) -> dict[str, str]:
    dimension = pipeline.dimensions[name]
    own = member_columns(pipeline, name)
    kind = (own | ROW_ORIGIN).get(next(iter(dimension.sequence), ""), ANY)
    history = (
        {"_valid_from": kind, "_valid_to": kind, "_confirmed_by": ANY} if dimension.history == "scd2" else {}
    )
    return own | history | ROW_ORIGIN | _arrival(dimension)


def silver_columns(pipeline: Pipeline, name: str) -> dict[str, str]:
    """Its own columns, those that lookups take, and the system's."""
    silver = pipeline.silver[name]
    taken = taken_columns(pipeline, silver)
    event = {"_event_at": "timestamp"} if silver.event_time else {}
    return (
        taken
        | own_columns(silver)
        | event
        | ROW_ORIGIN
        | _arrival(silver)
        | (SEEN if pipeline.is_watermarked(name) else {})
        | ({FAILED_RULES: "array<string>"} if pipeline.tagging(f"silver.{name}") else {})
    )


def _arrival(table: Silver | Dimension) -> dict[str, str]:
    return ARRIVAL if table.keeps_arrival else {}


def aggregate_columns(pipeline: Pipeline, gold: Gold) -> dict[str, str]:
    """The columns of a gold table made by `from` and measures, or by a native query."""
    if gold.is_native:
        return _native_columns(pipeline, gold) | {"_processed_at": "timestamp"}
    known = aggregated_columns(pipeline, gold)
    groups = {name: known.get(name, ANY) for name in gold.group_by}
    system = (
        {"_row_count": "bigint"}
        | ({"_revision": "int"} if gold.watermark and gold.kind == "windows" else {})
        | {"_processed_at": "timestamp"}
    )
    measures = dict.fromkeys([*gold.measures, *gold.running], ANY)
    return (WINDOW if gold.window else {}) | groups | measures | system


def aggregated_columns(pipeline: Pipeline, gold: Gold) -> dict[str, str]:
    """The columns of the table whose rows a gold table aggregates; none where there is no such table, or
    where tables are made from one another.
    """
    if gold.reads_gold:
        source = gold_above(pipeline, gold)
        return aggregate_columns(pipeline, source) if source is not None and source.measures else {}
    home, name = pipeline.home_of(gold.from_ or ""), name_at_home(gold.from_ or "").removeprefix("silver.")
    return silver_columns(home, name) if home and name in home.silver else {}


def gold_above(pipeline: Pipeline, gold: Gold) -> Gold | None:
    """The gold table that another one aggregates; None where there is none, or where tables are made from one
    another.
    """
    found, seen = gold, list[str]()
    while found.reads_gold:
        name = str(found.from_).removeprefix("gold.")
        if name in seen or name not in pipeline.gold:
            return None
        seen.append(name)
        found = pipeline.gold[name]
    return pipeline.gold[seen[0]] if seen else None


def row_keys(pipeline: Pipeline) -> dict[str, list[str]]:
    """By table the columns that identify a row, where there are such: what an order must name to leave no
    ties.
    """
    keys = {f"dimension.{name}": dimension_key(dimension) for name, dimension in pipeline.dimensions.items()}
    keys |= {
        f"silver.{name}": silver_key(silver) for name, silver in pipeline.silver.items() if silver_key(silver)
    }
    aggregates = {name: gold for name, gold in pipeline.gold.items() if gold.measures and not gold.is_native}
    return keys | {
        f"gold.{name}": [*(["window_start"] if gold.window else []), *gold.group_by]
        for name, gold in aggregates.items()
    }


def dimension_key(dimension: Dimension) -> list[str]:
    return [*dimension.key, *(["_valid_from"] if dimension.history == "scd2" else [])]


def silver_key(silver: Silver) -> list[str]:
    """Its key, or the place of a row in its file; none of those that share a record."""
    return silver.key or ([] if silver.explode else ["_file_id", "_line"])


def _native_columns(pipeline: Pipeline, gold: Gold) -> dict[str, str]:
    """What a native query publishes: the columns that its class emits, the whole row of dedup, what a join
    takes.
    """
    known = {
        table: silver_columns(pipeline, name_at_home(table).removeprefix("silver."))
        for table, _ in gold.delays
        if _is_own(pipeline, table)
    }
    if gold.join:
        sides = {side: known.get(definition.from_, {}) for side, definition in gold.join.sides.items()}
        taken = {name: path.partition(".") for name, path in gold.join.take.items()}
        places = {f"_{side}_{name}": ROW_ORIGIN[f"_{name}"] for side in sides for name in ("file_id", "line")}
        return {
            name: sides.get(side, {}).get(column, ANY) for name, (side, _, column) in taken.items()
        } | places
    if gold.dedup:
        return {
            name: kind for name, kind in known.get(str(gold.from_), {}).items() if name not in OF_PROCESSING
        }
    return dict(gold.columns or {})


def _is_own(pipeline: Pipeline, table: str) -> bool:
    layer, name = TableName(table).parts
    return layer == "silver" and name in pipeline.silver
