"""Landed files whose records are not in bronze, as a person is told of them: refused, repeated, or unreadable."""

from dataclasses import dataclass

from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sensitive import sensitive_paths
from spark_jobs.config.sources import FileSource
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.landing.arrivals import DISCARDED
from spark_jobs.landing.set_aside import UNREADABLE, files_without_records
from spark_jobs.quality.masking import mask_problem


@dataclass(frozen=True)
class FileNotRead:
    """`verdict`: refused, repeated or unreadable. `reason` shows nothing of the file where its source has sensitive columns."""

    source: str
    path: str
    verdict: str
    reason: str


def files_not_read(pipeline: Pipeline, lake: Lake) -> list[FileNotRead]:
    """All of them but those that a person has discarded, by source and path. Bronze, which takes libraries to read, is read only where the
    ledger counts a file that cannot be.
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
