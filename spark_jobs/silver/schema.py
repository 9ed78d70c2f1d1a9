"""The columns of silver, dimension and quarantine tables, as Spark DDL, from their definitions."""

from collections.abc import Iterable

from spark_jobs.config.pipeline import Column, Dimension, Pipeline
from spark_jobs.silver.decode import REASON

ORIGIN_DDL = "_arrived_at timestamp, _processed_at timestamp, _file string, _file_id string, _line bigint, _content bigint"
QUARANTINE_DDL = (
    f"record string, reasons array<{REASON}>, file string, file_id string, line bigint, "
    "arrived_at timestamp, quarantined_at timestamp, run_id string, batch bigint"
)


def dimension_ddl(dimension: Dimension) -> str:
    columns = _declared(dimension.columns.items())
    if dimension.history == "scd1":
        return f"{columns}, {ORIGIN_DDL}"
    kind = dimension.columns[dimension.sequence_by].type
    confirmation = f"struct<`{dimension.sequence_by}`:{kind},_arrived_at:timestamp,_file:string,_file_id:string,_line:bigint>"
    return f"{columns}, _valid_from {kind}, _valid_to {kind}, _confirmed_by array<{confirmation}>, {ORIGIN_DDL}"


def silver_ddl(pipeline: Pipeline, name: str) -> str:
    table = pipeline.silver[name]
    columns = list(table.columns.items())
    for dimension, lookup in table.lookup.items():
        columns += [(column, pipeline.dimensions[dimension].columns[column]) for column in lookup.take]
    event = "_event_at timestamp, " if table.event_time else ""
    return f"{_declared(columns)}, {event}{ORIGIN_DDL}"


def _declared(columns: Iterable[tuple[str, Column]]) -> str:
    return ", ".join(f"`{name}` {column.type}" for name, column in columns)
