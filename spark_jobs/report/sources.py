"""What landed and what is not in the tables: files, fields that came or went, and the reasons of rows in
quarantine.
"""

import json
from collections.abc import Collection, Iterable
from itertools import groupby
from typing import Any

from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sensitive import sensitive_columns
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.quarantine import Reason, SetAsideRow, count_reasons, sample_rows
from spark_jobs.lake.sequence import SEQUENCE, read_ordered
from spark_jobs.landing.arrivals import TAKEN, files_not_taken, read_arrivals
from spark_jobs.landing.skipped import UNREADABLE
from spark_jobs.quality.masking import mask_reasons
from spark_jobs.report.account import FileNotRead, count_empty, count_files, files_not_read
from spark_jobs.report.source_facts import DriftFact, FileFact, ReasonFact, Sample, SourceFact
from spark_jobs.report.text import cut

# What landed: the files of each source, those that were not taken, and fields that came or went.

FILES_SHOWN = 20
DRIFT_SHOWN = 20
TEXT_LENGTH = 300


def collect_sources(pipeline: Pipeline, lake: Lake, run_id: str) -> tuple[SourceFact, ...]:
    verdicts = count_files(pipeline, lake)
    return tuple(
        SourceFact(
            name,
            cut(source.place("").lstrip("/")),
            verdicts[name],
            _files_of_run(lake, name, run_id),
            count_empty(lake, name),
            len(files_not_taken(lake.arrivals(name))),
        )
        for name, source in pipeline.sources.items()
    )


def collect_files_not_taken(pipeline: Pipeline, lake: Lake) -> tuple[tuple[FileFact, ...], int]:
    """The first of them, and how many there are; those that cannot be read come first, because nobody else
    has said so.
    """
    found = sorted(files_not_read(pipeline, lake), key=lambda file: file.verdict != UNREADABLE)
    shown = [
        FileFact(file.source, cut(file.path, TEXT_LENGTH), cut(_say_why(file), TEXT_LENGTH))
        for file in found[:FILES_SHOWN]
    ]
    return tuple(shown), len(found)


def _say_why(file: FileNotRead) -> str:
    return f"it cannot be read: {file.reason}" if file.verdict == UNREADABLE else file.reason


def collect_drift(lake: Lake, run_id: str) -> tuple[DriftFact, ...]:
    """All of it, the newest first, and of one time what is missing before what is new."""
    rows = read_ordered(lake, "drift", ["run_id", "source", "field", "kind", "file", "seen_at"])
    writes = groupby(reversed(rows), key=lambda row: (row.get(SEQUENCE), row["seen_at"]))
    newest = [
        row
        for _, written in writes
        for row in sorted(written, key=lambda row: (row["kind"] != "missing", row["source"], row["field"]))
    ]
    return tuple(
        DriftFact(
            row["source"],
            cut(row["field"]),
            row["kind"],
            cut(row["file"], TEXT_LENGTH),
            row["seen_at"],
            row["run_id"] == run_id,
        )
        for row in newest
    )


def _files_of_run(lake: Lake, source: str, run_id: str) -> int | None:
    """The taken files between the chunk that bronze had read before the run and the one
    that it read in it.
    """
    rows = read_ordered(lake, "tables", ["run_id", "inputs", "table"], {"table": [f"bronze.{source}"]})
    ends = [row["run_id"] for row in rows]
    if run_id not in ends:
        return None
    until, place = _chunk(rows[ends.index(run_id)]), ends.index(run_id)
    after = _chunk(rows[place - 1]) if place else None
    if until is None:
        return None
    chunks = [
        row["chunk"]
        for row in read_arrivals(lake.arrivals(source), ["chunk", "verdict"])
        if row["verdict"] == TAKEN
    ]
    return sum(1 for chunk in chunks if (after is None or chunk > after) and chunk <= until)


def _chunk(row: dict[str, Any]) -> int | None:
    found = json.loads(row["inputs"] or "{}").get("arrivals")
    return found if isinstance(found, int) else None


# Why rows are not in the tables: the reasons that hold most rows back, with some rows of each. Sensitive
# values are masked here.

REASONS_SHOWN = 8
SAMPLES_SHOWN = 3
PLACES = ("quarantine", "parked")
FILE_LENGTH = 200


def top_reasons(pipeline: Pipeline, lake: Lake, tables: Iterable[str], run_id: str) -> tuple[ReasonFact, ...]:
    """Per table and place the reasons that hold most rows back, those with rows of this run first."""
    found = [
        fact
        for table in tables
        for place in PLACES
        for fact in _reasons(pipeline, lake, table, place, run_id)
    ]
    return tuple(sorted(found, key=lambda fact: (-fact.new_rows, -fact.open_rows, fact.table, fact.rule)))


def _reasons(pipeline: Pipeline, lake: Lake, table: str, place: str, run_id: str) -> list[ReasonFact]:
    path, sensitive = lake.table(f"{place}.{table}"), sensitive_columns(pipeline, table)
    counts = count_reasons(path)
    if not counts:
        return []
    new = count_reasons(path, [run_id])
    shown = sorted(counts, key=lambda reason: (-new[reason], -counts[reason], reason))[:REASONS_SHOWN]
    samples = sample_rows(path, [reason for reason in shown if new[reason]], SAMPLES_SHOWN, [run_id])
    samples |= sample_rows(path, [reason for reason in shown if reason not in samples], SAMPLES_SHOWN)
    return [
        ReasonFact(
            table=table,
            place=place,
            rule=cut(reason[0]),
            column=cut(reason[1]),
            open_rows=counts[reason],
            new_rows=new[reason],
            samples=tuple(_sample(row, reason, sensitive) for row in samples.get(reason, [])),
        )
        for reason in shown
    ]


def _sample(row: SetAsideRow, reason: Reason, sensitive: Collection[str]) -> Sample:
    [shown] = mask_reasons([{"rule": reason[0], "column": reason[1], "value": row.value}], sensitive)
    value = "(no value)" if shown["value"] is None else cut(shown["value"])
    return Sample(cut(row.file, FILE_LENGTH), row.line, row.element, value)
