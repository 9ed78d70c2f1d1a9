"""The columns of silver, dimension and side tables, as Spark DDL, from their definitions."""

from collections.abc import Iterable

from spark_jobs.config.pipeline import Column, Dimension, Pipeline
from spark_jobs.silver.decode import REASON

ORIGIN_DDL = (
    "_arrived_at timestamp, _processed_at timestamp, _file string, _file_id string, _line bigint, _content"
    " bigint"
)
ARRIVAL_DDL = "_chunk bigint, _element int"
"""With `ties: newest_arrival`: what the origin lacks of a row's place among the arrivals."""
SEEN_DDL = "_seen_until timestamp, _closed_until timestamp"
SET_ASIDE_DDL = (
    f"record string, reasons array<{REASON}>, file string, file_id string, line bigint, element int,"
    " arrived_at timestamp, chunk bigint, seen_until timestamp, closed_until timestamp, set_aside_at"
    " timestamp, run_id string, batch bigint, rules string, first_seen_at timestamp, attempts int, state"
    " string"
)
"""Quarantine and parked tables: a row that is set aside can be read again from its record."""


def dimension_ddl(dimension: Dimension) -> str:
    columns = _declared(dimension.columns.items())
    origin = _origin(dimension.ties)
    if dimension.history == "scd1":
        return f"{columns}, {origin}"
    kind = dimension.columns[dimension.sequence_by].type
    place = "_arrived_at:timestamp,_file:string,_file_id:string,_line:bigint"
    place += ",_chunk:bigint,_element:int" if dimension.ties == "newest_arrival" else ""
    confirmation = f"struct<`{dimension.sequence_by}`:{kind},{place}>"
    return f"{columns}, _valid_from {kind}, _valid_to {kind}, _confirmed_by array<{confirmation}>, {origin}"


def silver_ddl(pipeline: Pipeline, name: str) -> str:
    table = pipeline.silver[name]
    columns = list(table.columns.items())
    for dimension, lookup in table.lookup.items():
        columns += [(column, pipeline.dimensions[dimension].columns[column]) for column in lookup.take]
    event = "_event_at timestamp, " if table.event_time else ""
    seen = f", {SEEN_DDL}" if pipeline.is_watermarked(name) else ""
    return f"{_declared(columns)}, {event}{_origin(table.ties)}{seen}"


def deleted_ddl(pipeline: Pipeline, name: str) -> str:
    """Versions that deleted their key: the key, the sequence, and where they came from."""
    table = pipeline.silver[name]
    identity = dict.fromkeys([*(table.key or ()), str(table.sequence_column)])
    return f"{_declared((column, table.columns[column]) for column in identity)}, {_origin(table.ties)}"


def _origin(ties: str) -> str:
    return f"{ORIGIN_DDL}, {ARRIVAL_DDL}" if ties == "newest_arrival" else ORIGIN_DDL


def _declared(columns: Iterable[tuple[str, Column]]) -> str:
    return ", ".join(f"`{name}` {column.type}" for name, column in columns)
