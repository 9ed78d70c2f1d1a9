"""Rows that are published say which rules of today they do not meet: where rules with `on_fail: tag` have
changed, rows that are there follow, in a step of its own.
"""

import json
from dataclasses import replace
from functools import partial
from typing import Any

from spark_jobs.config.expectations import FAILED_RULES, Rule, rules_version, tagging
from spark_jobs.lake import delta_log
from spark_jobs.lake.ledger_batches import CORRECTION, STREAM
from spark_jobs.lake.seen import Seen
from spark_jobs.run.context import RULES, Done, RunContext
from spark_jobs.run.plan import TAGGING
from spark_jobs.silver.fact_table import FactTable
from spark_jobs.silver.tagging import tag_again

TAG = f"{CORRECTION}{FAILED_RULES}"


def as_it_stands(run: RunContext, table: FactTable) -> FactTable:
    """A table keeps the column when its last such rule goes: its rows then fail none."""
    return table if table.is_tagged else replace(table, is_tagged=_has_column(run, table))


def is_behind(run: RunContext, table: FactTable, consumed: dict[str, Any]) -> bool:
    """Whether rows that are there may be tagged by other rules than those of today: asked before the run
    writes any. Rules are noted before the first batch that is judged by them, so that those of a run which
    came to no end are known.
    """
    if not table.is_tagged or run.lake.staged or not delta_log.count_rows(run.lake.table(table.name)):
        return False
    now = version_of(run.rules(table.name))
    return consumed.get(TAGGING) != now or any(version_of(rules) != now for rules in _used(run, table.name))


def _used(run: RunContext, table: str) -> list[tuple[Rule, ...]]:
    """The rules that rows may have been tagged by since all of them were tagged last, or since the first,
    whose batch knows its own.
    """
    intents = partial(run.order.ledger.intents, generation=run.plan.generation(table))
    tagged = max((intent.begun_at for intent in intents(table, TAG)), default=None)
    first = min(intents(table, STREAM), key=lambda intent: intent.begun_at, default=None)
    noted = run.verdicts.noted(table)
    if tagged is not None:
        before = [rules for at, rules in noted if at <= tagged][-1:]
        return [*before, *(rules for at, rules in noted if at > tagged)]
    if first is None:
        return [rules for _, rules in noted]
    version = first.inputs.get(RULES)
    since = [rules for at, rules in noted if at > first.begun_at]
    return [run.verdicts.rules(table, version) if version else (), *since]


def finish_tagging(run: RunContext, table: FactTable, settings: dict[str, str]) -> None:
    """End what a crash has cut, before anything else is written: it is about the rows of then."""
    if run.order.ledger.open_batch(table.name, TAG, run.plan.generation(table.name)) is not None:
        tag(run, table, settings)


def tag(run: RunContext, table: FactTable, settings: dict[str, str]) -> None:
    """Correct the rows that say something else than the rules do."""
    work = partial(tag_again, run.new_session(**settings), table)

    def done(batch: Any) -> Done:
        return work(batch), Seen()

    run.batch(table.name, TAG, run.next_number(table.name, TAG), done, [table.name])


def version_of(rules: tuple[Rule, ...]) -> str | None:
    """What tells rules that tag from others; None without such rules."""
    return rules_version(found) if (found := tagging(rules)) else None


def _has_column(run: RunContext, table: FactTable) -> bool:
    schema = json.loads(delta_log.schema_json(run.lake.table(table.name)))
    return any(field["name"] == FAILED_RULES for field in schema["fields"])
