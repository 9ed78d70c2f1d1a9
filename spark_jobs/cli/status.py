"""`weir status`: how pipelines stand, as a table for a person (which can watch it), as one JSON object, or as Prometheus' text."""

import json
import sys
import time
from datetime import UTC, datetime
from typing import Literal

from rich.console import Console, Group
from rich.filesize import decimal
from rich.live import Live
from rich.table import Table
from rich.text import Text

from spark_jobs.config.errors import ConfigError
from spark_jobs.config.loading import Project, load_project
from spark_jobs.config.text import plain
from spark_jobs.operations.metrics import prometheus_text, samples_of
from spark_jobs.operations.status import PipelineStatus, TableStatus, status_of
from spark_jobs.report.figures import age, duration

COLOURS = {"held": "bold yellow", "due": "cyan", "empty": "dim"}
HEADINGS = ("version", "last batch", "rows", "rows/s", "took", "waited", "backlog", "watermark", "state")


def status_command(name: str | None, form: Literal["table", "json", "prometheus"], watch: float | None) -> int:
    from spark_jobs.cli.app import fail

    try:
        project = load_project(only=name)
    except ConfigError as error:
        return fail(str(error), 2)
    if watch is not None:
        return _watch(project, watch)
    found = [status_of(project, pipeline, datetime.now(UTC)) for pipeline in project.pipelines]
    if form == "json":
        print(json.dumps(found[0].as_dict() if name else {"pipelines": [status.as_dict() for status in found]}))
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
        with Live(look(), console=Console(highlight=False), auto_refresh=False, screen=sys.stdout.isatty()) as live:
            while True:
                time.sleep(seconds)
                live.update(look(), refresh=True)
    except KeyboardInterrupt:
        return 0


def _draw(statuses: list[PipelineStatus]) -> Group:
    return Group(*(part for status in statuses for part in (_heading(status), _table(status), Text())))


def _heading(status: PipelineStatus) -> Text:
    said = f"{status.pipeline}: "
    if status.stream:
        said += f"streaming since {status.stream['since']} (process {status.stream['pid']} on {status.stream['host']}); "
    elif status.writer:
        said += f"{status.writer['what']} at work since {status.writer['since']} (process {status.writer['pid']}); "
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
    backlog = f"{row.backlog_files:,} files, {decimal(row.backlog_bytes or 0)}" if row.backlog_files else "·"
    backlog = f"{row.backlog_messages:,} messages" if row.backlog_messages else backlog
    state = f"{row.state_rows:,} rows, {decimal(row.state_bytes or 0)}" if row.state_rows is not None else "·"
    return (
        "·" if row.version is None else str(row.version),
        age(row.last_batch_at, at) if row.last_batch_at else "·",
        "·" if row.last_rows is None else f"{row.last_rows:,}",
        "·" if row.rows_per_second is None else f"{row.rows_per_second:,.0f}",
        "·" if row.seconds is None else duration(row.seconds),
        "·" if row.lag_seconds is None else duration(row.lag_seconds),
        backlog,
        f"{row.watermark:%Y-%m-%d %H:%M:%S}" if row.watermark else "·",
        state,
    )
