"""The gate of a batch: Great Expectations judges the rows that are about to be published, and what it finds
is written down first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.expectation_types import CUSTOM_SQL
from spark_jobs.config.expectations import FAILED_RULES, Rule, rules_version, tagging
from spark_jobs.config.own_rules import MAY_END, is_within
from spark_jobs.config.text import count
from spark_jobs.lake.blocked import ASIDE, HOLD, RELEASE, Finding, Grounds, hide
from spark_jobs.lake.gate import Candidate
from spark_jobs.lake.ledger_batches import BatchId
from spark_jobs.lake.verdicts import BLOCKED, PASSED, RELEASED, SET_ASIDE, Decision, Verdict, Verdicts
from spark_jobs.quality.result import RuleResult

Judge = Callable[[DataFrame, Sequence[Rule], Callable[[], DataFrame], int], list[RuleResult]]
"""Great Expectations' verdict: of the rows, by these rules, with the table as it will be, and the number of
rows.
"""


class Blocked(Exception):
    """Rules that block did not hold. Nothing of the batch was written, and readers keep what they have.
    `stopped` is the decision of a person who has seen the same and left it blocked.
    """

    def __init__(
        self,
        batch_id: BatchId,
        failed: Sequence[RuleResult],
        grounds: Grounds,
        note: str = "",
        stopped: Decision | None = None,
    ) -> None:
        self.table, self.step, _, self.number = batch_id
        self.rows, self.failed, self.grounds, self.stopped = grounds.rows, tuple(failed), grounds, stopped
        found = "; ".join(map(name_finding, failed))
        rules = "failed rule" if len(failed) == 1 else "failed rules"
        what = (
            f"batch blocked, {count(self.rows, 'row')} not published"
            if self.rows
            else "batch blocked, which only removes rows"
        )
        super().__init__(f"{self.table}: {what}; {rules}: {found}{note}")


class SetAside(Exception):
    """A person has decided that the rows of this batch go into quarantine. Nothing of it was written: it is
    done again so.
    """

    def __init__(self, failed: Sequence[str]) -> None:
        self.failed = tuple(failed)
        super().__init__(f"its rows go into quarantine, because of {', '.join(failed)}")


class NotJudged(Exception):
    """Great Expectations could not answer for rules without which nothing may be published. Nothing of the
    batch was.
    """

    def __init__(self, table: str, unanswered: Sequence[RuleResult]) -> None:
        self.table, self.unanswered = table, tuple(unanswered)
        named = "; ".join(f"{result.rule.name}: {result.problem}" for result in unanswered)
        super().__init__(f"{table}: nothing is published, because rules could not be judged: {named}")


class SplitDisagrees(Exception):
    """Great Expectations found rows that the rules for single rows had let pass. Nothing of the batch was
    published.
    """

    def __init__(self, table: str, failed: Sequence[RuleResult]) -> None:
        self.table, self.failed = table, tuple(failed)
        named = ", ".join(map(name_finding, failed))
        super().__init__(
            f"{table}: rows that should be in quarantine were about to be published: {named}; please report"
            " this as a defect"
        )


@dataclass(frozen=True)
class BatchGate:
    """`decision` is what a person said of this batch after it had been blocked; it holds only for what was
    seen then. `blocked_for` is there where the rows of the batch go into quarantine, as decided.
    """

    run_id: str
    batch_id: BatchId
    begun_at: datetime
    inputs: Mapping[str, Any]
    rules: tuple[Rule, ...]
    verdicts: Verdicts
    decision: Decision | None
    judge_rows: Judge
    warn: Callable[[str], None]
    note: Callable[[RuleResult], None]
    blocked_for: tuple[str, ...] = ()

    def judge(self, candidate: Candidate) -> None:
        """Blocked unless every rule that blocks holds for the rows, or a person has let them pass; NotJudged
        where that cannot be said. SetAside where a person has decided that they go into quarantine.
        """
        known = self.verdicts.of(self.batch_id, self.begun_at)
        if known is not None and known.verdict != BLOCKED:
            return
        results, judged_at, version = self._results(candidate), datetime.now(UTC), rules_version(self.rules)
        blocking = [result for result in results if result.rule.on_fail == "block" and not result.is_met]
        if unanswered := [result for result in blocking if result.problem is not None]:
            self._note(results, judged_at, version)
            raise NotJudged(self.batch_id[0], unanswered)
        decided = (
            self.decision
            if self.decision and self.decision.action in (RELEASE, ASIDE) and not self.blocked_for
            else None
        )
        is_aside = decided is not None and decided.action == ASIDE
        grounds = self._grounds(candidate, blocking) if blocking or is_aside else None
        holds = (
            decided is not None
            and decided.grounds is not None
            and grounds is not None
            and decided.grounds.covers(grounds)
        )
        if decided is not None and is_aside and holds:
            raise SetAside(decided.failed)
        self._note(results, judged_at, version)
        verdict = (
            SET_ASIDE if self.blocked_for else PASSED if not blocking else RELEASED if holds else BLOCKED
        )
        names = tuple(result.rule.name for result in blocking)
        kept = grounds if verdict in (BLOCKED, RELEASED) else None
        self.verdicts.write(
            Verdict(self.run_id, self.batch_id, judged_at, self.begun_at, verdict, names, kept),
            version,
            candidate.count,
        )
        unheeded = (
            say_unheeded(decided, grounds)
            if decided is not None and grounds is not None and not holds
            else None
        )
        if verdict == BLOCKED and grounds is not None:
            raise Blocked(
                self.batch_id,
                blocking,
                grounds,
                f"; {unheeded}: decide again" if unheeded else "",
                self._stopped(grounds),
            )
        if unheeded:
            self.warn(f"{self.batch_id[0]}: its rules hold, and it is published; {unheeded}")

    def _stopped(self, grounds: Grounds) -> Decision | None:
        """The newest decision, where it leaves exactly this blocked."""
        known = self.decision.grounds if self.decision and self.decision.action == HOLD else None
        return self.decision if known and known.id == grounds.id else None

    def _note(self, results: Sequence[RuleResult], judged_at: datetime, version: str) -> None:
        """Write down what the rules found, and note those that block nothing: what is not met of them is said
        when the table is done.
        """
        self.verdicts.write_findings(
            self.run_id, self.batch_id, [_row(result, judged_at, version) for result in results]
        )
        for result in (found for found in results if found.rule.on_fail == "warn"):
            self.note(result)

    def _grounds(self, candidate: Candidate, blocking: Sequence[RuleResult]) -> Grounds:
        content = candidate.fingerprint()
        found = (
            Finding(one.rule.name, one.rows, one.failed, one.observed, hide(one.hidden, content))
            for one in blocking
        )
        return Grounds(content, candidate.count, tuple(found), self.inputs)

    def _results(self, candidate: Candidate) -> list[RuleResult]:
        """One per rule. A batch that only removes rows changes the table as well: then all is asked but the
        rules for single rows. Where the table stays as it is, there is nothing to judge but what was set
        aside.
        """
        is_row_asked = candidate.count > 0 and not candidate.has_older
        others = [rule for rule in self.rules if rule.on_fail != "tag" and rule.type != MAY_END]
        asked = [rule for rule in others if is_row_asked or rule.on_fail != "quarantine"]
        is_changed = bool(asked) and (candidate.count > 0 or candidate.removes())
        found = self.judge_rows(candidate.rows, asked, candidate.whole, candidate.count) if is_changed else []
        missed = [result for result in found if result.rule.on_fail == "quarantine" and not result.is_met]
        if unanswered := [result for result in missed if result.problem is not None]:
            raise NotJudged(self.batch_id[0], unanswered)
        if missed:
            raise SplitDisagrees(self.batch_id[0], missed)
        by_name = {result.rule.name: result for result in [*found, *count_tagged(candidate, self.rules)]}
        results = []
        for rule in self.rules:
            if rule.on_fail == "quarantine" and candidate.asked:
                failed = candidate.failed.get(rule.name, 0)
                results.append(RuleResult(rule, is_met=failed == 0, rows=candidate.asked, failed=failed))
            elif rule.type == MAY_END and candidate.ended is not None:
                ended, stood = candidate.ended
                is_met = is_within(rule.kwargs["may_end"], ended, stood)
                results.append(RuleResult(rule, is_met, rows=stood, failed=ended))
            elif rule.name in by_name:
                results.append(by_name[rule.name])
        return results


def count_tagged(candidate: Candidate, rules: Sequence[Rule]) -> list[RuleResult]:
    """How many of the rows say of each rule that tags that they do not meet it. Their own word counts: what
    Great Expectations cannot judge, as a condition that fails on a row, is a tag as well.
    """
    asked = tagging(rules) if FAILED_RULES in candidate.rows.columns and candidate.count else ()
    if not asked:
        return []
    failed = candidate.rows.agg(*(F.count_if(F.array_contains(FAILED_RULES, rule.name)) for rule in asked))
    return [
        RuleResult(rule, is_met=count == 0, rows=candidate.count, failed=count)
        for rule, count in zip(asked, failed.collect()[0], strict=True)
    ]


def say_finding(result: RuleResult) -> str:
    """What a rule found, in a few words and without any row's value; nothing where it found no more than that
    it is not met.
    """
    if result.problem is not None:
        return f"it could not be judged: {result.problem}"
    if result.rule.type == MAY_END:
        may_end = result.rule.kwargs["may_end"]
        return (
            f"a snapshot ends {result.failed:,} of {count(result.rows or 0, 'member')}, and may end {may_end}"
        )
    if result.failed and result.rule.type == CUSTOM_SQL:  # they need not be rows of the batch
        return f"its query found {count(result.failed, 'row')}"
    if result.failed is not None and result.rows:
        return f"{result.failed:,} of {count(result.rows, 'row')}, {result.failed / result.rows:.1%}"
    return f"found {result.observed}" if result.observed is not None else ""


def name_finding(result: RuleResult) -> str:
    """The rule, and what it found where that says more than that it is not met."""
    found = say_finding(result)
    return f"{result.rule.name} ({found})" if found else result.rule.name


def say_unheeded(decision: Decision, now: Grounds) -> str:
    """Why a decision does not hold for a batch."""
    who = f"{'release' if decision.action == RELEASE else 'set-aside'} by {decision.decided_by}"
    if decision.grounds is None:
        return (
            f"the {who} was recorded by an earlier version of Weir, which did not keep what was seen, and"
            " does not hold"
        )
    return f"the {who} was about something else and does not hold ({decision.grounds.changes_to(now)})"


def _row(result: RuleResult, judged_at: datetime, version: str) -> dict[str, Any]:
    """For the ledger."""
    rule = result.rule
    said = {
        "rule": rule.name,
        "type": rule.type,
        "columns": ", ".join(rule.columns),
        "on_fail": rule.on_fail,
        "scope": rule.scope,
    }
    found = {
        "is_met": result.is_met,
        "rows": result.rows,
        "failed": result.failed,
        "observed": result.observed,
        "problem": result.problem,
    }
    return {
        "judged_at": judged_at,
        "rules": version,
        **said,
        "severity": rule.severity,
        "reason": rule.reason,
        **found,
    }
