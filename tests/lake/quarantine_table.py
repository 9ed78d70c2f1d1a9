"""Quarantine tables as the engine writes them, made without Spark."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from spark_jobs.lake.layout import Lake

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
_TIME = pa.timestamp("us", "UTC")
_REASONS = pa.list_(pa.struct([("rule", pa.string()), ("column", pa.string()), ("value", pa.string())]))
OLD = pa.schema(
    [("record", pa.string()), ("reasons", _REASONS), ("file", pa.string()), ("file_id", pa.string()), ("line", pa.int64()),
     ("element", pa.int32()), ("arrived_at", _TIME), ("chunk", pa.int64()), ("set_aside_at", _TIME), ("run_id", pa.string()),
     ("batch", pa.int64())]
)  # fmt: skip
SCHEMA = pa.schema(
    [*OLD, ("rules", pa.string()), ("first_seen_at", _TIME), ("attempts", pa.int32()), ("state", pa.string())]
)


def bad(line: int, *rules: str, **values: Any) -> dict[str, Any]:
    """A row of orders/a.json that these rules have set aside; a rule may be followed by a column and a value:
    'type bigint|id|x'.
    """
    parts = [(*rule.split("|"), None, None)[:3] for rule in rules]
    reasons = [dict(zip(("rule", "column", "value"), part, strict=True)) for part in parts]
    place = {"file": "orders/a.json", "file_id": "a", "line": line, "element": 0}
    times = {"arrived_at": AT, "set_aside_at": AT, "first_seen_at": AT}
    return {
        "record": f'{{"id": {line}}}',
        "reasons": reasons,
        **place,
        **times,
        "chunk": 1,
        "state": "open",
        "attempts": 0,
        **values,
    }


def set_aside(lake: Lake, table: str, *rows: dict[str, Any], schema: pa.Schema = SCHEMA) -> None:
    """Append the rows to the quarantine of a table."""
    write_deltalake(
        lake.table(f"quarantine.{table}"), pa.Table.from_pylist(list(rows), schema=schema), mode="append"
    )
