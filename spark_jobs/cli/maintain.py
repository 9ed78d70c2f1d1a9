"""`weir maintain`: the tables that were looked after, with their files before and after; or all of it as one
JSON object.
"""

import json
import sys

from spark_jobs.cli.ending import refuse, say_if_empty
from spark_jobs.config.errors import Refused
from spark_jobs.config.loading import load_project
from spark_jobs.config.text import count, plain, plain_lines
from spark_jobs.run.maintain import Maintenance, TableUpkeep, maintain_pipeline
from spark_jobs.run.result import EXIT_CODES, Status

WORST_FIRST = (Status.FAILED, Status.CONFIG_ERROR, Status.LEASED, Status.OK, Status.NOTHING_TO_DO)


def maintain_command(name: str | None, is_dry: bool, as_json: bool) -> int:
    try:
        project = load_project(only=name)
    except Refused as error:
        return refuse(error, as_json=as_json, pipeline=name)
    say_if_empty(project)
    found = []
    for pipeline in project.pipelines:
        found.append(maintain_pipeline(project, pipeline, is_dry))
        _tell(found[-1], as_json)
    status = next(
        (status for status in WORST_FIRST if any(one.status is status for one in found)), Status.NOTHING_TO_DO
    )
    if as_json:
        together = {
            "status": status.value,
            "exit_code": EXIT_CODES[status],
            "pipelines": [one.as_dict() for one in found],
        }
        print(json.dumps(found[0].as_dict() if name else together))
    return EXIT_CODES[status]


def _tell(found: Maintenance, as_json: bool) -> None:
    is_error = found.exit_code not in (0, 3)
    out = sys.stderr if as_json else sys.stdout
    for table in found.tables:
        if table.is_changed or table.kept_for:
            print(plain(_line(table)), file=out)
    words = "nothing to do: " if found.status is Status.NOTHING_TO_DO else ""
    line = f"error: {found.message}" if is_error else f"{found.pipeline}: {words}{found.message}"
    print(plain_lines(f"{line} ({found.seconds:.1f} s)"), file=sys.stderr if is_error else out)


def _line(table: TableUpkeep) -> str:
    before, after = table.before, table.after
    files = (
        f"{before.count:,} → {count(after.count, 'file')}, mean {_size(before.mean_bytes)} →"
        f" {_size(after.mean_bytes)}"
    )
    deleted = [f"{count(table.deleted, 'old file')} deleted"] if table.deleted else []
    return f"{table.table:<34} {'; '.join([files, *deleted, *([table.kept_for] if table.kept_for else [])])}"


def _size(number: int) -> str:
    return f"{number / 1024:,.0f} KB" if number < 1024 * 1024 else f"{number / 1024 / 1024:,.1f} MB"
