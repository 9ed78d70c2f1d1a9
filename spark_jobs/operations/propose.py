"""Looks at what has landed for a source and proposes the columns of a silver table. Reads files and bronze, without a JVM."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any

from spark_jobs.bronze.arrived import ArrivedFile
from spark_jobs.bronze.records import read_records
from spark_jobs.config.guessing import guess_columns
from spark_jobs.config.loading import Project
from spark_jobs.config.regexes import group_names
from spark_jobs.config.sources import FileSource
from spark_jobs.lake.drift import read_first_records
from spark_jobs.lake.layout import Lake
from spark_jobs.landing.arrivals import TAKEN, read_arrivals
from spark_jobs.landing.content import Content, read_content
from spark_jobs.landing.folder import list_folder
from spark_jobs.landing.look import is_hidden

FILES, RECORDS_PER_FILE = 50, 1_000
SEED = 7


@dataclass(frozen=True)
class Proposal:
    """`columns`: by name their type and path. `files` and `records`: what was looked at."""

    columns: dict[str, tuple[str, str]]
    files: int
    records: int


def propose_columns(project: Project, pipeline: str, source: str) -> Proposal:
    """From some of the landed files, the same ones each time; of a stream from what bronze has of it."""
    known = project.pipelines[pipeline].sources[source]
    texts = list(_landed(project, known) if isinstance(known, FileSource) else _read_of_bronze(project, pipeline, source))
    files = len({file for file, _ in texts})
    if known.record_format == "text":
        names = group_names(known.fields) if known.fields else []
        lines = {"line": ("string", "value")} if not names else {name: ("string", name) for name in names}
        return Proposal(lines if texts else {}, files, len(texts))
    records = [record for _, text in texts if isinstance(record := _parse(text), dict)]
    values = [{name: value for name, value in record.items() if name not in known.own_fields} for record in records]
    return Proposal(guess_columns(values, is_flat=known.record_format == "csv"), files, len(records))


def _landed(project: Project, source: FileSource) -> Iterator[tuple[str, str]]:
    files = [file for file in list_folder(project.landing, source.path, source.pattern).files if not is_hidden(file.path)]
    chosen = files if len(files) <= FILES else sorted(random.Random(SEED).sample(files, FILES), key=lambda file: file.path)
    for file in chosen:
        content = read_content(project.landing, file, source.format, None)
        if isinstance(content, Content):
            arrived = ArrivedFile(f"{project.landing}/{file.path}", file.size, file.modified_at, content.content_hash)
            rows = (row for batch in read_records(arrived, source) for row in batch.to_pylist())
            good = (row["record"] for row in rows if row["line"] and row["problem"] is None)
            yield from ((file.path, record) for record in islice(good, RECORDS_PER_FILE))


def _read_of_bronze(project: Project, pipeline: str, source: str) -> Iterator[tuple[str, str]]:
    lake = Lake(project.lake, pipeline)
    arrivals = [row for row in read_arrivals(lake.arrivals(source)) if row["verdict"] == TAKEN][-FILES:]
    return read_first_records(lake.table(f"bronze.{source}"), arrivals, RECORDS_PER_FILE) if arrivals else iter(())


def _parse(text: str) -> Any:
    try:
        return json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError):
        return None
