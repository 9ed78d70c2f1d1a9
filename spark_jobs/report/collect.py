"""From the ledger to a report: every part is bounded, and cut to what a page can show."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from spark_jobs import __version__
from spark_jobs.config.graph import inputs_of, node_names
from spark_jobs.config.loading import Project
from spark_jobs.config.own_rules import rules_of
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.table_name import TableName
from spark_jobs.lake.counts import Counts, Totals
from spark_jobs.lake.delta_log import count_rows, newest, table_version
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.quarantine import count_open
from spark_jobs.lake.scan import read_where
from spark_jobs.lake.states import FAILED, KILLED, STOPPED, newest_states
from spark_jobs.report.account import sum_up
from spark_jobs.report.facts import (
    Balance,
    Current,
    OpenRule,
    OpenTable,
    Point,
    Report,
    RuleFact,
    RuleState,
    Run,
    TableFact,
    TableState,
    TableWork,
)
from spark_jobs.report.rules import collect_decisions, rules_of_tables
from spark_jobs.report.runs import RUNNING, read_runs, run_ids
from spark_jobs.report.sources import (
    DRIFT_SHOWN,
    collect_drift,
    collect_files_not_taken,
    collect_sources,
    top_reasons,
)
from spark_jobs.report.text import cut
from spark_jobs.report.verdict import judge_run
from spark_jobs.report.work import Row, Work, sum_counts, totals_of

# Each table of a pipeline: what a run did to it, what is in it now, and how its runs went.

NEWEST = (
    ("_event_at", "event"),
    ("_arrived_at", "arrival"),
    ("window_start", "window"),
    ("_processed_at", "write"),
)
"""Where a table's newest time is looked for, in this order: what happened says more than what came."""


def collect_tables(
    pipeline: Pipeline,
    conf: Path,
    lake: Lake,
    history: Sequence[Run],
    work: Work,
    rules: Mapping[str, tuple[RuleFact, ...]],
    late: Mapping[str, int],
) -> tuple[TableFact, ...]:
    """Every table in the order of the data, as the last run of the history left it. `late` are the late rows
    of each since the lake began.
    """
    known = work.tables_of(history[-1])
    without = TableState.NO_TRACE if history[-1].status == KILLED else TableState.NOT_IN_RUN
    still = {table: TableWork(table, without) for table in node_names(pipeline)}
    return tuple(
        replace(
            _table(pipeline, conf, lake, known.get(table, still[table]), history, work, rules.get(table, ())),
            late_open=_late_open(lake, table, late),
        )
        for table in still
    )


def _table(
    pipeline: Pipeline,
    conf: Path,
    lake: Lake,
    done: TableWork,
    history: Sequence[Run],
    work: Work,
    rules: tuple[RuleFact, ...],
) -> TableFact:
    table, path = done.name, lake.table(done.name)
    batches = [row for run in history for row in work.batches[run.run_id] if row["table"] == table]
    ended = [row for run in history for row in work.ended[run.run_id] if row["table"] == table]
    mine = next((row for row in ended if row["run_id"] == history[-1].run_id), None)
    newest_at, newest_of = _newest(path)
    return TableFact(
        **{**vars(done), "rules": rules},
        inputs=tuple(_inputs(pipeline, table, conf)),
        version=mine["version"] if mine else table_version(path),
        rows=count_rows(path),
        newest=newest_at,
        newest_of=newest_of,
        updated_at=next((row["ended_at"] for row in reversed((*batches, *ended)) if row["ended_at"]), None),
        quarantine_open=count_open(lake.table(f"quarantine.{table}")),
        parked_open=count_open(lake.table(f"parked.{table}")),
        trend=_trend(batches, history),
    )


def _late_open(lake: Lake, table: str, late: Mapping[str, int]) -> int:
    """Late rows that do not count. The table beside has one row for each window that a row was late for, so
    the ledger's number is taken, as everywhere.
    """
    return max(0, late.get(table, 0)) if count_rows(lake.table(f"late.{table}")) else 0


def _newest(path: str) -> tuple[datetime | None, str]:
    found = ((newest(path, column), kind) for column, kind in NEWEST)
    return next(((at, kind) for at, kind in found if at is not None), (None, ""))


def _inputs(pipeline: Pipeline, table: str, conf: Path) -> list[str]:
    try:
        return inputs_of(pipeline, table, conf)
    except (
        OSError
    ):  # its SQL file is gone: the report is about what ran, and says nothing of where that came from
        return []


def _trend(batches: Sequence[Row], history: Sequence[Run]) -> tuple[Point, ...]:
    by_run: dict[str, list[Row]] = {}
    for row in batches:
        by_run.setdefault(row["run_id"], []).append(row)
    sums = [(run, sum_counts(mine)) for run in history if (mine := by_run.get(run.run_id))]
    return tuple(
        Point(run.run_id, run.started_at, counts.published, max(0, counts.quarantined))
        for run, counts in sums
    )


# What is so now, whichever run has made it so: the newest page and the overview speak of it, not of the last
# run alone.

LOOKED_BACK = 10
"""Runs before the newest one among which those are looked for that were cut."""


def collect_current(
    project: Project,
    name: str,
    lake: Lake,
    known: Sequence[str],
    balance: Sequence[Balance],
    history: Sequence[Run],
    work: Work,
) -> Current:
    """`known` are the runs of the ledger, the newest last; what that one left open is on its own page. `work`
    is that of the `history`: mostly nothing else has to be read.
    """
    ledger = Ledger(lake)
    generations = {table: definition.generation for table, definition in ledger.live_definitions().items()}
    ends = [
        end
        for table, end in newest_states(ledger).items()
        if TableState(end.state).is_open and end.run_id != known[-1]
    ]
    ends = [end for end in ends if end.generation in (None, generations.get(end.table))]
    found = [
        row
        for row in ledger.newest("expectations", ("table", "rule"))
        if row["generation"] == generations.get(row["table"])
    ]
    rules = {(table, rule.name) for table, those in rules_of(project, name).items() for rule in those}
    found = [row for row in found if row["run_id"] != known[-1] and (row["table"], row["rule"]) in rules]
    before = known[:-1][-LOOKED_BACK:]
    wanted = {*before, *(end.run_id for end in ends), *(row["run_id"] for row in found)}
    others = wanted - {run.run_id for run in history}
    more = read_runs(lake, others) if others else []
    by_id = {run.run_id: run for run in (*history, *more) if run.run_id in wanted}
    tables = {run.run_id: work.tables_of(run) for run in history if run.run_id in wanted}
    if more:
        work_of_more = Work.read(lake, more)
        tables |= {run.run_id: work_of_more.tables_of(run) for run in more}
    return Current(
        tables=tuple(
            OpenTable(tables[end.run_id][end.table], by_id[end.run_id]) for end in ends if end.run_id in by_id
        ),
        rules=tuple(
            OpenRule(row["table"], rule, by_id[row["run_id"]])
            for row in found
            if row["run_id"] in by_id
            for rule in tables[row["run_id"]][row["table"]].rules
            if rule.name == cut(row["rule"])
            and rule.state in (RuleState.WARNING, RuleState.BLOCKING, RuleState.PROBLEM)
        ),
        cut=tuple(_cut([by_id[run_id] for run_id in before if run_id in by_id], tables)),
        missing=tuple(entry for entry in balance if entry.missing),
    )


def _cut(
    before: Sequence[Run], tables: Mapping[str, Mapping[str, TableWork]]
) -> Iterator[tuple[Run, Totals]]:
    """The runs just before the newest one that did not come to their end: what they published is in no other
    run.
    """
    for run in reversed(before):
        if run.status not in (KILLED, FAILED, STOPPED):
            return
        yield run, totals_of(tables[run.run_id].values())


# From the ledger to a report: every part is read by its own module, bounded, and cut to what a page can show.

HISTORY = 30
"""Runs that trends look back to."""
MESSAGE_LENGTH = 500


class UnknownRun(Exception):
    """A report was asked for of a run that the ledger does not have."""

    def __init__(self, pipeline: str, run_id: str, known: list[str]) -> None:
        self.pipeline, self.run_id, self.known = pipeline, run_id, known
        super().__init__(f"{pipeline} has no run {cut(run_id)!r}")


def collect_report(project: Project, name: str, run_id: str, made_at: datetime) -> Report:
    """All that a report says of a run. What is in the tables is as of now, what the run did is as of then."""
    pipeline, lake = project.pipelines[name], Lake(project.lake, name)
    known = run_ids(lake)
    if run_id not in known:
        raise UnknownRun(name, run_id, known)
    until = known.index(run_id) + 1
    history = read_runs(lake, known[max(0, until - HISTORY) : until])
    run, work = history[-1], Work.read(lake, history)
    decisions = collect_decisions(lake, run_id, work.gates[run_id])
    rules = rules_of_tables(pipeline, lake, run, history)
    files, file_count = collect_files_not_taken(pipeline, lake)
    drift = collect_drift(lake, run_id)
    is_cut = read_runs(lake, known[-1:])[0].status in (RUNNING, KILLED)
    balance = _balance(project, name, lake, is_cut=is_cut)
    late = {entry.table: entry.counts.late for entry in balance}
    tables = collect_tables(pipeline, project.conf, lake, history, work, rules, late)
    current = collect_current(project, name, lake, known, balance, history, work)
    is_newest, gates = until == len(known), work.gates_of(run)
    new_fields = [f"{found.source}.{found.field}" for found in drift if found.is_new]
    verdict = judge_run(name, run, tables, gates, decisions, new_fields, current if is_newest else None)
    evidence = read_where(lake.ledger("evidence"), ["message"], {"run_id": [run_id]})
    return Report(
        pipeline=name,
        description=cut(pipeline.description, MESSAGE_LENGTH),
        owner=cut(pipeline.owner),
        made_at=made_at,
        made_by=f"weir {__version__}",
        run=run,
        verdict=verdict,
        tables=tables,
        sources=collect_sources(pipeline, lake, run_id),
        reasons=top_reasons(
            pipeline,
            lake,
            [table.name for table in tables if not TableName(table.name).is_in("bronze", "sink")],
            run_id,
        ),
        gates=gates,
        decisions=decisions,
        drift=drift[:DRIFT_SHOWN],
        drift_count=len(drift),
        files_not_taken=files,
        files_not_taken_count=file_count,
        balance=balance,
        evidence=tuple(cut(row["message"] or "", MESSAGE_LENGTH) for row in evidence),
        current=current,
        is_newest=is_newest,
        totals=totals_of(tables),
        history=tuple(history),
    )


def _balance(project: Project, name: str, lake: Lake, *, is_cut: bool) -> tuple[Balance, ...]:
    accounts = sum_up(project.pipelines[name], lake)
    return tuple(
        Balance(row["table"], Counts.of_row(row), row["corrected"], None if is_cut else row["missing"])
        for row in accounts
        if row["batches"]
    )
