"""Files as the registrar hands them to bronze, and what bronze reads of them."""

import hashlib
from pathlib import Path
from typing import Any

from spark_jobs.bronze.arrived import ArrivedFile
from spark_jobs.bronze.records import read_records
from spark_jobs.config.sources import FileSource
from spark_jobs.landing.folder import file_time

Row = tuple[int, str | None, str | None]


def arrived(path: Path, start_byte: int = 0, start_line: int = 1) -> ArrivedFile:
    found, content = path.stat(), path.read_bytes()
    times = file_time(found.st_mtime_ns)
    return ArrivedFile(
        str(path), found.st_size, times, hashlib.sha256(content).hexdigest(), start_byte, start_line
    )


def read(file: Path, file_format: str = "json", **keys: Any) -> list[Row]:
    """(line, record, problem) of each record."""
    source = FileSource.model_validate({"format": file_format, "path": "in", **keys})
    return [tuple(row.values()) for batch in read_records(arrived(file), source) for row in batch.to_pylist()]


def written(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


def refusal(rows: list[Row]) -> str:
    """Why a file gave no record at all: its one row."""
    [(line, record, problem)] = rows
    assert (line, record) == (0, None), rows
    return str(problem)
