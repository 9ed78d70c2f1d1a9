"""What a reader of a report should note of a table, though it is no failure: alarms, late rows, rows that
wait.
"""

from collections.abc import Iterable, Sequence

from spark_jobs.config.table_name import TableName
from spark_jobs.report.facts import (
    GateFact,
    RuleFound,
    RuleState,
    TableWork,
)
from spark_jobs.report.next_steps import (
    NAMED,
)
from spark_jobs.report.text import count


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
    if table.counts.quarantined > 0:
        what = count(table.counts.quarantined, "file that cannot be read", "files that cannot be read")
        rows = f"{table.counts.quarantined:,} of {count(table.counts.rows_in, 'row')} quarantined"
        yield f"{table.name}: {what if TableName(table.name).is_bronze else rows}."
    if table.late_kept:
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
