"""What a person says about landed files: `weir take` takes in one that was refused, skipped as a repeat, or
could not be read; `weir close` says that what has arrived is complete, so that windows which are still
open can be closed.
"""

from datetime import UTC, datetime
from typing import Any

from spark_jobs.cli.ending import GOOD, end
from spark_jobs.cli.whoami import whoami
from spark_jobs.config.errors import Refused, UsageError, did_you_mean
from spark_jobs.config.loading import load_project
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sources import FileSource
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import LeaseHeld, LeaseLost, hold_lease
from spark_jobs.lake.ledger import Ledger
from spark_jobs.landing.feed import make_feed
from spark_jobs.landing.taking import NotTakeable, Prepared, Taking, close_feed, take_file


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
    result = {"pipeline": name, "source": source, "path": path, "status": status, "exit_code": code}
    result |= {"message": message}
    if taking:
        result |= {"chunk": taking.chunk, "file_id": taking.file_id, "start_line": taking.start_line}
    return end(code, f"error: {message}" if code else message, result, as_json=as_json)


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


# `weir close`: says that what has arrived is complete, so that windows which are still open can be closed.


def close_command(name: str, source: str | None, as_json: bool) -> int:
    marks: dict[str, int | None] = {}
    try:
        project = load_project(only=name)
        pipeline, lake = project.pipelines[name], Lake(project.lake, name)
        sources, closed_at = _chosen(pipeline, source), datetime.now(UTC)
        with hold_lease(lake.lease(), name, "weir close") as lease:
            for chosen in sources:
                feed = make_feed(lake, project.landing, chosen, pipeline.sources[chosen], lease.check)
                marks[chosen] = close_feed(feed, closed_at, f"by {whoami()}")
    except Refused as error:
        return _end(name, as_json, 2, error.status, error.said, marks)
    except (LeaseHeld, LeaseLost) as held:
        return _end(name, as_json, 5, "leased", str(held), marks)
    if not any(marks.values()):
        nothing = f"{name}: nothing to close: nothing has arrived in {', '.join(marks)} since the last mark"
        return _end(name, as_json, 3, "nothing_to_do", nothing, marks)
    closed = ", ".join(source for source, chunk in marks.items() if chunk)
    return _end(
        name,
        as_json,
        0,
        "ok",
        f"{name}: {closed} closed: `weir run {name}` closes the windows that are still open",
        marks,
    )


def _chosen(pipeline: Pipeline, source: str | None) -> list[str]:
    if source is not None and source not in pipeline.sources:
        hint = did_you_mean(source, pipeline.sources)
        raise UsageError("SOURCE", source, f"{pipeline.name} has no source {source!r}", hint)
    return [source] if source else list(pipeline.sources)


def _end(name: str, as_json: bool, code: int, status: str, message: str, marks: dict[str, Any]) -> int:
    result = {"pipeline": name, "status": status, "exit_code": code, "message": message, "closed": marks}
    return end(code, message if code in GOOD else f"error: {message}", result, as_json=as_json)
