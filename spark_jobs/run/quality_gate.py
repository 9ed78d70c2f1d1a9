"""The gate of a batch: Great Expectations judges the rows that are about to be published, and what it finds
is written down first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.config.columns import ANY, aggregate_columns
from spark_jobs.config.expectation_types import CUSTOM_SQL
from spark_jobs.config.expectations import Rule, rules_version
from spark_jobs.config.graph import tables_read_by
from spark_jobs.config.names import name_at_home
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sensitive import MASK, sensitive_columns
from spark_jobs.config.text import count
from spark_jobs.lake import tables
from spark_jobs.lake.blocked import ASIDE, HOLD, RELEASE, Finding, Grounds, hide
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.gate import Candidate
from spark_jobs.lake.ledger import BatchId
from spark_jobs.lake.verdicts import BLOCKED, PASSED, RELEASED, SET_ASIDE, Decision, Verdict, Verdicts
from spark_jobs.quality.result import RuleResult
from spark_jobs.run.plan import Plan
from spark_jobs.silver.fact_table import dimension_ddl, silver_ddl
from spark_jobs.silver.strict_sql import ansi

# What Great Expectations is given beside a batch: the other tables that rules read, the newest arrival, and
# how large batches were.


def judge_rows(
    plan: Plan,
    batch_id: BatchId,
    inputs: Mapping[str, Any],
    rows: DataFrame,
    rules: Sequence[Rule],
    whole: Callable[[], DataFrame],
    count: int,
) -> list[RuleResult]:
    """The verdict on the rows of this batch. Other tables are read as they are now, each at one version;
    those of other pipelines at the version that the batch reads (`inputs`), or the run. A table that is not
    there yet is empty.
    """
    # takes seconds to import: only where there are rules
    from spark_jobs.quality.evaluate import Surroundings, judge

    table, step, generation, _ = batch_id
    others = dict.fromkeys(name for rule in rules for name in tables_read_by(rule, plan.pipeline.upstream))
    done = [Counts.of_row(row) for row in plan.ledger.batches(table, generation) if row["step"] == step]
    versions = {name: plan.version(name) for name in others} | {
        name: inputs[name] for name in others if name in plan.others and name in inputs
    }
    frames = {
        name: _frame(rows.sparkSession, plan, name, version, rules) for name, version in versions.items()
    }
    around = Surroundings(
        tables={name: frame for name, frame in frames.items() if frame is not None},
        clock=plan.clock(),
        history=[counts.published for counts in done if counts.published],
    )
    table_rows = whole() if any(rule.scope == "table" for rule in rules) else None
    # else a condition or a sum that fails on a row would be NULL, and its rule would hold
    with ansi(rows.sparkSession):
        found = judge(rows, rules, around, table_rows, count)
    return [
        masked(result) if tells_of_sensitive(plan.pipeline, table, result.rule, plan.conf) else result
        for result in found
    ]


def _frame(
    spark: SparkSession, plan: Plan, name: str, version: int | None, rules: Sequence[Rule]
) -> DataFrame | None:
    """A table that rules read. Of one that is not there yet None, where not even its columns can be told: as
    of one made by Python.
    """
    if version is not None:
        return tables.read(spark, plan.lake.table(name), version)
    home, (layer, _, short) = plan.pipeline.home_of(name), name_at_home(name).partition(".")
    if home is None:
        return None
    if layer == "dimension":
        return spark.createDataFrame([], dimension_ddl(home.dimensions[short]))
    if layer == "silver":
        return spark.createDataFrame([], silver_ddl(home, short))
    gold = home.gold[short]
    known = (
        aggregate_columns(home, gold)
        if gold.from_ or gold.join
        else dict.fromkeys(_compared(name, rules), ANY)
    )
    columns = ", ".join(f"`{column}` {'void' if kind == ANY else kind}" for column, kind in known.items())
    return spark.createDataFrame([], columns) if columns else None


def _compared(name: str, rules: Sequence[Rule]) -> list[str]:
    """The columns of another table that rules name as their arguments."""
    return list(
        dict.fromkeys(
            column
            for rule in rules
            if rule.kwargs.get("other_table") == name
            for column in compared_columns(rule)
        )
    )


def compared_columns(rule: Rule) -> list[str]:
    """The columns of the other table that a rule names."""
    one = rule.kwargs.get("other_column")
    return rule.kwargs.get("other_column_list") or ([one] if one else [])


def tells_of_sensitive(pipeline: Pipeline, table: str, rule: Rule, conf: Path) -> bool:
    """Whether what a rule observes is of a sensitive column, of its table or of the other one that it
    compares it with.
    """
    looked_at = [(table, rule.columns), (rule.kwargs.get("other_table"), compared_columns(rule))]
    return any(
        name in sensitive_columns(pipeline, of, conf) for of, names in looked_at if of for name in names
    )


def masked(result: RuleResult) -> RuleResult:
    return replace(result, observed=MASK, hidden=result.observed) if result.observed is not None else result


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
    seen then. `held_for` is there where the rows of the batch go into quarantine, as decided.
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
    held_for: tuple[str, ...] = ()

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
            if self.decision and self.decision.action in (RELEASE, ASIDE) and not self.held_for
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
        verdict = SET_ASIDE if self.held_for else PASSED if not blocking else RELEASED if holds else BLOCKED
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
        asked = [rule for rule in self.rules if is_row_asked or rule.on_fail != "quarantine"]
        is_changed = bool(asked) and (candidate.count > 0 or candidate.removes())
        found = self.judge_rows(candidate.rows, asked, candidate.whole, candidate.count) if is_changed else []
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
    """What a rule found, in a few words and without any row's value; nothing where it found no more than that
    it is not met.
    """
    if result.problem is not None:
        return f"it could not be judged: {result.problem}"
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
