"""What a reader of a report should note of a run, though it is no failure, and what to do next about one
that failed, lost rows, or is blocked.
"""

from collections.abc import Iterable, Iterator, Sequence

from spark_jobs.config.table_name import TableName
from spark_jobs.lake.blocked import ways_on
from spark_jobs.lake.counts import UNREADABLE, WORDS
from spark_jobs.report.facts import (
    DecisionFact,
    GateFact,
    RuleFound,
    RuleState,
    Run,
    Step,
    TableWork,
)
from spark_jobs.report.text import count

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
    if any(TableName(table.name).is_bronze for table in aside):
        yield Step("See which files cannot be read, and why", f"weir quarantine list {pipeline}")
    if any(TableName(table.name).has_keys for table in aside):
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


def rules_in(tables: Iterable[TableWork], state: RuleState) -> list[tuple[str, RuleFound]]:
    return [(table.name, rule) for table in tables for rule in table.rules if rule.state is state]


def notes_about(
    tables: Sequence[TableWork], gates: Sequence[GateFact], new_fields: Sequence[str]
) -> Iterable[str]:
    """What a person should look at, although it stopped nothing."""
    for table in tables:
        yield from (f"{alarm}." for alarm in table.alarms)
    for name, rule in rules_in(tables, RuleState.WARNING):
        yield f"{name}: {rule.name} is not met{by_rows(rule)}."
    for name, rule in rules_in(tables, RuleState.PROBLEM):
        yield f"{name}: {rule.name} could not be judged."
    for table in tables:
        yield from _row_notes(table)
    for gate in gates:
        if gate.verdict == "released":
            yield (
                f"{gate.table}: {count(gate.rows, 'row was', 'rows were')} published by a person's decision."
            )
        elif gate.verdict == "set_aside":  # their number is that of the rows in quarantine
            yield f"{gate.table}: a batch was put into quarantine by a person's decision."
    if new_fields:
        yield f"{count(len(new_fields), 'field')} of the feeds came or went: {list_tables(new_fields)}."


def _row_notes(table: TableWork) -> Iterable[str]:
    """Of what its alarms have not said already."""
    said = " ".join(table.alarms)
    is_said = UNREADABLE in said or f" {WORDS['quarantined']}" in said
    if table.counts.quarantined > 0 and not is_said:
        what = count(table.counts.quarantined, "file that cannot be read", "files that cannot be read")
        rows = f"{table.counts.quarantined:,} of {count(table.counts.rows_in, 'row')} quarantined"
        yield f"{table.name}: {what if TableName(table.name).is_bronze else rows}."
    if table.late_kept and WORDS["late"] not in said:
        yield (
            f"{table.name}: {count(table.late_kept, 'row')} came too late for a window or state, and"
            f" {'does' if table.late_kept == 1 else 'do'} not count there."
        )
    if table.counts.ties:
        yield (
            f"{table.name}: {count(table.counts.ties, 'key has', 'keys have')} versions with the same"
            " sequence and different content."
        )


def by_rows(rule: RuleFound) -> str:
    if not rule.failed:
        return ""
    return (
        f" by {rule.failed:,} of {count(rule.rows, 'row')}"
        if rule.rows
        else f" by {count(rule.failed, 'row')}"
    )


def list_tables(names: Iterable[str]) -> str:
    known = list(names)
    shown = ", ".join(known[:NAMED])
    return f"{shown} and {len(known) - NAMED} more" if len(known) > NAMED else shown
