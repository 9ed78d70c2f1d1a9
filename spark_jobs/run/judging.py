"""What Great Expectations is given beside a batch: the other tables that rules read, the newest arrival, and how large batches were."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from spark_jobs.config.expectations import Rule
from spark_jobs.config.graph import tables_read_by
from spark_jobs.config.sensitive import MASK, sensitive_columns
from spark_jobs.lake import tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.ledger import BatchId
from spark_jobs.quality.result import RuleResult
from spark_jobs.run.plan import Plan


def judge_rows(
    plan: Plan,
    batch_id: BatchId,
    inputs: Mapping[str, Any],
    rows: DataFrame,
    rules: Sequence[Rule],
    whole: Callable[[], DataFrame],
    count: int,
) -> list[RuleResult]:
    """The verdict on the rows of this batch. Other tables are read as they are now, each at one version; those of other pipelines at the
    version that the batch reads (`inputs`), or the run.
    """
    from spark_jobs.quality.gate import Surroundings, judge  # takes seconds to import: only where there are rules

    table, step, generation, _ = batch_id
    others = dict.fromkeys(name for rule in rules for name in tables_read_by(rule, plan.pipeline.upstream))
    done = [Counts.of_row(row) for row in plan.ledger.batches(table, generation) if row["step"] == step]
    versions = {name: plan.version(name) for name in others} | {
        name: inputs[name] for name in others if name in plan.others and name in inputs
    }
    around = Surroundings(
        tables={name: tables.read(rows.sparkSession, plan.lake.table(name), version) for name, version in versions.items()},
        clock=plan.clock(),
        history=[counts.published for counts in done if counts.published],
    )
    found = judge(rows, rules, around, whole() if any(rule.scope == "table" for rule in rules) else None, count)
    hidden = sensitive_columns(plan.pipeline, table, plan.conf)
    return [_masked(result) if any(name in hidden for name in result.rule.columns) else result for result in found]


def _masked(result: RuleResult) -> RuleResult:
    return replace(result, observed=MASK) if result.observed is not None else result
