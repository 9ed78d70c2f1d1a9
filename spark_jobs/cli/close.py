"""`weir close`: says that what has arrived is complete, so that windows which are still
open can be closed.
"""

import json
import sys
from datetime import UTC, datetime
from typing import Any

from spark_jobs.cli.whoami import whoami
from spark_jobs.config.errors import Refused, UsageError, did_you_mean
from spark_jobs.config.loading import load_project
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.text import plain_lines
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import LeaseHeld, LeaseLost, hold_lease
from spark_jobs.landing.feed import make_feed
from spark_jobs.landing.taking import close_feed


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
    is_error = code in (2, 5)
    print(
        plain_lines(f"error: {message}" if is_error else message),
        file=sys.stderr if as_json or is_error else sys.stdout,
    )
    if as_json:
        print(
            json.dumps(
                {"pipeline": name, "status": status, "exit_code": code, "message": message, "closed": marks}
            )
        )
    return code
