"""`weir maintain`: the tables that were looked after, with their files before and after; or all of it as one JSON object."""

import json
import sys

from spark_jobs.config.errors import ConfigError
from spark_jobs.config.loading import load_project
from spark_jobs.config.text import plain, plain_lines
from spark_jobs.run.maintain import Maintenance, TableUpkeep, maintain_pipeline
from spark_jobs.run.result import EXIT_CODES, Status

WORST_FIRST = (Status.FAILED, Status.CONFIG_ERROR, Status.LEASED, Status.OK, Status.NOTHING_TO_DO)


def maintain_command(name: str | None, is_dry: bool, as_json: bool) -> int:
    from spark_jobs.cli.app import fail

    try:
        project = load_project(only=name)
    except ConfigError as error:
        return fail(f"the configuration cannot be used\n{error}", EXIT_CODES[Status.CONFIG_ERROR])
    found = []
    for pipeline in project.pipelines:
        found.append(maintain_pipeline(project, pipeline, is_dry))
        _tell(found[-1], as_json)
    status = next((status for status in WORST_FIRST if any(one.status is status for one in found)), Status.NOTHING_TO_DO)
    if as_json:
        together = {"status": status.value, "exit_code": EXIT_CODES[status], "pipelines": [one.as_dict() for one in found]}
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
    files = f"{before.count:,} → {after.count:,} files, mean {_size(before.mean_bytes)} → {_size(after.mean_bytes)}"
    deleted = [f"{table.deleted:,} old files deleted"] if table.deleted else []
    return f"{table.table:<34} {'; '.join([files, *deleted, *([table.kept_for] if table.kept_for else [])])}"


def _size(count: int) -> str:
    return f"{count / 1024:,.0f} KB" if count < 1024 * 1024 else f"{count / 1024 / 1024:,.1f} MB"
