"""`weir sample`: writes the sample landing zone and, if asked, its true answers."""

import json
from dataclasses import asdict
from pathlib import Path

from spark_jobs.config.loading import load_project
from spark_jobs.sample.answers import write_answers
from spark_jobs.sample.write import write_sample


def sample_command(
    orders: int, increment: int, seed: int, defect: str | None, landing: Path | None, answers: Path | None, as_json: bool
) -> int:
    folder = landing or Path(load_project().landing)
    summary = write_sample(folder, orders=orders, seed=seed, increment=increment, defect=defect)
    if answers:
        write_answers(folder, answers)
    if as_json:
        print(json.dumps(asdict(summary), default=str))
    else:
        records = ", ".join(f"{count:,} in {name}" for name, count in summary.records.items())
        print(f"{len(summary.files)} files below {folder}: records {records}")
    return 0
