"""The verdict on a run: is the data good, why not, and what to do next. In words, because people read it first."""

from collections.abc import Iterable, Sequence

from spark_jobs.report.facts import (
    Balance,
    DecisionFact,
    DriftFact,
    GateFact,
    Outcome,
    RuleFact,
    RuleState,
    Run,
    Step,
    TableFact,
    TableState,
    Verdict,
)
from spark_jobs.report.figures import count, cut

NAMED = 3
WHY_LENGTH = 300
OUTCOMES = {
    TableState.FAILED: Outcome.FAILED,
    TableState.HELD_BACK: Outcome.HELD_BACK,
    TableState.STOPPED: Outcome.UNFINISHED,
    TableState.NOT_REACHED: Outcome.UNFINISHED,
}
"""Of tables that did not come to their end."""
DECIDED = {"release": "released", "set_aside": "set aside", "hold": "left held"}


def judge_run(
    pipeline: str,
    run: Run,
    tables: Sequence[TableFact],
    gates: Sequence[GateFact],
    decisions: Sequence[DecisionFact],
    drift: Sequence[DriftFact],
    balance: Sequence[Balance],
) -> Verdict:
    blocked = [gate for gate in gates if gate.verdict == "blocked"]
    missing = [entry for entry in balance if entry.missing]
    notes = tuple(_notes(tables, gates, decisions, drift))
    if run.status == "failed":
        return Verdict(Outcome.FAILED, cut(run.message or "The run failed.", WHY_LENGTH), notes, _steps_failed(pipeline, run))
    if blocked or run.status == "blocked":
        return Verdict(Outcome.HELD_BACK, why_blocked(blocked, run), notes, _steps_blocked(pipeline, blocked, decisions))
    if missing:
        why = f"The rows do not add up: {_list(f'{entry.table} ({entry.missing:+,})' for entry in missing)}."
        steps = (
            Step("See which rows differ from what bronze gives", f"weir verify {pipeline}"),
            Step("See the sums", f"weir account {pipeline}"),
        )
        return Verdict(Outcome.FAILED, why, notes, steps)
    if run.status == "stopped":
        why = cut(f"The run was {run.message}" if run.message.startswith("stopped") else "The run was stopped.", WHY_LENGTH)
        return Verdict(Outcome.UNFINISHED, why, notes, (Step("Run again to go on", f"weir run {pipeline}"),))
    if run.status is None:
        why = "The run has not said how it ended: it is still at work, or it was killed. What is published stays."
        return Verdict(Outcome.UNFINISHED, why, notes, (Step("If it is no longer at work, run again to go on", f"weir run {pipeline}"),))
    if notes:
        return Verdict(Outcome.WARNINGS, "Everything was published, but some of it needs a look.", notes)
    return Verdict(Outcome.GOOD, _why_good(tables))


def judge_table(table: TableFact, gates: Sequence[GateFact], balance: Sequence[Balance]) -> Outcome:
    """Of one table in the run, by what concerns it alone."""
    is_missing = any(entry.missing for entry in balance if entry.table == table.name)
    if is_missing or table.state in OUTCOMES:
        return Outcome.FAILED if is_missing else OUTCOMES[table.state]
    return Outcome.WARNINGS if any(_notes([table], [gate for gate in gates if gate.table == table.name], [], [])) else Outcome.GOOD


def rules_in(tables: Iterable[TableFact], state: RuleState) -> list[tuple[str, RuleFact]]:
    return [(table.name, rule) for table in tables for rule in table.rules if rule.state is state]


def _why_good(tables: Sequence[TableFact]) -> str:
    rules = sum(len(table.rules) for table in tables)
    published = sum(table.counts.published for table in tables if not table.name.startswith(("bronze.", "gold.", "sink.")))
    met = f", and all {count(rules, 'expectation')} hold" if rules > 1 else ", and the expectation holds" if rules else ""
    parked = sum(table.counts.parked for table in tables)
    waiting = f", {count(parked, 'row waits', 'rows wait')} for a member" if parked > 0 else ""
    return f"{count(published, 'row')} published in silver and dimensions, none quarantined{waiting}{met}."


def why_blocked(blocked: Sequence[GateFact], run: Run) -> str:
    if not blocked:
        return run.message or "A batch was held back."
    first, others = blocked[0], len(blocked) - 1
    rules = _list(first.failed) or "a blocking expectation"
    more = f" {count(others, 'more batch', 'more batches')} {'is' if others == 1 else 'are'} held back as well." if others else ""
    verb = "is" if first.rows == 1 else "are"
    what = f"{count(first.rows, 'row')} of {first.table} {verb}" if first.rows else f"A batch of {first.table} that only removes rows is"
    held = f"{what} held back, because {rules} is not met."
    return f"{held} Nothing of the batch was published.{more}"


def _steps_failed(pipeline: str, run: Run) -> tuple[Step, ...]:
    log = Step(f"Read the log: logs/{pipeline}/{run.run_id}.log")
    return log, Step("Mend the cause and run again; what is published stays", f"weir run {pipeline}")


def _steps_blocked(pipeline: str, blocked: Sequence[GateFact], decisions: Sequence[DecisionFact]) -> tuple[Step, ...]:
    decided = {(decision.table, decision.batch): decision for decision in decisions}
    steps = []
    for gate in blocked[:NAMED]:
        known = decided.get((gate.table, gate.batch))
        if known:
            steps.append(Step(f"{gate.table} was {DECIDED.get(known.action, known.action)} since, by {known.decided_by}: {known.reason}"))
            if known.action != "hold":
                continue
        about = f"{pipeline} {gate.table}" + (f" --seen {gate.seen}" if gate.seen else "")
        steps += [
            Step("If the data or the rule is wrong: mend it, and run again", f"weir run {pipeline}"),
            Step("If the data is right all the same: publish it", f'weir release {about} --reason "…"'),
            Step("If the data is wrong and will not be mended: set its rows aside", f'weir set-aside {about} --reason "…"'),
        ]
    return tuple(dict.fromkeys(steps))


def _notes(
    tables: Sequence[TableFact], gates: Sequence[GateFact], decisions: Sequence[DecisionFact], drift: Sequence[DriftFact]
) -> Iterable[str]:
    """What a person should look at, although it stopped nothing."""
    for name, rule in rules_in(tables, RuleState.WARNING):
        yield f"{name}: {rule.name} is not met" + (f" by {count(rule.failed, 'row')}." if rule.failed else ".")
    for name, rule in rules_in(tables, RuleState.PROBLEM):
        yield f"{name}: {rule.name} could not be judged."
    for table in tables:
        if table.counts.quarantined > 0:
            what = count(table.counts.quarantined, "file that cannot be read", "files that cannot be read")
            rows = f"{count(table.counts.quarantined, 'row was', 'rows were')} set aside in quarantine"
            yield f"{table.name}: {what if table.name.startswith('bronze.') else rows}."
        if table.counts.ties:
            yield f"{table.name}: {count(table.counts.ties, 'key has', 'keys have')} versions with the same sequence and different content."
    for gate in gates:
        if gate.verdict == "released":
            yield f"{gate.table}: {count(gate.rows, 'row was', 'rows were')} published by a person's decision."
        elif gate.verdict == "set_aside":  # their number is that of the rows in quarantine
            yield f"{gate.table}: a batch was set aside by a person's decision."
    new = [found for found in drift if found.is_new]
    if new:
        yield f"{count(len(new), 'field')} of the feeds came or went: {_list(f'{found.source}.{found.field}' for found in new)}."


def _list(names: Iterable[str]) -> str:
    known = list(names)
    shown = ", ".join(known[:NAMED])
    return f"{shown} and {len(known) - NAMED} more" if len(known) > NAMED else shown
