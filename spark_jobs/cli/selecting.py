"""From the options of `weir quarantine …` to a Selection, with an error for what cannot be meant."""

from collections.abc import Iterable, Sequence
from datetime import date

from spark_jobs.config.errors import UsageError, did_you_mean
from spark_jobs.config.graph import table_names
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.table_name import TableName
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.quarantine import count_rules
from spark_jobs.lake.selection import STATES, Selection

ALL = "all"


def make_selection(
    rules: Sequence[str] | None, files: Sequence[str] | None, since: str | None, until: str | None, state: str
) -> Selection:
    """UsageError where an option has no meaning."""
    if state not in (*STATES, ALL):
        raise UsageError(
            "--state", state, f"there is no state {state!r}", did_you_mean(state, (*STATES, ALL))
        )
    first, last = _day("--since", since), _day("--until", until)
    if first and last and first > last:
        raise UsageError(
            "--since",
            since,
            f"{first} is after {last}, the day of --until",
            "give the earlier day to --since",
        )
    return Selection(
        tuple(rules or ()), tuple(files or ()), first, last, STATES if state == ALL else (state,)
    )


def row_tables(pipeline: Pipeline) -> list[str]:
    """The tables whose rows can be quarantined."""
    return [table for table in table_names(pipeline) if TableName(table).has_keys]


def check_table(pipeline: Pipeline, table: str, allowed: Sequence[str]) -> None:
    if table in allowed:
        return
    known = table in table_names(pipeline)
    layer = TableName(table).layer
    why = {
        "gold": "nothing of a gold table is quarantined",
        "bronze": "of a bronze table files are set aside, not rows",
    }.get(layer)
    hint = (
        f"`weir quarantine list {pipeline.name} {table}` names them"
        if known and layer == "bronze"
        else did_you_mean(table, allowed)
    )
    raise UsageError("TABLE", table, why if known and why else f"there is no table {table!r}", hint)


def check_rules(lake: Lake, tables: Iterable[str], selection: Selection) -> None:
    """For a selection that found nothing: UsageError where a rule has never set a row aside in these tables,
    which is then misspelt.
    """
    everything = Selection(states=STATES)
    known = (
        dict.fromkeys(count.rule for table in tables for count in count_rules(lake, table, everything))
        if selection.rules
        else {}
    )
    for rule in selection.rules:
        if known and not any(Selection(rules=(rule,)).matches_rule(name) for name in known):
            raise UsageError(
                "--rule", rule, f"no row was ever set aside by a rule {rule!r}", did_you_mean(rule, known)
            )


def _day(option: str, value: str | None) -> date | None:
    try:
        return date.fromisoformat(value) if value is not None else None
    except ValueError:
        raise UsageError(option, value, f"{value!r} is not a day", "write it as in 2026-03-31") from None
