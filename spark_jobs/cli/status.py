"""`weir status`: how pipelines stand, as a table for a person (which can watch it), as one JSON object, or as
Prometheus' text.
"""

import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Literal

from rich.console import Console, Group
from rich.filesize import decimal
from rich.live import Live
from rich.table import Table
from rich.text import Text

from spark_jobs.cli.ending import refuse, say_if_empty
from spark_jobs.config.errors import Refused
from spark_jobs.config.loading import Project, load_project
from spark_jobs.config.text import count, plain
from spark_jobs.lake.blocked import ways_on
from spark_jobs.operations.metrics import prometheus_text, samples_of
from spark_jobs.operations.status import PipelineStatus, TableStatus, status_of
from spark_jobs.report.text import age, duration

COLOURS = {"blocked": "bold yellow", "failed": "bold red", "due": "cyan", "empty": "dim"}
HEADINGS = ("version", "last batch", "rows", "rows/s", "took", "waited", "backlog", "watermark", "state")


def status_command(
    name: str | None, form: Literal["table", "json", "prometheus"], watch: float | None
) -> int:
    try:
        project = load_project(only=name)
    except Refused as error:
        return refuse(error, as_json=form == "json", pipeline=name)
    if watch is not None:
        return _watch(project, watch)
    say_if_empty(project)
    found = [status_of(project, pipeline, datetime.now(UTC)) for pipeline in project.pipelines]
    if form == "json":
        print(
            json.dumps(found[0].as_dict() if name else {"pipelines": [status.as_dict() for status in found]})
        )
    elif form == "prometheus":
        print(prometheus_text(sample for status in found for sample in samples_of(status)), end="")
    else:
        Console(highlight=False, width=None if sys.stdout.isatty() else 200).print(_draw(found))
    return 0


def _watch(project: Project, seconds: float) -> int:
    """Redraw until Ctrl-C."""

    def look() -> Group:
        return _draw([status_of(project, pipeline, datetime.now(UTC)) for pipeline in project.pipelines])

    try:
        with Live(
            look(), console=Console(highlight=False), auto_refresh=False, screen=sys.stdout.isatty()
        ) as live:
            while True:
                time.sleep(seconds)
                live.update(look(), refresh=True)
    except KeyboardInterrupt:
        return 0


def _draw(statuses: list[PipelineStatus]) -> Group:
    parts: list[Text | Table] = []
    for status in statuses:
        parts += [_heading(status), _table(status), *_remarks(status), Text()]
    return Group(*parts)


def _remarks(status: PipelineStatus) -> Iterator[Text]:
    """What moved the watermarks, and how to go on with what is blocked or failed."""
    for row in status.tables:
        if row.watermark_by:
            yield Text(
                plain(
                    f"{row.table}: watermark {_moment(row.watermark)}, moved by"
                    f" {_say_record(row.watermark_by)}"
                )
            )
        if row.error:
            yield Text(
                plain(f"{row.table}: failed: {row.error}; fix the cause, then `weir run {status.pipeline}`")
            )
        if row.actions:
            yield Text(plain(f"{row.table}: a batch is blocked. To go on:"))
            for way in ways_on(status.pipeline, row.table, row.seen, row.actions):
                yield Text(plain(f"  {way.what}: `{way.command}`"))


def _say_record(record: dict[str, Any]) -> str:
    at = f"event time {_moment(datetime.fromisoformat(record['event_at']))}"
    if record["file"] is not None:
        return f"{record['file']!r} line {record['line']} ({at})"
    files = ", ".join(map(repr, record["files"]))
    more = record["file_count"] - len(record["files"])
    return f"a record of {files}{f' and {more} more' if more > 0 else ''} ({at})" if files else at


def _moment(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}" if at else "·"


def _heading(status: PipelineStatus) -> Text:
    said = f"{status.pipeline}: "
    if status.stream:
        said += (
            f"streaming since {status.stream['since']} (process {status.stream['pid']} on"
            f" {status.stream['host']}); "
        )
    elif status.writer:
        said += (
            f"{status.writer['what']} at work since {status.writer['since']} (process"
            f" {status.writer['pid']}); "
        )
    if status.last_run:
        said += f"last run {age(status.last_run['at'], status.at)}: {status.last_run['status']}"
    elif not status.stream:
        said += f"it has not run yet; `weir run {status.pipeline}` starts it"
    return Text(plain(said), style="bold")


def _table(status: PipelineStatus) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("table")
    table.add_column("state")
    for heading in HEADINGS:
        table.add_column(heading, justify="right")
    for row in status.tables:
        table.add_row(row.table, row.state, *_figures(row, status.at), style=COLOURS.get(row.state))
    return table


def _figures(row: TableStatus, at: datetime) -> tuple[str, ...]:
    """In the order of HEADINGS; what is not known is a dot."""
    backlog = (
        f"{count(row.backlog_files, 'file')}, {decimal(row.backlog_bytes or 0)}" if row.backlog_files else "·"
    )
    backlog = count(row.backlog_messages, "message") if row.backlog_messages else backlog
    state = (
        f"{count(row.state_rows, 'row')}, {decimal(row.state_bytes or 0)}"
        if row.state_rows is not None
        else "·"
    )
    return (
        "·" if row.version is None else str(row.version),
        age(row.last_batch_at, at) if row.last_batch_at else "·",
        "·" if row.last_rows is None else f"{row.last_rows:,}",
        "·" if row.rows_per_second is None else f"{row.rows_per_second:,.0f}",
        "·" if row.seconds is None else duration(row.seconds),
        "·" if row.lag_seconds is None else duration(row.lag_seconds),
        backlog,
        _moment(row.watermark),
        state,
    )
