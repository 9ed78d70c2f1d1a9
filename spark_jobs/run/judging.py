"""Asks Great Expectations about the rows of a batch, with the tables that its rules compare them with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.config.columns import ANY, aggregate_columns
from spark_jobs.config.expectations import Rule
from spark_jobs.config.graph import tables_read_by
from spark_jobs.config.names import name_at_home
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sensitive import MASK, sensitive_columns
from spark_jobs.lake import tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delta_log import table_version
from spark_jobs.lake.ledger_batches import BatchId, names_of_step
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
    names = names_of_step(step)
    done = [Counts.of_row(row) for row in plan.ledger.batches(table, generation) if row["step"] in names]
    frames = {
        name: _frame(rows.sparkSession, plan, name, version_to_judge_by(plan, inputs, name), rules)
        for name in others
    }
    around = Surroundings(
        tables={name: frame for name, frame in frames.items() if frame is not None},
        clock=plan.last_arrival(),
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


def version_to_judge_by(plan: Plan, inputs: Mapping[str, Any], name: str) -> int | None:
    """The version of another table that rules read; None where it is not there. One of another pipeline that
    a rebuild is replacing is no input, but it has rows, the old or the new ones, and never counts as empty.
    """
    if name not in plan.others:
        return plan.version(name)
    version = inputs.get(name, plan.version(name))
    return table_version(plan.lake.table(name)) if version is None else version


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
        return spark.createDataFrame([], dimension_ddl(home, short))
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
