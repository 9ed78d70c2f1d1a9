"""`weir plan`: what a run would do, found without a JVM, without the lease and without writing anything."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from spark_jobs.config import Project
from spark_jobs.config.sources import FileSource
from spark_jobs.config.table_name import TableName
from spark_jobs.config.text import count
from spark_jobs.lake.delta_log import count_rows
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import holder_of, refuse_writes
from spark_jobs.lake.ledger_tables import ANEW, LIVE, SWAPPING
from spark_jobs.lake.verdicts import Verdicts
from spark_jobs.landing.feed import make_feed
from spark_jobs.landing.look import Look, look_at, read_if_it_matters
from spark_jobs.landing.streams import broker_settings, look_at_stream
from spark_jobs.run.definitions import check_definitions
from spark_jobs.run.plan import (
    ARRIVALS,
    DEFINITION,
    TAGGING,
    WATERMARK,
    Plan,
    due_tables,
    make_plan,
    say_nothing,
)

# Why a table is due, in words for a person.

SWAP = "a rebuild that was cut is to be finished"


def say_why(
    plan: Plan, table: str, consumed: dict[str, Any] | None, looks: dict[str, Look], verdicts: Verdicts
) -> str:
    """All reasons for which this table is due."""
    current, before = plan.current_inputs(table), consumed or {}
    moved = plan.moved_inputs(table, current, consumed)
    reasons = []
    if blocked := verdicts.blocked(table, plan.generation(table)):
        reasons.append(f"a batch that is blocked is judged again ({', '.join(blocked.failed)})")
    if moved and consumed is None and ARRIVALS not in current:
        reasons.append(
            "it is not made yet, and"
            f" {_list([name for name in current if '.' in name and current[name] is not None])} is there"
        )
    else:
        reasons += [
            _say_moved(plan, table, name, before.get(name), current.get(name), looks) for name in moved
        ]
    if plan.has_waited_enough(table):
        reasons.append("parked rows are to be given up")
    return "; ".join(
        [*reasons, *(f"a {step} that was cut is to be finished" for step in plan.cut_requests(table))]
    )


def say_files(look: Look) -> str:
    """The files that bronze is to read."""
    return f"{count(len(look.to_read), 'new file')}, {count(new_bytes(look), 'byte')}"


def new_bytes(look: Look) -> int:
    return sum(row["size"] - (row["start_byte"] or 0) for row in look.to_read)


def _say_moved(plan: Plan, table: str, name: str, before: Any, now: Any, looks: dict[str, Look]) -> str:
    if name == ANEW:
        return (
            "everything is to be delivered again"
            if TableName(table).is_sink
            else "it starts over after a rebuild"
        )
    if name == ARRIVALS:
        look = looks.get(TableName(table).name)
        if look and look.to_read and not isinstance(plan.pipeline.sources[TableName(table).name], FileSource):
            return f"{count(new_bytes(look), 'new message')} in {count(len(look.to_read), 'partition')}"
        return (
            say_files(look) if look and look.to_read else f"its arrivals moved from chunk {before} to {now}"
        )
    if name == DEFINITION:
        return "its definition changed"
    if name == TAGGING:
        return "the rules that tag its rows changed"
    if name == WATERMARK:
        return f"the watermark moved to {max((at for at in now or () if at), default='the beginning')}"
    if now is None:
        return f"{name} is no longer read"
    if before is None:
        return f"{name} has come"
    waits = TableName(name).is_in("dimension", "deleted") and count_rows(plan.lake.table(f"parked.{table}"))
    return f"{name} moved from version {before} to {now}" + (
        f", and {count(waits, 'parked row waits', 'parked rows wait')} for a member" if waits else ""
    )


def _list(names: list[str]) -> str:
    return " and ".join(names) or "its input"


WORK, NOTHING_TO_DO = "work", "nothing_to_do"


@dataclass(frozen=True)
class DueTable:
    """A table that a run would bring up to date. `is_below`: only because of what the run
    does to its inputs.
    """

    table: str
    why: str
    is_below: bool = False


@dataclass(frozen=True)
class SourceBacklog:
    """The files of a source that bronze is to read, and those that wait for a later run; of a stream about
    how many messages.
    """

    new_files: int
    new_bytes: int
    waiting: int
    new_messages: int = 0


@dataclass(frozen=True)
class RunPreview:
    pipeline: str
    message: str
    sources: dict[str, SourceBacklog]
    tables: tuple[DueTable, ...]

    @property
    def status(self) -> str:
        return WORK if self.tables else NOTHING_TO_DO

    @property
    def exit_code(self) -> int:
        return 0 if self.tables else 3

    def as_dict(self) -> dict[str, Any]:
        return {
            "pipeline": self.pipeline,
            "status": self.status,
            "exit_code": self.exit_code,
            "message": self.message,
            "reasons": [f"{due.table}: {due.why}" for due in self.tables if not due.is_below],
            "sources": {name: vars(expected) for name, expected in self.sources.items()},
            "tables": [{"table": due.table, "why": due.why} for due in self.tables],
        }


def preview_run(project: Project, name: str, now: datetime | None = None) -> RunPreview:
    """What a run of the pipeline would do now; ConfigError where it would refuse. Beside an always-on stream
    there is nothing to do.
    """
    lake = Lake(project.lake, name)
    plan = make_plan(project.pipelines[name], project.conf, lake)
    if stream := holder_of(lake.stream_lease()):
        said = (
            f"an always-on stream takes what arrives (process {stream.get('pid')} on {stream.get('host')}"
            f" since {stream.get('since')})"
        )
        return RunPreview(name, said, {}, ())
    newest = plan.ledger.definitions()
    swapping = {
        table: replace(known, state=LIVE) for table, known in newest.items() if known.state == SWAPPING
    }
    plan = replace(plan, definitions=plan.definitions | swapping)
    check_definitions(plan)
    looks = _look_at_sources(project, plan, now or datetime.now(UTC))
    plan = replace(plan, ahead={source: look.ahead for source, look in looks.items()})
    tables = _find_due(plan, looks, set(swapping))
    sources = {source: _expect(plan, source, look) for source, look in looks.items()}
    return RunPreview(
        name, _summarise(sources, tables) if tables else say_nothing(project, plan), sources, tables
    )


def _look_at_sources(project: Project, plan: Plan, now: datetime) -> dict[str, Look]:
    consumed = plan.ledger.consumed_inputs()
    looks = {}
    for name, source in plan.pipeline.sources.items():
        feed = make_feed(plan.lake, project.landing, name, source, refuse_writes)
        until = consumed.get(feed.table, {}).get(ARRIVALS)
        is_files = isinstance(source, FileSource)
        looks[name] = (
            look_at(feed, now, until, read_if_it_matters)
            if is_files
            else look_at_stream(feed, now, until, broker_settings(project, source))
        )
    return looks


def _expect(plan: Plan, source: str, look: Look) -> SourceBacklog:
    if isinstance(plan.pipeline.sources[source], FileSource):
        return SourceBacklog(len(look.to_read), new_bytes(look), len(look.found.waiting))
    return SourceBacklog(0, 0, 0, new_bytes(look))


def _find_due(plan: Plan, looks: dict[str, Look], swapping: set[str]) -> tuple[DueTable, ...]:
    """The due tables and those below them, in the order of the data."""
    found: dict[str, DueTable] = {}
    due, consumed = due_tables(plan)
    verdicts = Verdicts(plan.ledger)
    for table, inputs in plan.tables.items():
        above = next((source for source in inputs if source in found), None)
        if table in swapping:
            found[table] = DueTable(table, SWAP)
        elif table in due:
            found[table] = DueTable(table, say_why(plan, table, consumed.get(table), looks, verdicts))
        elif above:
            found[table] = DueTable(table, f"below {above}", is_below=True)
    return tuple(found.values())


def _summarise(sources: dict[str, SourceBacklog], tables: tuple[DueTable, ...]) -> str:
    files = sum(expected.new_files for expected in sources.values())
    below = sum(due.is_below for due in tables)
    due = len(tables) - below
    messages = sum(expected.new_messages for expected in sources.values())
    said = [count(files, "new file")] if files else []
    said += [count(messages, "new message")] if messages else []
    said.append(f"{count(due, 'table')} due" + (f", {below} below" if below else ""))
    return "; ".join(said)
