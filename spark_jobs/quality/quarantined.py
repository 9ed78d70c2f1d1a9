"""Quarantined rows as they may be shown: with their reasons and their record, both
without sensitive values.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sensitive import sensitive_columns, sensitive_paths
from spark_jobs.config.table_name import TableName
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.quarantine import Row, newest_rows
from spark_jobs.lake.selection import Selection
from spark_jobs.quality.masking import mask_reasons, mask_record


@dataclass(frozen=True)
class QuarantinedRow:
    """`attempts`: how often it was replayed in vain. `rules`: the version of the rules that it was last
    judged by, if any.
    """

    table: str
    file: str
    file_id: str
    line: int
    element: int
    state: str
    attempts: int
    first_seen_at: datetime
    set_aside_at: datetime
    rules: str | None
    reasons: tuple[dict[str, Any], ...]
    record: str | None

    @property
    def place(self) -> str:
        """Where it came from: file and line, and within a record that was exploded its number."""
        return f"{self.file}:{self.line}" + (f" element {self.element}" if self.element else "")

    def describe(self) -> str:
        """Every reason, on one line unless a value has several."""
        return "; ".join(map(describe_reason, self.reasons))

    def as_dict(self) -> dict[str, Any]:
        times = {
            "first_seen_at": self.first_seen_at.isoformat(),
            "set_aside_at": self.set_aside_at.isoformat(),
        }
        return {**vars(self), **times, "reasons": list(self.reasons)}


def read_quarantined(
    pipeline: Pipeline, lake: Lake, table: str, selection: Selection, limit: int
) -> tuple[tuple[QuarantinedRow, ...], int]:
    """The newest selected rows of the quarantine of a dimension or silver table, and how many are selected in
    all.
    """
    rows, total = newest_rows(lake, table, selection, limit)
    return tuple(_masked(pipeline, table, row) for row in rows), total


def describe_reason(reason: Mapping[str, Any]) -> str:
    named = " of ".join(part for part in (reason["rule"], reason["column"]) if part)
    return named if reason["value"] is None else f"{named}: {reason['value']!r}"


def _masked(pipeline: Pipeline, table: str, row: Row) -> QuarantinedRow:
    layer, name = TableName(table).parts
    source = (pipeline.dimensions if layer == "dimension" else pipeline.silver)[name].from_
    known = {
        field: row[field]
        for field in ("file", "file_id", "line", "element", "state", "first_seen_at", "set_aside_at")
    }
    return QuarantinedRow(
        table=table,
        attempts=row.get("attempts") or 0,
        rules=row.get("rules"),
        reasons=tuple(mask_reasons(row["reasons"], sensitive_columns(pipeline, table))),
        record=mask_record(row["record"], sensitive_paths(pipeline, source)),
        **known,
    )
