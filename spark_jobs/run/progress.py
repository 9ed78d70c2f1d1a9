"""What a person sees of a run: one line a table that changes in place on a terminal,
plain lines elsewhere.
"""

import sys
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Protocol, Self, TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table

from spark_jobs.config.table_name import TableName
from spark_jobs.config.text import count, plain, rate
from spark_jobs.lake.counts import add_up
from spark_jobs.run.result import State, TableRun

MARKS = {
    State.DONE: "✓",
    State.UP_TO_DATE: "=",
    State.FAILED: "✗",
    State.BLOCKED: "⊘",
    State.STOPPED: "■",
    State.NOT_REACHED: "-",
}
MARKS |= {State.RUNNING: "…"}
COLOURS = {
    State.DONE: "green",
    State.FAILED: "bold red",
    State.BLOCKED: "bold yellow",
    State.RUNNING: "cyan",
    State.NOT_REACHED: "yellow",
}
COLOURS |= {State.STOPPED: "yellow"}


class Progress(Protocol):
    """Told of every change of a table's run."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def say(self, line: str) -> None: ...
    def show(self, run: TableRun) -> None: ...


def make_progress(tables: Iterable[str], stream: TextIO | None = None) -> "Progress":
    out = stream or sys.stderr
    return LiveProgress(tables, out) if out.isatty() else LineProgress(out)


class LineProgress:
    """A line when a table starts, how many rows have come after each batch but the first, and when it ends
    what became of them: once.
    """

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.batches: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.out.flush()

    def say(self, line: str) -> None:
        print(plain(line), file=self.out, flush=True)

    def show(self, run: TableRun) -> None:
        if run.state is State.UP_TO_DATE:
            return
        what = describe(run)
        if run.state is State.RUNNING and run.batches:
            # most tables have one batch, and end with it
            if run.batches < 2 or run.batches == self.batches.get(run.table):
                return
            what = f"batch {run.batches}: {count(run.counts.rows_in, 'row')} so far, {run.seconds:.1f} s"
        self.batches[run.table] = run.batches
        print(f"{run.table:<28} {run.state.value:<10} {what}".rstrip(), file=self.out, flush=True)


class LiveProgress:
    """A table of all tables, redrawn in place."""

    def __init__(self, tables: Iterable[str], out: TextIO) -> None:
        self.runs = {name: TableRun(name) for name in tables}
        self.started = dict.fromkeys(self.runs, 0.0)
        self.live = Live(console=Console(file=out), get_renderable=self._draw, refresh_per_second=4)

    def __enter__(self) -> Self:
        self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.live.stop()

    def say(self, line: str) -> None:
        self.live.console.print(plain(line), markup=False, highlight=False)

    def show(self, run: TableRun) -> None:
        if run.state is State.RUNNING and not self.started[run.table]:
            self.started[run.table] = time.monotonic()
        self.runs[run.table] = run

    def _draw(self) -> Table:
        table = Table(box=None, pad_edge=False)
        for heading in ("", "table", "state"):
            table.add_column(heading)
        for heading in ("rows in", "published", "set aside", "rows/s", "seconds"):
            table.add_column(heading, justify="right")
        for run in self.runs.values():
            seconds = (
                time.monotonic() - self.started[run.table] if run.state is State.RUNNING else run.seconds
            )
            aside = add_up([(run.table, run.counts, run.late_kept)]).set_aside  # the same as on the page
            speed = f"{run.counts.rows_in / seconds:,.0f}" if seconds > 0 and run.counts.rows_in else ""
            numbers = (
                f"{run.counts.rows_in:,}",
                f"{run.counts.published:,}",
                f"{aside:,}",
                speed,
                f"{seconds:.1f}",
            )
            shown = (
                numbers
                if run.state not in (State.WAITING, State.UP_TO_DATE, State.NOT_REACHED)
                else ("",) * 5
            )
            table.add_row(
                MARKS.get(run.state, " "),
                run.table,
                run.state.value.replace("_", " "),
                *shown,
                style=COLOURS.get(run.state),
            )
        return table


def describe(run: TableRun) -> str:
    """The numbers of a table on one line; classes without rows are left out."""
    if run.state in (State.WAITING, State.NOT_REACHED) or (run.state is State.RUNNING and not run.batches):
        return ""
    error = plain((run.error or "").removeprefix(f"{run.table}: "))
    if error and not run.counts.rows_in and not run.counts.published:
        return f"after {run.seconds:.1f} s: {error}"
    corrected = [f"{run.corrected:,} corrected"] if run.corrected else []
    speed = f", {rate(run.counts.rows_in, run.seconds)}" if run.seconds > 0 and run.counts.rows_in else ""
    is_whole = not run.counts.rows_in and run.counts.published  # computed as a whole: no rows came in
    came = "" if is_whole else f"{count(run.counts.rows_in, 'row')}: "
    text = f"{came}{', '.join([*_classes(run), *corrected]) or 'none'} in {run.seconds:.1f} s{speed}"
    return f"{text}; {error}" if error else text


def _classes(run: TableRun) -> list[str]:
    """What became of its rows; bronze counts a file that cannot be read as a row."""
    is_bronze, files = TableName(run.table).is_bronze, run.counts.quarantined
    named = {"late": "late and not counted" if run.late_kept else "late and counted"}
    named |= {"quarantined": "unreadable file" if files == 1 else "unreadable files"} if is_bronze else {}
    numbers = {name: rows for name, rows in run.counts.as_dict().items() if name not in ("rows_in", "grown")}
    return [f"{rows:,} {named.get(name, name)}" for name, rows in numbers.items() if rows]
