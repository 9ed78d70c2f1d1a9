"""The columns of the ledger's tables (ledger.py). Apart from it, because what only reads the ledger does
without Arrow.
"""

import pyarrow as pa

from spark_jobs.lake.counts import Counts
from spark_jobs.lake.sequence import SEQUENCE

DRIFT = pa.schema(
    [
        ("run_id", pa.string()),
        ("source", pa.string()),
        ("field", pa.string()),
        ("kind", pa.string()),
        ("file", pa.string()),
        ("seen_at", pa.timestamp("us", "UTC")),
    ]
)

_TIME = pa.timestamp("us", "UTC")
_COUNTS = [(name, pa.int64()) for name in Counts().as_dict()]
_BATCH = [
    ("run_id", pa.string()),
    ("table", pa.string()),
    ("step", pa.string()),
    ("generation", pa.int64()),
    ("batch", pa.int64()),
]
SCHEMAS = {
    "runs": pa.schema(
        [
            ("run_id", pa.string()),
            ("pipeline", pa.string()),
            ("at", _TIME),
            ("event", pa.string()),
            ("status", pa.string()),
            ("host", pa.string()),
            ("pid", pa.int64()),
            ("message", pa.string()),
            ("origin", pa.string()),
            ("seconds", pa.float64()),
        ]
    ),
    "tables": pa.schema(
        [
            ("run_id", pa.string()),
            ("table", pa.string()),
            ("ended_at", _TIME),
            ("seconds", pa.float64()),
            ("inputs", pa.string()),
            ("version", pa.int64()),
            ("batches", pa.int64()),
            *_COUNTS,
        ]
    ),
    "states": pa.schema(
        [
            ("run_id", pa.string()),
            ("table", pa.string()),
            ("generation", pa.int64()),
            ("ended_at", _TIME),
            ("state", pa.string()),
            ("error", pa.string()),
            ("seconds", pa.float64()),
            ("actions", pa.string()),
            ("seen", pa.string()),
            ("late_kept", pa.int64()),
            ("alarms", pa.string()),
        ]
    ),
    "intents": pa.schema([*_BATCH, ("begun_at", _TIME), ("inputs", pa.string())]),
    "batches": pa.schema(
        [
            *_BATCH,
            ("started_at", _TIME),
            ("ended_at", _TIME),
            ("version", pa.int64()),
            *_COUNTS,
            ("high", _TIME),
            ("closed_until", _TIME),
            ("chunk", pa.int64()),
            ("records", pa.int64()),
        ]
    ),
    "definitions": pa.schema(
        [
            ("run_id", pa.string()),
            ("table", pa.string()),
            ("generation", pa.int64()),
            ("noted_at", _TIME),
            ("definition", pa.string()),
            ("starts_after", pa.string()),
            ("state", pa.string()),
            ("stage", pa.string()),
            ("tables_until", pa.int64()),
        ]
    ),
    "evidence": pa.schema([*_BATCH, ("kept_at", _TIME), ("inputs", pa.string()), ("message", pa.string())]),
    "progress": pa.schema(
        [
            *_BATCH,
            ("at", _TIME),
            ("rows", pa.int64()),
            ("seconds", pa.float64()),
            ("input_rate", pa.float64()),
            ("processed_rate", pa.float64()),
            ("lag_seconds", pa.float64()),
            ("backlog_files", pa.int64()),
            ("backlog_bytes", pa.int64()),
            ("watermark", _TIME),
            ("state_rows", pa.int64()),
            ("state_bytes", pa.int64()),
            ("dropped_by_watermark", pa.int64()),
            ("durations", pa.string()),
            ("offsets", pa.string()),
            ("backlog_messages", pa.int64()),
            ("max_partition_lag", pa.int64()),
        ]
    ),
    "rules": pa.schema(
        [("rules", pa.string()), ("table", pa.string()), ("noted_at", _TIME), ("definition", pa.string())]
    ),
    "expectations": pa.schema(
        [
            *_BATCH,
            ("judged_at", _TIME),
            ("rules", pa.string()),
            ("rule", pa.string()),
            ("type", pa.string()),
            ("columns", pa.string()),
            ("on_fail", pa.string()),
            ("severity", pa.string()),
            ("reason", pa.string()),
            ("scope", pa.string()),
            ("is_met", pa.bool_()),
            ("rows", pa.int64()),
            ("failed", pa.int64()),
            ("observed", pa.string()),
            ("problem", pa.string()),
        ]
    ),
    "gates": pa.schema(
        [
            *_BATCH,
            ("judged_at", _TIME),
            ("begun_at", _TIME),
            ("rules", pa.string()),
            ("verdict", pa.string()),
            ("rows", pa.int64()),
            ("failed", pa.string()),
            ("grounds", pa.string()),
        ]
    ),
    "decisions": pa.schema(
        [
            *_BATCH,
            ("decided_at", _TIME),
            ("action", pa.string()),
            ("rules", pa.string()),
            ("decided_by", pa.string()),
            ("reason", pa.string()),
            ("grounds", pa.string()),
        ]
    ),
    "drift": DRIFT,
}
SCHEMAS = {name: schema.append(pa.field(SEQUENCE, pa.int64())) for name, schema in SCHEMAS.items()}
