"""From the ledger to a report: every part is read by its own module, bounded, and cut to what a page can show."""

from datetime import datetime

from spark_jobs import __version__
from spark_jobs.config.loading import Project
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.scan import read_where
from spark_jobs.lake.states import KILLED
from spark_jobs.report.account import sum_up
from spark_jobs.report.aside import top_reasons
from spark_jobs.report.current import collect_current
from spark_jobs.report.facts import Balance, Report
from spark_jobs.report.feeds import DRIFT_SHOWN, collect_drift, collect_files_not_taken, collect_sources
from spark_jobs.report.figures import cut
from spark_jobs.report.gates import collect_decisions
from spark_jobs.report.rules import rules_of_tables
from spark_jobs.report.runs import RUNNING, read_runs, run_ids
from spark_jobs.report.table_facts import collect_tables
from spark_jobs.report.verdict import judge_run
from spark_jobs.report.work import Work, totals_of

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
    tables = collect_tables(pipeline, project.conf, lake, history, work, rules)
    files, file_count = collect_files_not_taken(pipeline, lake)
    drift = collect_drift(lake, run_id)
    is_cut = read_runs(lake, known[-1:])[0].status in (RUNNING, KILLED)
    balance = _balance(project, name, lake, is_cut=is_cut)
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
        reasons=top_reasons(pipeline, lake, [table.name for table in tables if not table.name.startswith(("bronze.", "sink."))], run_id),
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
