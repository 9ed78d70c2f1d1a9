"""What to do next about a run that failed, lost rows, or is blocked."""

from collections.abc import Iterable, Iterator, Sequence

from spark_jobs.config.table_name import TableName
from spark_jobs.lake.blocked import ways_on
from spark_jobs.report.facts import (
    DecisionFact,
    GateFact,
    Run,
    Step,
    TableWork,
)

NAMED = 3
DECIDED = {"release": "released", "set_aside": "set aside", "hold": "left blocked"}


def steps_after_failure(pipeline: str, run: Run) -> tuple[Step, ...]:
    log = Step(f"Read the log: logs/{pipeline}/{run.run_id}.log")
    return log, Step("Fix the cause and run again; what is published stays", f"weir run {pipeline}")


def steps_after_missing_rows(pipeline: str) -> tuple[Step, ...]:
    return (
        Step("See which rows differ from what bronze gives", f"weir verify {pipeline}"),
        Step("See the sums", f"weir account {pipeline}"),
    )


def steps_after_bad_data(pipeline: str, aside: Sequence[TableWork]) -> Iterator[Step]:
    if any(not TableName(table.name).is_gold for table in aside):
        yield Step("See why the rows are in quarantine", f"weir quarantine list {pipeline}")
    if any(table.late_kept for table in aside):
        yield Step("See which record moved the watermark", f"weir status {pipeline}")


def steps_of_blocked(
    pipeline: str, tables: Sequence[TableWork], blocked: Sequence[GateFact], decisions: Sequence[DecisionFact]
) -> Iterable[Step]:
    """What was decided since, and else what may be: the actions that the ledger has of the blocked table."""
    decided = {(decision.table, decision.batch): decision for decision in decisions}
    steps = []
    for gate in blocked[:NAMED]:
        known = decided.get((gate.table, gate.batch))
        if known:
            steps.append(
                Step(
                    f"{gate.table} was {DECIDED.get(known.action, known.action)} since, by"
                    f" {known.decided_by}: {known.reason}"
                )
            )
            if known.action != "hold":
                continue
        steps += [
            step for table in tables if table.name == gate.table for step in steps_for_table(pipeline, table)
        ]
    return dict.fromkeys(steps)


def steps_for_table(pipeline: str, table: TableWork) -> list[Step]:
    return [
        Step(f"{way.what[0].upper()}{way.what[1:]}", way.command)
        for way in ways_on(pipeline, table.name, table.seen, table.actions)
    ]
