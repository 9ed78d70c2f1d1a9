"""Rules by their bare arguments, the columns that tests know, and GX asked without Weir."""

from collections.abc import Sequence
from typing import Any

from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
from great_expectations.validator.validator import Validator
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.expectations import Rule, Scope
from spark_jobs.quality.predicates import fails

COLUMNS = (
    "id int, n bigint, m bigint, k int, price decimal(12,2), share decimal(4,2), ratio double, weight float, "
    "word string, other string, day date, at timestamp, flag boolean"
)


def rule(gx_type: str, scope: Scope = "batch", /, **kwargs: Any) -> Rule:
    return Rule("rule", gx_type, kwargs, "block", "critical", "because", scope)


def failing_ids(rows: DataFrame, rules: Sequence[Rule]) -> list[list[int]]:
    """The rows that each rule's predicate says fail, in one job. A predicate that is NULL for a row breaks
    the sum.
    """
    answers = [F.struct(F.col("id"), fails(rule).alias("fails")) for rule in rules]
    collected = rows.select(
        *(answer.alias(f"rule_{place}") for place, answer in enumerate(answers))
    ).collect()
    assert all(row[place]["fails"] is not None for row in collected for place in range(len(rules)))
    return [
        sorted(row[place]["id"] for row in collected if row[place]["fails"]) for place in range(len(rules))
    ]


def unexpected_counts(rows: DataFrame, rules: Sequence[Rule]) -> list[int | str]:
    """GX's own counts for the rules' bare arguments; the message where it has none."""
    engine = SparkDFExecutionEngine(persist=False, spark=rows.sparkSession)
    engine.load_batch_data("rows", rows)
    asked = [
        ExpectationConfiguration(type=rule.type, kwargs=dict(rule.kwargs), meta={"place": n})
        for n, rule in enumerate(rules)
    ]
    results = Validator(execution_engine=engine).graph_validate(
        asked, {"result_format": {"result_format": "BASIC", "partial_unexpected_count": 0}}
    )
    found = {
        result.expectation_config.meta["place"]: result for result in results if result.expectation_config
    }
    return [
        found[place].result.get("unexpected_count", str(found[place].exception_info))
        for place in range(len(rules))
    ]
