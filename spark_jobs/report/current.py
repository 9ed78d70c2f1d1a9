"""What is so now, whichever run has made it so: the newest page and the overview speak of it, not of the last run alone."""

from collections.abc import Iterator, Mapping, Sequence

from spark_jobs.config.loading import Project
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.states import FAILED, KILLED, STOPPED, newest_states
from spark_jobs.lake.totals import Totals
from spark_jobs.report.facts import Balance, Current, OpenRule, OpenTable, RuleState, Run, TableState, TableWork
from spark_jobs.report.figures import cut
from spark_jobs.report.runs import read_runs
from spark_jobs.report.work import Work, totals_of

LOOKED_BACK = 10
"""Runs before the newest one among which those are looked for that were cut."""


def collect_current(
    project: Project, name: str, lake: Lake, known: Sequence[str], balance: Sequence[Balance], history: Sequence[Run], work: Work
) -> Current:
    """`known` are the runs of the ledger, the newest last; what that one left open is on its own page. `work` is that of the `history`:
    mostly nothing else has to be read.
    """
    ledger = Ledger(lake)
    generations = {table: definition.generation for table, definition in ledger.live_definitions().items()}
    ends = [end for table, end in newest_states(ledger).items() if TableState(end.state).is_open and end.run_id != known[-1]]
    ends = [end for end in ends if end.generation in (None, generations.get(end.table))]
    found = [row for row in ledger.newest("expectations", ("table", "rule")) if row["generation"] == generations.get(row["table"])]
    rules = {(table, rule.name) for table, those in project.rules.get(name, {}).items() for rule in those}
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
        tables=tuple(OpenTable(tables[end.run_id][end.table], by_id[end.run_id]) for end in ends if end.run_id in by_id),
        rules=tuple(
            OpenRule(row["table"], rule, by_id[row["run_id"]])
            for row in found
            if row["run_id"] in by_id
            for rule in tables[row["run_id"]][row["table"]].rules
            if rule.name == cut(row["rule"]) and rule.state in (RuleState.WARNING, RuleState.BLOCKING, RuleState.PROBLEM)
        ),
        cut=tuple(_cut([by_id[run_id] for run_id in before if run_id in by_id], tables)),
        missing=tuple(entry for entry in balance if entry.missing),
    )


def _cut(before: Sequence[Run], tables: Mapping[str, Mapping[str, TableWork]]) -> Iterator[tuple[Run, Totals]]:
    """The runs just before the newest one that did not come to their end: what they published is in no other run."""
    for run in reversed(before):
        if run.status not in (KILLED, FAILED, STOPPED):
            return
        yield run, totals_of(tables[run.run_id].values())
