"""Files as the registrar hands them to bronze."""

import hashlib
from pathlib import Path

from spark_jobs.bronze.arrived import ArrivedFile
from spark_jobs.landing.folder import file_time


def arrived(path: Path, start_byte: int = 0, start_line: int = 1) -> ArrivedFile:
    found, content = path.stat(), path.read_bytes()
    times = file_time(found.st_mtime_ns)
    return ArrivedFile(str(path), found.st_size, times, hashlib.sha256(content).hexdigest(), start_byte, start_line)
