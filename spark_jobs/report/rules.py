"""What the rules of a run's tables found, the gates that did not pass, and what people decided about them."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from spark_jobs.config.expectation_types import CUSTOM_SQL
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sensitive import MASK, sensitive_columns
from spark_jobs.lake.blocked import Grounds
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.scan import read_where
from spark_jobs.lake.sequence import MARKER, read_ordered
from spark_jobs.report.account import REENRICH
from spark_jobs.report.facts import DecisionFact, GateFact, Point, RuleFact, RuleFound, RuleState, Run
from spark_jobs.report.text import count, cut
from spark_jobs.report.words import say_expectation

# The gates of a run: batches that did not simply pass, and what people decided about them.

BATCH = ["run_id", "table", "step", "generation", "batch"]
GATE = [*BATCH, "judged_at", "verdict", "rows", "failed", "grounds"]
PASSED = "passed"
REASON_LENGTH = 500


def collect_decisions(
    lake: Lake, run_id: str, gates: Sequence[Mapping[str, Any]]
) -> tuple[DecisionFact, ...]:
    """Every decision about the batches of this run that did not simply pass, also one
    that was taken later.
    """
    return _decisions(lake, run_id, {_batch_id(row) for row in gates if row["verdict"] != PASSED})


def _decisions(lake: Lake, run_id: str, batches: Collection[tuple[Any, ...]]) -> tuple[DecisionFact, ...]:
    rows = read_ordered(lake, "decisions", [*BATCH, "decided_at", "action", "decided_by", "reason"])
    mine = [row for row in rows if row["run_id"] == run_id or _batch_id(row) in batches]
    return tuple(
        DecisionFact(
            row["table"],
            row["batch"],
            row["action"],
            cut(row["decided_by"] or ""),
            cut(row["reason"] or "", REASON_LENGTH),
            row["decided_at"],
        )
        for row in mine
    )


def gate_of(row: Mapping[str, Any]) -> GateFact:
    failed = tuple(cut(name) for name in json.loads(row["failed"] or "[]"))
    grounds = Grounds.of_json(row.get("grounds"))
    seen = grounds.id if grounds else None
    return GateFact(
        row["table"], row["batch"], row["verdict"], row["rows"] or 0, failed, row["judged_at"], seen
    )


def _batch_id(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in BATCH[1:])


# What the rules of a run's tables found, with their words and their trend.

COLUMNS = [
    "run_id", "table", "judged_at", "rules", "rule", "type", "columns", "on_fail", "severity", "reason",
    "scope", "is_met", "rows", "failed", "observed", "problem",
]  # fmt: skip
FOUND = ["run_id", "table", "rule", "type", "on_fail", "scope", "is_met", "rows", "failed", "problem"]
"""What a judgement says without its words."""
TEXT_LENGTH = 500
OBSERVED_LENGTH = 200
ORDER = list(RuleState)[::-1]
"""What needs a look comes first."""
Row = Mapping[str, Any]


def rules_of_tables(
    pipeline: Pipeline, lake: Lake, run: Run, history: Sequence[Run]
) -> dict[str, tuple[RuleFact, ...]]:
    """Per table the rules that this run judged, those that were not met first."""
    rows = once_each(
        read_ordered(
            lake, "expectations", [*COLUMNS, *MARKER], {"run_id": [known.run_id for known in history]}
        )
    )
    by_rule: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        by_rule[row["table"], row["rule"]].append(row)
    arguments = _arguments(
        lake, {row["rules"] for row in rows if row["run_id"] == run.run_id and row["rules"]}
    )
    found: dict[str, list[RuleFact]] = defaultdict(list)
    for (table, rule), judged in by_rule.items():
        mine = [row for row in judged if row["run_id"] == run.run_id]
        if mine:
            known = arguments.get((mine[-1]["rules"], table, rule), {})
            hidden = sensitive_columns(pipeline, table)
            is_hidden = any(name.strip() in hidden for name in (mine[-1]["columns"] or "").split(","))
            found[table].append(_rule(counting(mine), known, _trend(judged, history), is_hidden))
    return {
        table: tuple(sorted(rules, key=lambda rule: (ORDER.index(rule.state), rule.name)))
        for table, rules in found.items()
    }


def once_each(rows: Iterable[Row]) -> list[Row]:
    """What a rule found in a batch in a run, once, however often it was written down: the last says it. The
    newest is last.
    """
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = (row["run_id"], row["rule"], *(row[name] for name in MARKER))
        found.pop(key, None)
        found[key] = row
    return list(found.values())


def found_rules(rows: Iterable[Row]) -> tuple[RuleFound, ...]:
    """What the rules of one table found in one run, without their words."""
    by_rule: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_rule[row["rule"]].append(row)
    return tuple(_found(counting(judged)) for judged in by_rule.values())


def counting(rows: Sequence[Row]) -> Sequence[Row]:
    """The judgements of a rule in one run that count. A batch is judged by its own rows, so all batches do; a
    correction by a dimension judges rows once more, and counts where nothing else was found. The whole table
    is judged again in each step of a run: the newest judgement is about what is in the table now, and the
    ones before it are over.
    """
    if rows[-1]["scope"] == "table":
        return rows[-1:]
    own = [row for row in rows if not row["step"].startswith(REENRICH)]
    again = [row for row in rows if row["step"].startswith(REENRICH)][-1:]
    return own if own and (not _is_met(own) or _is_met(again)) else again


def _is_met(rows: Sequence[Row]) -> bool:
    return all(state_of(row) is RuleState.MET for row in rows)


def _found(rows: Sequence[Row]) -> RuleFound:
    worst = max((state_of(row) for row in rows), key=list(RuleState).index)
    if _found_by_query(rows):
        return RuleFound(cut(rows[-1]["rule"]), worst, None, None)
    return RuleFound(
        cut(rows[-1]["rule"]), worst, _add(row["rows"] for row in rows), _add(row["failed"] for row in rows)
    )


def _found_by_query(rows: Sequence[Row]) -> int:
    """The rows that the query of a custom rule gave. They need not be rows of the table: it may count or add
    up.
    """
    return (_add(row["failed"] for row in rows) or 0) if rows[-1]["type"] == CUSTOM_SQL else 0


def state_of(row: Row) -> RuleState:
    """A rule that set rows aside or tagged them did its work; any other rule that is not met says so by what
    it is for.
    """
    if row["problem"]:
        return RuleState.PROBLEM
    if row["on_fail"] == "quarantine":
        return RuleState.SET_ASIDE if row["failed"] else RuleState.MET if row["is_met"] else RuleState.PROBLEM
    if row["is_met"]:
        return RuleState.MET
    if row["on_fail"] == "tag":
        return RuleState.TAGGED
    return RuleState.BLOCKING if row["on_fail"] == "block" else RuleState.WARNING


def _rule(
    rows: Sequence[Row], arguments: Mapping[str, Any], trend: tuple[Point, ...], is_hidden: bool
) -> RuleFact:
    last, found = rows[-1], _found(rows)
    problem = next((row["problem"] for row in rows if row["problem"]), None)
    observed = next((row["observed"] for row in reversed(rows) if row["observed"]), None)
    shown = observed and (MASK if is_hidden else cut(observed, OBSERVED_LENGTH))
    if by_query := _found_by_query(rows):
        shown = f"{count(by_query, 'row')} of its query"
    return RuleFact(
        name=found.name,
        state=found.state,
        rows=found.rows,
        failed=found.failed,
        sentence=cut(say_expectation(last["type"] or "", arguments or _columns_alone(last)), TEXT_LENGTH),
        reason=cut(last["reason"] or "", TEXT_LENGTH),
        on_fail=last["on_fail"] or "",
        severity=last["severity"] or "",
        scope=last["scope"] or "batch",
        columns=cut(last["columns"] or "", TEXT_LENGTH),
        observed=shown,
        problem=problem
        and (
            "it could not be judged; details are in the run's log" if is_hidden else cut(problem, TEXT_LENGTH)
        ),
        trend=trend,
    )


def _trend(rows: Iterable[Row], history: Sequence[Run]) -> tuple[Point, ...]:
    by_run: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_run[row["run_id"]].append(row)
    found = [(run, _found(counting(mine))) for run in history if (mine := by_run.get(run.run_id))]
    return tuple(
        Point(run.run_id, run.started_at, known.rows, known.failed, known.state is RuleState.MET)
        for run, known in found
    )


def _arguments(lake: Lake, versions: set[str]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """What the rules were given, by version, table and name."""
    found = {}
    for row in (
        read_where(lake.ledger("rules"), ["rules", "table", "definition"], {"rules": versions})
        if versions
        else []
    ):
        for rule in _definitions(row["definition"]):
            found[row["rules"], row["table"], str(rule.get("name"))] = dict(rule.get("kwargs") or {})
    return found


def _definitions(text: str | None) -> list[dict[str, Any]]:
    known = json.loads(text or "[]")
    rules = [{"name": name, **rule} for name, rule in known.items()] if isinstance(known, dict) else known
    return [rule for rule in rules if isinstance(rule, dict)]


def _columns_alone(row: Row) -> dict[str, Any]:
    columns = [name for name in (row["columns"] or "").split(",") if name]
    return {"column": columns[0]} if len(columns) == 1 else {"column_list": columns} if columns else {}


def _add(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
