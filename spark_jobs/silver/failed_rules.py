"""Which rules with `on_fail: tag` a published row does not meet. What enters: rows as readers see them. What
leaves: the same rows with the names of these rules, in their order, in `_failed_rules`.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.expectations import FAILED_RULES, Rule
from spark_jobs.quality.predicates import fails
from spark_jobs.silver.reasons import holds
from spark_jobs.silver.strict_sql import has_failed, with_results


def with_failed_rules(rows: DataFrame, rules: Sequence[Rule]) -> DataFrame:
    """Adds the names of the rules that each row does not meet; none is an empty list. A row on which the
    condition of a rule fails does not meet it: nobody knows whether the rule is meant for the row.
    """
    conditions = {
        f"_tagging_{number}": str(rule.kwargs["row_condition"])
        for number, rule in enumerate(rules)
        if rule.kwargs.get("row_condition")
    }
    asked = with_results(rows, conditions)
    names = [
        F.when(_is_unmet(rule, f"_tagging_{number}"), F.lit(rule.name)) for number, rule in enumerate(rules)
    ]
    failed = F.array_compact(F.array(*names)) if names else F.array().cast("array<string>")
    return asked.withColumn(FAILED_RULES, failed).drop(*conditions)


def _is_unmet(rule: Rule, result: str) -> Column:
    if not rule.kwargs.get("row_condition"):
        return fails(rule)
    return fails(rule, holds(result)) | has_failed(result)
