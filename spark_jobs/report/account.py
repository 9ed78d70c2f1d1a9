"""Landed files whose records are not in bronze, as a person is told of them: refused, repeated, or
unreadable.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spark_jobs.config.graph import node_names
from spark_jobs.config.loading import Project
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sensitive import sensitive_paths
from spark_jobs.config.sources import FileSource, StreamSource
from spark_jobs.config.table_name import TableName
from spark_jobs.lake.balance import balances, records_unread, rows_not_delivered
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delta_log import table_version
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.landing.arrivals import CLOSED, DISCARDED, TAKEN, read_arrivals
from spark_jobs.landing.skipped import UNREADABLE, files_without_records
from spark_jobs.landing.streams import read_until
from spark_jobs.quality.masking import mask_problem


@dataclass(frozen=True)
class FileNotRead:
    """`verdict`: refused, repeated or unreadable. `reason` shows nothing of the file where its source has
    sensitive columns.
    """

    source: str
    path: str
    verdict: str
    reason: str


def files_not_read(pipeline: Pipeline, lake: Lake) -> list[FileNotRead]:
    """All of them but those that a person has discarded, by source and path. Bronze, which takes libraries to
    read, is read only where the ledger counts a file that cannot be.
    """
    found, ledger = [], Ledger(lake)
    live = ledger.live_definitions()
    for name, source in pipeline.sources.items():
        if isinstance(source, FileSource):
            hidden, table = {()} if sensitive_paths(pipeline, name) else (), f"bronze.{name}"
            batches = ledger.batches(table, live[table].generation) if table in live else ()
            bronze = lake.table(table) if any(batch["quarantined"] for batch in batches) else None
            for path, verdict, reason, _ in files_without_records(lake.arrivals(name), bronze):
                if verdict != DISCARDED:
                    said = mask_problem(reason, hidden) if verdict == UNREADABLE else reason
                    found.append(FileNotRead(name, path, verdict, said))
    return found


# What became of every row that entered the tables of a pipeline, summed over all batches of the ledger, and
# whether the sums balance.

REENRICH = "reenrich"


def account_of(project: Project, name: str) -> dict[str, Any]:
    """The tables of one pipeline, and its files that were not taken."""
    lake = Lake(project.lake, name)
    pipeline = project.pipelines[name]
    return {
        "pipeline": name,
        "lake": f"{project.lake}/{name}",
        "tables": sum_up(pipeline, lake),
        "files": count_files(pipeline, lake),
        "files_empty": {
            source: number for source in pipeline.sources if (number := count_empty(lake, source))
        },
        "files_not_taken": [
            {"path": file.path, "verdict": file.verdict, "reason": file.reason}
            for file in files_not_read(pipeline, lake)
        ],
        "offsets": read_offsets(pipeline, lake),
        "drift": [
            f"{row['source']}: {row['field']!r} {row['kind']} in {row['file']!r}"
            for row in sorted(Ledger(lake).ordered("drift"), key=lambda row: row["kind"] == "added")
        ],
        "evidence": [row["message"] for row in Ledger(lake).ordered("evidence")],
    }


def sum_up(pipeline: Pipeline, lake: Lake) -> list[dict[str, Any]]:
    """One entry per table: its counts, the rows corrected by late dimension rows, and the rows not accounted
    for.

    Missing are rows that entered and are in no class, those that the ledger has but neither the table nor
    what was set aside from it, and records of bronze that the table has never read.
    """
    ledger = Ledger(lake)
    definitions, consumed, accounts = ledger.live_definitions(), ledger.consumed_inputs(), []
    for table in node_names(pipeline):
        mine = ledger.batches(table, definitions[table].generation) if table in definitions else []
        counts = sum((Counts.of_row(row) for row in mine if not row["step"].startswith(REENRICH)), Counts())
        corrected = sum(row["updated"] for row in mine if row["step"].startswith(REENRICH))
        is_sink = TableName(table).is_sink
        missing = (
            _undelivered(pipeline, ledger, table, lake)
            if is_sink
            else _missing(pipeline, table, counts, lake)
            if mine
            else 0
        )
        missing = missing or _unread(pipeline, table, ledger, lake, consumed.get(table, {}))
        numbers = {**counts.as_dict(), "corrected": corrected, "missing": missing}
        accounts.append(
            {"table": table, "version": table_version(lake.table(table)), "batches": len(mine), **numbers}
        )
    return accounts


def count_files(pipeline: Pipeline, lake: Lake) -> dict[str, dict[str, int]]:
    """Per source, the landed files by what was decided about them."""
    found: dict[str, dict[str, int]] = {}
    for source in pipeline.sources:
        rows = read_arrivals(lake.arrivals(source), ["verdict"])
        verdicts = [row["verdict"] for row in rows if row["verdict"] != CLOSED]  # a mark is no file
        found[source] = {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))}
    return found


def count_empty(lake: Lake, source: str) -> int:
    """The taken files of a source without a single byte."""
    rows = read_arrivals(lake.arrivals(source), ["verdict", "size", "path"])
    return len({row["path"] for row in rows if row["verdict"] == TAKEN and row["size"] == 0})


def _undelivered(pipeline: Pipeline, ledger: Ledger, sink: str, lake: Lake) -> int:
    """Rows of the version that was delivered last which the sink's batches do not account for."""
    definition = ledger.live_definitions().get(sink)
    table = lake.table(pipeline.sinks[TableName(sink).name].from_)
    found = rows_not_delivered(ledger, sink, definition.generation, table) if definition else None
    return found[1] - found[0] if found else 0


def read_offsets(pipeline: Pipeline, lake: Lake) -> dict[str, dict[str, list[int]]]:
    """Per source that is no folder of files, and per partition of it: the first position that was read, and
    the one that comes next.
    """
    found: dict[str, dict[str, list[int]]] = {}
    for name, source in pipeline.sources.items():
        if isinstance(source, StreamSource):
            rows = [row for row in read_arrivals(lake.arrivals(name)) if row["verdict"] == TAKEN]
            until = read_until(rows)
            first = {
                path: min(row["start_line"] - 1 for row in rows if row["path"] == path) for path in until
            }
            found[name] = {path: [first[path], end] for path, end in sorted(until.items())}
    return found


def _unread(pipeline: Pipeline, table: str, ledger: Ledger, lake: Lake, consumed: Mapping[str, Any]) -> int:
    """Records of bronze that the table should have read and has not."""
    generations = {name: known.generation for name, known in ledger.live_definitions().items()}
    version = next((version for name, version in consumed.items() if TableName(name).is_bronze), None)
    found = records_unread(pipeline, table, ledger, generations, lake, version)
    return found[2] - found[1] if found else 0


def _missing(pipeline: Pipeline, table: str, counts: Counts, lake: Lake) -> int:
    gaps = [number - found for _, number, found in balances(pipeline, table, counts, lake)]
    lost = 0 if TableName(table).is_gold else counts.missing
    return lost or next((gap for gap in gaps if gap), 0)
