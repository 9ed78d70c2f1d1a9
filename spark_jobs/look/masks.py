"""What SQL sees of a table: sensitive values masked as in every other command, before anything is compared,
sorted or counted by them. NULL stays NULL.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sensitive import (
    MASK,
    Everything,
    all_names,
    has_sensitive,
    sensitive_columns,
    sensitive_paths,
)
from spark_jobs.config.sensitive_fields import FieldPath
from spark_jobs.config.sink_tables import known_columns
from spark_jobs.config.table_name import TableName
from spark_jobs.lake.delta_table import literal, quoted
from spark_jobs.look.names import ARRIVALS, LEDGER, TableRef
from spark_jobs.quality.masking import mask_problem, mask_reasons, mask_record

REASONS = 'STRUCT("rule" VARCHAR, "column" VARCHAR, "value" VARCHAR)[]'
EVENT_TIMES = ("seen_until", "closed_until")
LEDGER_TIMES = ("inputs", "high", "closed_until", "watermark", "starts_after")
LATE_TIMES = ("window_start", "window_end", "event_at", "watermark_at", "late_seconds")


@dataclass(frozen=True)
class Part:
    """A column of which parts are sensitive: a function of Python masks them."""

    mask: Callable[[Any], Any]
    type: str


HIDDEN = None
Masked = Part | None
"""How a sensitive column is masked: HIDDEN, or in part."""


def masked_columns(ref: TableRef, columns: list[str]) -> dict[str, Masked]:
    """Of these columns those that are sensitive, with how they are masked."""
    pipeline, conf = ref.pipeline, ref.project.conf
    if ref.layer == ARRIVALS:
        return {}
    if ref.layer == LEDGER:
        return _all(LEDGER_TIMES, columns) if _hides_event_times(pipeline) else {}
    if ref.layer == "bronze":
        return _of_records(sensitive_paths(pipeline, TableName(ref.name).name), columns)
    hidden = sensitive_columns(pipeline, ref.name, conf)
    if ref.layer in ("quarantine", "parked"):
        return _of_set_aside(ref, hidden, columns)
    if ref.layer == "late":
        return _of_late(ref, columns)
    gone = _no_longer_declared(ref, columns)
    return {name: HIDDEN for name in columns if name in hidden or name in gone}


def masking_sql(name: str) -> str:
    """A column of which only NULL is told apart."""
    return f"CASE WHEN {quoted(name)} IS NULL THEN NULL ELSE {literal(MASK)} END AS {quoted(name)}"


def _all(names: tuple[str, ...], columns: list[str]) -> dict[str, Masked]:
    return {name: HIDDEN for name in columns if name in names}


def _no_longer_declared(ref: TableRef, columns: list[str]) -> set[str]:
    """Columns of an older version that the pipeline file does not have any more, so that nothing says whether
    they were sensitive: of a pipeline that has sensitive ones they count as such.
    """
    if not has_sensitive(ref.pipeline):
        return set()
    table = TableName(ref.name).name if ref.layer == "deleted" else ref.name
    known = known_columns(ref.pipeline, table)
    declared = None if known is None else {name.lower() for name in known}
    return {
        name
        for name in columns
        if declared is not None and not name.startswith("_") and name.lower() not in declared
    }


def _of_records(paths: frozenset[FieldPath], columns: list[str]) -> dict[str, Masked]:
    parts = {
        "record": Part(lambda record: mask_record(record, paths), "VARCHAR"),
        "_problem": Part(lambda said: None if said is None else mask_problem(said, paths), "VARCHAR"),
    }
    return {name: part for name, part in parts.items() if paths and name in columns}


def _of_set_aside(ref: TableRef, hidden: frozenset[str], columns: list[str]) -> dict[str, Masked]:
    layer, name = TableName(TableName(ref.name).name).parts
    tables = ref.pipeline.dimensions if layer == "dimension" else ref.pipeline.silver
    found = _of_records(sensitive_paths(ref.pipeline, tables[name].from_), columns)
    if hidden and "reasons" in columns:
        found["reasons"] = Part(lambda reasons: _masked_reasons(reasons, hidden), REASONS)
    return found | (_all(EVENT_TIMES, columns) if "_event_at" in hidden else {})


def _masked_reasons(reasons: Any, hidden: frozenset[str]) -> Any:
    return None if reasons is None else mask_reasons(reasons, hidden)


def _of_late(ref: TableRef, columns: list[str]) -> dict[str, Masked]:
    """Its rows are those of the silver tables that the gold table reads, as JSON."""
    gold = ref.pipeline.gold[TableName(TableName(ref.name).name).name]
    read = [sensitive_columns(ref.pipeline, table, ref.project.conf) for table, _ in gold.delays]
    hidden = all_names(*read)
    found: dict[str, Masked] = {}
    if hidden and "row" in columns:
        found["row"] = HIDDEN if isinstance(hidden, Everything) else _part_of_json(hidden)
    return found | (_all(LATE_TIMES, columns) if "_event_at" in hidden else {})


def _part_of_json(hidden: frozenset[str]) -> Part:
    paths = {(name,) for name in hidden}
    return Part(lambda row: mask_record(row, paths), "VARCHAR")


def _hides_event_times(pipeline: Pipeline) -> bool:
    """Then the ledger's watermarks are such times as well."""
    read = [
        *(f"silver.{name}" for name in pipeline.silver),
        *(table for gold in pipeline.gold.values() for table, _ in gold.delays),
    ]
    return any("_event_at" in sensitive_columns(pipeline, table) for table in read)
