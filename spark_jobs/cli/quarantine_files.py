"""Landed files that a person decides not to take: what `weir quarantine discard PIPELINE bronze.<source> --file PATH` does."""

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from spark_jobs.cli.selecting import check_table, wrong_option
from spark_jobs.cli.whoami import whoami
from spark_jobs.config.errors import ConfigError
from spark_jobs.config.loading import load_project
from spark_jobs.config.text import plain_lines
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import LeaseHeld, hold_lease
from spark_jobs.landing.feed import make_feed
from spark_jobs.landing.set_aside import NotDiscardable, discard_files


def discard_files_command(name: str, table: str, paths: Sequence[str], reason: str, as_json: bool) -> int:
    """Exit codes are those of `weir take`: 0, 2 for what cannot be discarded, 5 while another process holds the pipeline."""
    chunk, code, status = None, 0, "ok"
    message = f"{len(set(paths)):,} file{'' if len(set(paths)) == 1 else 's'} of {table} discarded: `weir take` still takes them in"
    try:
        project = load_project(only=name)
        pipeline, lake = project.pipelines[name], Lake(project.lake, name)
        check_table(pipeline, table, [f"bronze.{source}" for source in pipeline.sources])
        source = table.partition(".")[2]
        if not paths:
            raise wrong_option(pipeline, "--file", "", "no file is named", f"`weir quarantine list {name} {table}` names them")
        if not reason.strip():
            raise wrong_option(pipeline, "--reason", reason, "the reason is empty", "say in words why they are not wanted")
        with hold_lease(lake.lease(), name, "weir quarantine discard"):
            feed = make_feed(lake, project.landing, source, pipeline.sources[source])
            chunk = discard_files(feed, paths, datetime.now(UTC), whoami(), reason)
    except (ConfigError, NotDiscardable) as error:
        code, status, message = 2, "config_error", str(error)
    except LeaseHeld as held:
        code, status, message = 5, "leased", str(held)
    print(plain_lines(f"error: {message}" if code else message), file=sys.stderr if as_json or code else sys.stdout)
    if as_json:
        about = {"pipeline": name, "table": table, "files": list(paths), "status": status, "exit_code": code, "message": message}
        print(json.dumps(about | {"chunk": chunk}))
    return code
