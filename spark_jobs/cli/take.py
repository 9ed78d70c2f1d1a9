"""`weir take`: takes in one landed file that was refused, skipped as a repeat, or could not be read."""

import json
import sys
from datetime import UTC, datetime

from spark_jobs.cli.whoami import whoami
from spark_jobs.config.errors import Refused, UsageError, did_you_mean
from spark_jobs.config.loading import load_project
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sources import FileSource
from spark_jobs.config.text import plain_lines
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import LeaseHeld, LeaseLost, hold_lease
from spark_jobs.lake.ledger import Ledger
from spark_jobs.landing.feed import make_feed
from spark_jobs.landing.taking import NotTakeable, Prepared, Taking, take_file


def take_command(name: str, source: str, path: str, as_json: bool) -> int:
    taking, code, status, message = None, 0, "ok", ""
    try:
        project = load_project(only=name)
        pipeline = project.pipelines[name]
        if source not in pipeline.sources:
            raise UsageError(
                "SOURCE", source, f"{name} has no source {source!r}", did_you_mean(source, pipeline.sources)
            )
        if not isinstance(pipeline.sources[source], FileSource):
            place = pipeline.sources[source].place(project.landing)
            raise UsageError(
                "SOURCE",
                source,
                f"{source} reads no files but {place}",
                "messages are taken in by `weir run` alone",
            )
        lake = Lake(project.lake, name)
        with hold_lease(lake.lease(), name, "weir take") as lease:
            feed = make_feed(lake, project.landing, source, pipeline.sources[source], lease.check)
            consumed = Ledger(lake).consumed_inputs().get(feed.table, {}).get("arrivals")
            taking = take_file(feed, path, datetime.now(UTC), whoami(), consumed)
        message = _describe(taking, pipeline, source)
    except Refused as error:
        code, status, message = 2, error.status, error.said
    except NotTakeable as error:
        code, status, message = 2, UsageError.status, str(error)
    except (LeaseHeld, LeaseLost) as held:
        code, status, message = 5, "leased", str(held)
    print(
        plain_lines(f"error: {message}" if code else message),
        file=sys.stderr if as_json or code else sys.stdout,
    )
    if as_json:
        about = {
            "pipeline": name,
            "source": source,
            "path": path,
            "status": status,
            "exit_code": code,
            "message": message,
        }
        more = (
            {"chunk": taking.chunk, "file_id": taking.file_id, "start_line": taking.start_line}
            if taking
            else {}
        )
        print(json.dumps(about | more))
    return code


def _describe(taking: Taking, pipeline: Pipeline, source: str) -> str:
    what = "the whole file" if taking.start_line is None else f"what is new, from line {taking.start_line} on"
    lines = [f"{taking.path!r} is taken in, {what}: `weir run {pipeline.name}` reads it"]
    return "\n".join([*lines, *notes_about(taking, pipeline, source)])


def notes_about(taking: Taking | Prepared, pipeline: Pipeline, source: str) -> list[str]:
    """What a person should know of a file that is taken in."""
    lines = [f"note: {taking.doubt}; the whole line comes as well"] if taking.doubt else []
    keyless = [
        f"silver.{name}"
        for name, silver in pipeline.silver.items()
        if silver.from_ == source and silver.key is None
    ]
    if taking.may_repeat and keyless:
        tables = ", ".join(keyless)
        lines.append(
            f"note: records that were taken before and stand in this file too will be twice in {tables},"
            " which has no key"
        )
    return lines
