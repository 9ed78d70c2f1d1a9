"""The ledger's part about quality. rules: what the expectation files said, by version. expectations: what
each rule found in each batch. gates: the verdict on each batch, written before anything of it is published.
decisions: what a person decided about a batch that was blocked, or about rows in quarantine.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any

from spark_jobs.config.expectations import Rule, rules_version
from spark_jobs.lake.blocked import Grounds
from spark_jobs.lake.failpoints import reach
from spark_jobs.lake.ledger import Ledger, batch_columns
from spark_jobs.lake.ledger_batches import BatchId, batch_id_of, is_numbered_by_version

PASSED, BLOCKED, RELEASED, SET_ASIDE = "passed", "blocked", "released", "set_aside"
"""Verdicts on a batch: it may be published; it is blocked; a person let it pass; a person put its rows into
quarantine.
"""


@dataclass(frozen=True)
class Verdict:
    """On a batch that began at this time. `failed` are the blocking rules that did not hold; `grounds`: what
    a person sees of it.
    """

    run_id: str
    batch_id: BatchId
    judged_at: datetime
    begun_at: datetime
    verdict: str
    failed: tuple[str, ...] = ()
    grounds: Grounds | None = None


@dataclass(frozen=True)
class Decision:
    """What a person decided; of a blocked batch, for these rules and about what was seen of it. An earlier
    version kept no grounds.
    """

    batch_id: BatchId
    action: str
    failed: tuple[str, ...]
    decided_by: str
    reason: str
    grounds: Grounds | None = None


@dataclass
class Verdicts:
    """Of one pipeline, through its ledger. Several tables of a run are judged at the same time."""

    ledger: Ledger
    _known: list[Verdict] | None = None
    _lock: Lock = field(default_factory=Lock)

    def all(self) -> list[Verdict]:
        """The newest last."""
        with self._lock:
            if self._known is None:
                self._known = list(map(_verdict, self.ledger.ordered("gates")))
            return list(self._known)

    def of(self, batch_id: BatchId, begun_at: datetime) -> Verdict | None:
        """On the batch as it was begun at this time."""
        return next(
            (row for row in reversed(self.all()) if (row.batch_id, row.begun_at) == (batch_id, begun_at)),
            None,
        )

    def seen(self, table: str, grounds_id: str) -> Grounds | None:
        """What was seen of a blocked batch of this table, by its id."""
        known = (
            row.grounds
            for row in reversed(self.all())
            if row.batch_id[0] == table and row.grounds is not None
        )
        return next((grounds for grounds in known if grounds.id == grounds_id), None)

    def was_blocked(self, batch_id: BatchId) -> bool:
        """Whether the batch, as it was last begun, was blocked: then it has written nothing."""
        intent = self.ledger.intent(batch_id)
        found = self.of(batch_id, intent.begun_at) if intent else None
        return found is not None and found.verdict == BLOCKED

    def blocked(self, table: str, generation: int) -> Verdict | None:
        """The verdict on the batch of this table that is blocked now. A rebuild that was blocked is of
        another generation, and is over.
        """
        mine = [row for row in self.all() if (row.batch_id[0], row.batch_id[2]) == (table, generation)]
        return (
            mine[-1]
            if mine and mine[-1].verdict == BLOCKED and not self.ledger.is_over(mine[-1].batch_id)
            else None
        )

    def write(self, verdict: Verdict, rules: str, rows: int) -> None:
        """Say whether a batch may be published, before anything of it is."""
        table, step = verdict.batch_id[:2]
        reach("gate.before", table, step)
        self.all()
        row = {
            "judged_at": verdict.judged_at,
            "begun_at": verdict.begun_at,
            "rules": rules,
            "verdict": verdict.verdict,
            "rows": rows,
        }
        why = {
            "failed": json.dumps(verdict.failed),
            "grounds": verdict.grounds.as_json() if verdict.grounds else None,
        }
        self.ledger.append("gates", [{**batch_columns(verdict.run_id, verdict.batch_id), **row, **why}])
        with self._lock:
            self._known = [*(self._known or ()), verdict]
        reach("gate.after", table, step)

    def write_findings(self, run_id: str, batch_id: BatchId, rows: Iterable[Mapping[str, Any]]) -> None:
        """What each rule found in a batch."""
        if found := [{**batch_columns(run_id, batch_id), **row} for row in rows]:
            self.ledger.append("expectations", found)

    def decision(self, batch_id: BatchId) -> Decision | None:
        """The newest one about this batch, or about one whose place it takes."""
        rows = [
            row for row in self.ledger.ordered("decisions") if self._is_same_work(batch_id_of(row), batch_id)
        ]
        return _decision(rows[-1]) if rows else None

    def _is_same_work(self, before: BatchId, now: BatchId) -> bool:
        """Whether this is a batch, or one that was not done and whose place it takes: the version that gave
        that its number has moved since, as by upkeep, or by a write that a crash cut off its marker.
        """
        if before[:3] != now[:3] or not is_numbered_by_version(now[1]):
            return before == now
        return self.ledger.last_number(*now[:3]) < before[3] <= now[3]

    def decide(self, run_id: str, decision: Decision, decided_at: datetime) -> None:
        row = {"decided_at": decided_at, "action": decision.action, "rules": json.dumps(decision.failed)}
        who = {"decided_by": decision.decided_by, "reason": decision.reason}
        who |= {"grounds": decision.grounds.as_json()} if decision.grounds else {}
        self.ledger.append("decisions", [{**batch_columns(run_id, decision.batch_id), **row, **who}])

    def note_rules(self, table: str, rules: Sequence[Rule]) -> bool:
        """Keep what these rules say, by their version; whether the table's rows so far were judged by others.
        Those that tag do not count: by these the rows that are there follow.
        """
        newest, fresh = self._newest_rules(table, rules), _rules_row(table, rules)
        if newest is None and not rules:
            return False
        if newest is None or newest["rules"] != fresh["rules"]:
            self.ledger.append("rules", [fresh])
        return newest is not None and _judging(newest) != _judging(fresh)

    def keep_rules(self, table: str, rules: Sequence[Rule]) -> None:
        """Keep what these rules say, for rows that no reader sees yet: the rules of those that are there stay
        the newest. Both are one commit: a crash between two would make the new ones the newest.
        """
        newest, fresh = self._newest_rules(table, rules), _rules_row(table, rules)
        if newest is None:
            self.note_rules(table, rules)
        elif newest["rules"] != fresh["rules"]:
            again = {**newest, "noted_at": fresh["noted_at"] + timedelta(microseconds=1)}
            self.ledger.append("rules", [fresh, again])

    def _newest_rules(self, table: str, now: Sequence[Rule]) -> dict[str, Any] | None:
        """What the rows that are there were judged by last: by no rule where they came before the first
        one.
        """
        noted = [row for row in self.ledger.ordered("rules") if row["table"] == table]
        if not noted and now and any(self.ledger.newest_batches(table)):
            return _rules_row(table, ())
        return noted[-1] if noted else None

    def noted(self, table: str) -> list[tuple[datetime, tuple[Rule, ...]]]:
        """The rules that rows of a table were ever judged by, the oldest first, with when they were noted."""
        return [
            (row["noted_at"], _rules_of(row["definition"]))
            for row in self.ledger.ordered("rules")
            if row["table"] == table
        ]

    def rules(self, table: str, version: str) -> tuple[Rule, ...]:
        """The rules of a table by their version."""
        found = next(
            row for row in self.ledger.rows("rules") if (row["table"], row["rules"]) == (table, version)
        )
        return _rules_of(found["definition"])


def _rules_of(definition: str) -> tuple[Rule, ...]:
    return tuple(Rule.of_dict(rule) for rule in json.loads(definition))


def _judging(row: Mapping[str, Any]) -> str:
    return rules_version(rule for rule in _rules_of(row["definition"]) if rule.on_fail != "tag")


def _rules_row(table: str, rules: Sequence[Rule]) -> dict[str, Any]:
    definition = json.dumps([rule.as_dict() for rule in rules], sort_keys=True)
    return {
        "rules": rules_version(rules),
        "table": table,
        "noted_at": datetime.now(UTC),
        "definition": definition,
    }


def _verdict(row: Mapping[str, Any]) -> Verdict:
    failed, grounds = tuple(json.loads(row["failed"])), Grounds.of_json(row.get("grounds"))
    return Verdict(
        row["run_id"], batch_id_of(row), row["judged_at"], row["begun_at"], row["verdict"], failed, grounds
    )


def _decision(row: Mapping[str, Any]) -> Decision:
    rules, grounds = tuple(json.loads(row["rules"])), Grounds.of_json(row.get("grounds"))
    return Decision(batch_id_of(row), row["action"], rules, row["decided_by"], row["reason"], grounds)
