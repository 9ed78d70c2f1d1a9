"""The gate of a batch: Great Expectations judges the rows that are about to be published, and what it finds is written down first.

A verdict is given once. A batch that has passed is not asked again when a crash has it done again; one that was held has written nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame

from spark_jobs.config.expectations import Rule, rules_version
from spark_jobs.lake.gate import Candidate
from spark_jobs.lake.ledger import BatchId
from spark_jobs.lake.verdicts import ASIDE, BLOCKED, PASSED, RELEASE, RELEASED, SET_ASIDE, Decision, Verdict, Verdicts
from spark_jobs.quality.result import RuleResult

Judge = Callable[[DataFrame, Sequence[Rule], Callable[[], DataFrame], int], list[RuleResult]]
"""Great Expectations' verdict: of the rows, by these rules, with the table as it will be, and the number of rows."""


class Blocked(Exception):
    """Rules that block did not hold. Nothing of the batch was written, and readers keep what they have."""

    def __init__(self, batch_id: BatchId, rows: int, failed: Sequence[RuleResult]) -> None:
        self.table, self.step, _, self.number = batch_id
        self.rows, self.failed = rows, tuple(failed)
        found = "; ".join(f"{result.rule.name} ({say_finding(result)})" for result in failed)
        super().__init__(f"{self.table}: {rows:,} rows are held and none is published, because of {found}")


class NotJudged(Exception):
    """Great Expectations could not answer for rules without which nothing may be published. Nothing of the batch was."""

    def __init__(self, table: str, unanswered: Sequence[RuleResult]) -> None:
        self.table, self.unanswered = table, tuple(unanswered)
        named = "; ".join(f"{result.rule.name}: {result.problem}" for result in unanswered)
        super().__init__(f"{table}: nothing is published, because rules could not be judged: {named}")


class SplitDisagrees(Exception):
    """Great Expectations found rows that the rules for single rows had let pass. Nothing of the batch was published."""

    def __init__(self, table: str, failed: Sequence[RuleResult]) -> None:
        self.table, self.failed = table, tuple(failed)
        named = ", ".join(f"{result.rule.name} ({say_finding(result)})" for result in failed)
        super().__init__(f"{table}: rows that should be in quarantine were about to be published: {named}; please report this as a defect")


@dataclass(frozen=True)
class BatchGate:
    """`decision` is what a person said of this batch after it had been held."""

    run_id: str
    batch_id: BatchId
    begun_at: datetime
    rules: tuple[Rule, ...]
    verdicts: Verdicts
    decision: Decision | None
    judge_rows: Judge
    warn: Callable[[str], None]

    @property
    def held_for(self) -> tuple[str, ...]:
        return self.decision.failed if self.decision and self.decision.action == ASIDE else ()

    def judge(self, candidate: Candidate) -> None:
        """Blocked unless every rule that blocks holds for the rows, or a person has let them pass; NotJudged where that cannot be said."""
        known = self.verdicts.of(self.batch_id, self.begun_at)
        if known is not None and known.verdict != BLOCKED:
            return
        results, judged_at, version = self._results(candidate), datetime.now(UTC), rules_version(self.rules)
        self.verdicts.write_findings(self.run_id, self.batch_id, [_row(result, judged_at, version) for result in results])
        for result in (found for found in results if found.rule.on_fail == "warn" and not found.is_met):
            self.warn(f"{self.batch_id[0]}: {result.rule.name} is not met ({say_finding(result)}): {result.rule.reason}")
        blocking = [result for result in results if result.rule.on_fail == "block" and not result.is_met]
        if unanswered := [result for result in blocking if result.problem is not None]:
            raise NotJudged(self.batch_id[0], unanswered)
        released = self.decision.failed if self.decision and self.decision.action == RELEASE else ()
        held = [result for result in blocking if result.rule.name not in released]
        verdict = BLOCKED if held else RELEASED if blocking else SET_ASIDE if self.held_for else PASSED
        names = tuple(result.rule.name for result in blocking)
        self.verdicts.write(Verdict(self.run_id, self.batch_id, judged_at, self.begun_at, verdict, names), version, candidate.count)
        if held:
            raise Blocked(self.batch_id, candidate.count, held)

    def _results(self, candidate: Candidate) -> list[RuleResult]:
        """One per rule. Where nothing is about to be published there is nothing to judge but what was set aside."""
        asked = [rule for rule in self.rules if not (candidate.has_older and rule.on_fail == "quarantine")]
        found = self.judge_rows(candidate.rows, asked, candidate.whole, candidate.count) if candidate.count and asked else []
        missed = [result for result in found if result.rule.on_fail == "quarantine" and not result.is_met]
        if unanswered := [result for result in missed if result.problem is not None]:
            raise NotJudged(self.batch_id[0], unanswered)
        if missed:
            raise SplitDisagrees(self.batch_id[0], missed)
        by_name = {result.rule.name: result for result in found}
        results = []
        for rule in self.rules:
            if rule.on_fail == "quarantine" and candidate.asked:
                failed = candidate.failed.get(rule.name, 0)
                results.append(RuleResult(rule, is_met=failed == 0, rows=candidate.asked, failed=failed))
            elif rule.name in by_name:
                results.append(by_name[rule.name])
        return results


def say_finding(result: RuleResult) -> str:
    """What a rule found, in a few words and without any row's value."""
    if result.problem is not None:
        return f"it could not be judged: {result.problem}"
    if result.failed is not None and result.rows:
        return f"{result.failed:,} of {result.rows:,} rows, {result.failed / result.rows:.1%}"
    return f"found {result.observed}" if result.observed is not None else "it does not hold"


def _row(result: RuleResult, judged_at: datetime, version: str) -> dict[str, Any]:
    """For the ledger."""
    rule = result.rule
    said = {"rule": rule.name, "type": rule.type, "columns": ", ".join(rule.columns), "on_fail": rule.on_fail, "scope": rule.scope}
    found = {"is_met": result.is_met, "rows": result.rows, "failed": result.failed, "observed": result.observed, "problem": result.problem}
    return {"judged_at": judged_at, "rules": version, **said, "severity": rule.severity, "reason": rule.reason, **found}
