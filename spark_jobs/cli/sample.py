"""`weir sample`: writes the sample landing zone."""

import re
from dataclasses import asdict
from pathlib import Path

from spark_jobs.cli.ending import end, fail_with
from spark_jobs.config.errors import UsageError
from spark_jobs.config.loading import load_project
from spark_jobs.config.text import count
from spark_jobs.sample.write import write_sample


def sample_command(
    orders: int, increment: int, seed: int, defect: str | None, landing: str | None, as_json: bool
) -> int:
    folder = _named_folder(landing) if landing else _landing_folder()
    try:
        summary = write_sample(folder, orders=orders, seed=seed, increment=increment, defect=defect)
    except OSError as error:
        said = f"{error.filename or folder} cannot be written: {error.strerror or error}"
        return fail_with("failed", said, 1, as_json=as_json)
    records = ", ".join(f"{number:,} in {name}" for name, number in summary.records.items())
    line = f"{count(len(summary.files), 'file')} below {folder}: records {records}"
    return end(0, line, asdict(summary), as_json=as_json)


def _named_folder(landing: str) -> Path:
    """UsageError of an address: it would become a folder called `s3:`."""
    if re.match(r"\w+:/", landing):
        said = f"{landing!r} is an address, and samples are written to a folder"
        raise UsageError("--landing", landing, said, "name one, and copy the files from there")
    return Path(landing)


def _landing_folder() -> Path:
    landing = load_project().landing
    if "://" in landing:
        raise UsageError(
            "--landing",
            landing,
            f"the landing zone is {landing}, and samples are written to a folder",
            "name one",
        )
    return Path(landing)
