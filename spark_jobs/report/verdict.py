"""The verdict on a run: is the data good, why not, and what to do next. In words, because people read it
first.

The one judge: the page of a run, the list of runs and the overview all ask it, with the same rows of the
ledger.
"""

from collections.abc import Iterable, Sequence

from spark_jobs.lake.counts import Counts, Totals, find_alarms, is_all_set_aside
from spark_jobs.lake.states import FAILED, KILLED, STOPPED
from spark_jobs.report.facts import (
    Balance,
    Current,
    DecisionFact,
    GateFact,
    Outcome,
    RuleState,
    Run,
    Step,
    TableState,
    TableWork,
    Verdict,
)
from spark_jobs.report.next_steps import (
    NAMED,
    by_rows,
    list_tables,
    notes_about,
    steps_after_bad_data,
    steps_after_failure,
    steps_after_missing_rows,
    steps_for_table,
    steps_of_blocked,
)
from spark_jobs.report.runs import RUNNING
from spark_jobs.report.text import count, cut, moment
from spark_jobs.report.work import totals_of

WHY_LENGTH = 300
OUTCOMES = {
    TableState.FAILED: Outcome.FAILED,
    TableState.BLOCKED: Outcome.BLOCKED,
    TableState.STOPPED: Outcome.STOPPED,
    TableState.KILLED: Outcome.KILLED,
    TableState.NOT_REACHED: Outcome.STOPPED,
    TableState.RUNNING: Outcome.RUNNING,
}
"""Of tables that did not come to their end."""
ENDED = {KILLED: "was killed", FAILED: "failed", STOPPED: "was stopped"}


def judge_run(
    pipeline: str,
    run: Run,
    tables: Sequence[TableWork],
    gates: Sequence[GateFact],
    decisions: Sequence[DecisionFact],
    new_fields: Sequence[str],
    current: Current | None = None,
) -> Verdict:
    """`current` is what is so now beside what the run did: given for the newest run alone."""
    now = current or Current()
    blocked = [gate for gate in gates if gate.verdict == "blocked" and _is_blocked(tables, gate.table)]
    found = (*notes_about(tables, gates, new_fields), *_current_notes(now))
    notes = found if not blocked else (_why_blocked(blocked, run), *found)
    ways_on = tuple(steps_of_blocked(pipeline, tables, blocked, decisions))
    run_again = Step("Run again to resume", f"weir run {pipeline}")
    if run.status == RUNNING:
        return Verdict(
            Outcome.RUNNING, "The run is at work. This page is about what it has done so far.", notes
        )
    if run.status == FAILED:
        steps = (*steps_after_failure(pipeline, run), *ways_on)
        return Verdict(Outcome.FAILED, _why_failed(run, tables), notes, steps)
    if now.missing:
        steps = (*steps_after_missing_rows(pipeline), *ways_on)
        return Verdict(Outcome.FAILED, _why_missing(now.missing), notes, steps)
    if run.status == KILLED:
        why = (
            f"The run was killed: it ended without a word. {_say_published(totals_of(tables))} before that;"
            " what is published stays."
        )
        return Verdict(Outcome.KILLED, why, notes, (run_again, *ways_on))
    if run.status == STOPPED:
        why = cut(
            f"The run was {run.message}" if run.message.startswith("stopped") else "The run was stopped.",
            WHY_LENGTH,
        )
        return Verdict(Outcome.STOPPED, why, notes, (run_again, *ways_on))
    if blocked or run.status == "blocked":
        return Verdict(Outcome.BLOCKED, _why_blocked(blocked, run), found, ways_on)
    if now.tables:
        return _judge_open(pipeline, now, notes)
    if aside := [table for table in tables if is_all_set_aside(table.name, table.counts, table.late_kept)]:
        why = _why_bad(aside)
        others = tuple(note for note in notes if note not in why)
        return Verdict(Outcome.BAD, why, others, tuple(steps_after_bad_data(pipeline, aside)))
    if notes:
        return Verdict(Outcome.WARNINGS, _why_warnings(tables, notes, now), notes)
    return Verdict(Outcome.GOOD, _why_good(tables))


def judge_table(table: TableWork, gates: Sequence[GateFact], balance: Sequence[Balance]) -> Outcome:
    """Of one table in the run, by what concerns it alone."""
    if any(entry.missing for entry in balance if entry.table == table.name):
        return Outcome.FAILED
    if table.state in OUTCOMES:
        return OUTCOMES[table.state]
    if is_all_set_aside(table.name, table.counts, table.late_kept):
        return Outcome.BAD
    return (
        Outcome.WARNINGS
        if any(notes_about([table], [gate for gate in gates if gate.table == table.name], []))
        else Outcome.GOOD
    )


def _is_blocked(tables: Sequence[TableWork], name: str) -> bool:
    return any(table.name == name and table.state is TableState.BLOCKED for table in tables)


def _judge_open(pipeline: str, now: Current, notes: tuple[str, ...]) -> Verdict:
    """A run that came to its end, while tables that it had no part in are not up to date: how they are is how
    the data is.
    """
    order = list(OUTCOMES)
    worst_first = sorted(now.tables, key=lambda entry: order.index(entry.table.state))
    named = list_tables(
        f"{entry.table.name} ({_words(entry.table.state)} in the run of {moment(entry.run.started_at)})"
        for entry in worst_first
    )
    steps = [Step("Run again to bring them up to date", f"weir run {pipeline}")]
    for entry in (entry for entry in worst_first if entry.table.state is TableState.BLOCKED):
        steps += steps_for_table(pipeline, entry.table)
    return Verdict(
        OUTCOMES[worst_first[0].table.state], f"Not up to date: {named}.", notes, tuple(dict.fromkeys(steps))
    )


def _words(state: TableState) -> str:
    return state.value.replace("_", " ")


def _say_published(totals: Totals) -> str:
    """What readers have of a run, and what they have not: as in "980 silver rows published, 24 quarantined, 5
    parked".
    """
    said = [f"{count(totals.published, 'silver row')} published"]
    said += [f"{totals.members:,} in dimensions"] * (totals.members > 0)
    said += [f"{totals.quarantined:,} quarantined"] * (totals.quarantined > 0)
    said += [f"{totals.parked:,} parked"] * (totals.parked > 0)
    said += [f"{totals.late_kept:,} late and not counted"] * (totals.late_kept > 0)
    said += [f"{count(totals.files_unreadable, 'file')} unreadable"] * (totals.files_unreadable > 0)
    return ", ".join(said)


def _why_good(tables: Sequence[TableWork]) -> str:
    rules = sum(len(table.rules) for table in tables)
    met = (
        f"; all {count(rules, 'expectation')} are met"
        if rules > 1
        else "; the expectation is met"
        if rules
        else ""
    )
    return f"{_say_published(totals_of(tables))}, none quarantined{met}."


def _why_warnings(tables: Sequence[TableWork], notes: Sequence[str], now: Current) -> str:
    """Lists and the overview show this sentence alone, so it also says that runs just before were cut."""
    cut_runs = " ".join(_say_cut(run, totals) for run, totals in now.cut[:1])
    look = count(len(notes), "thing needs a look", "things need a look")
    return f"{_say_published(totals_of(tables))}; {look}.{f' {cut_runs}' if cut_runs else ''}"


def _why_failed(run: Run, tables: Sequence[TableWork]) -> str:
    """Every table that failed, each with its own error."""
    failed = [table for table in tables if table.state is TableState.FAILED and table.error]
    if len(failed) < 2:
        return cut(run.message or "The run failed.", WHY_LENGTH)
    named = ". ".join(
        f"{table.name} failed: {cut(table.error, WHY_LENGTH // NAMED)}" for table in failed[:NAMED]
    )
    more = f". {count(len(failed) - NAMED, 'more table')} failed." if len(failed) > NAMED else "."
    return f"{count(len(failed), 'table')} failed. {named}{more}"


def _why_missing(missing: Sequence[Balance]) -> str:
    return (
        f"The rows do not add up: {list_tables(f'{entry.table} ({entry.missing:+,})' for entry in missing)}."
    )


def _why_bad(aside: Sequence[TableWork]) -> str:
    """As the alarms of the tables say it; earlier versions wrote none."""
    said = [
        next(iter(table.alarms or find_alarms(table.name, table.counts, table.late_kept, Counts(), 0)))
        for table in aside
    ]
    more = f" And {count(len(said) - NAMED, 'more table')}." if len(said) > NAMED else ""
    return f"{'. '.join(said[:NAMED])}.{more}"


def _why_blocked(blocked: Sequence[GateFact], run: Run) -> str:
    if not blocked:
        return cut(run.message or "A batch was blocked.", WHY_LENGTH)
    first, others = blocked[0], len(blocked) - 1
    failed = "failed rule" if len(first.failed) == 1 else "failed rules"
    rules = f"{failed}: {list_tables(first.failed) or 'not known'}"
    more = (
        f" {count(others, 'more batch', 'more batches')} {'is' if others == 1 else 'are'} blocked as well."
        if others
        else ""
    )
    what = (
        f"batch blocked, {count(first.rows, 'row')} not published"
        if first.rows
        else "batch blocked, which only removes rows"
    )
    return f"{first.table}: {what}; {rules}. Readers keep what they had.{more}"


def _current_notes(now: Current) -> Iterable[str]:
    for run, totals in now.cut:
        yield _say_cut(run, totals)
    for entry in now.rules:
        said = (
            "could not be judged"
            if entry.rule.state is RuleState.PROBLEM
            else f"is not met{by_rows(entry.rule)}"
        )
        yield (
            f"{entry.table}: {entry.rule.name} {said}, judged last in the run of"
            f" {moment(entry.run.started_at)}."
        )


def _say_cut(run: Run, totals: Totals) -> str:
    return f"The run of {moment(run.started_at)} {ENDED[run.status]}: {_say_published(totals)} before that."
