"""The shipped expectations over rows of plain Python: Great Expectations on pandas and, for SQL, duckdb. No
Spark, no engine.

Types that look at other tables, at earlier batches or at the clock are none of these two's.
"""

from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import great_expectations as gx
import pandas
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

from spark_jobs.config.document import read_document
from spark_jobs.config.expectations import Expectations, Rule, make_rules
from spark_jobs.config.validation import validate

ROOT = Path(__file__).resolve().parents[2]
BY_SQL = "unexpected_rows_expectation"
OF_THE_ENGINE = (
    "expect_column_values_to_be_in_other_table",
    "expect_column_sum_to_equal_other_table",
    "expect_table_row_count_to_match_history",
    "expect_column_max_to_be_recent",
)

Row = dict[str, Any]


def shipped_rules(pipeline: str) -> dict[str, tuple[Rule, ...]]:
    """Per table the rules of its file."""
    files = sorted((ROOT / "expectations" / pipeline).glob("*.yml"))
    return {file.stem: make_rules(validate(Expectations, read_document(file, file.name))) for file in files}


def is_plain(rule: Rule) -> bool:
    return rule.type not in OF_THE_ENGINE and "row_condition" not in rule.kwargs


def failing(rules: Iterable[Rule], rows: list[Row]) -> set[str]:
    """The names of the rules that do not hold for the rows."""
    frame = pandas.DataFrame([{name: _plain(value) for name, value in row.items()} for row in rows])
    by_sql = [rule for rule in rules if rule.type == BY_SQL]
    by_gx = [rule for rule in rules if rule.type != BY_SQL]
    return {
        rule.name for rule in by_sql if _rows_of(rule.kwargs["unexpected_rows_query"], frame)
    } | _failing_in_gx(by_gx, frame)


def _failing_in_gx(rules: list[Rule], frame: pandas.DataFrame) -> set[str]:
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    # Given at once: added one by one, a second expectation of the same type and column would take the place
    # of the first.
    known = [
        ExpectationConfiguration(rule.type, dict(rule.kwargs), meta={"name": rule.name}).to_domain_obj()
        for rule in rules
    ]
    suite = gx.ExpectationSuite(name="shipped", expectations=known)
    batch = (
        context.data_sources.add_pandas("rows")
        .add_dataframe_asset("rows")
        .add_batch_definition_whole_dataframe("rows")
    )
    found = batch.get_batch({"dataframe": frame}).validate(suite).results
    assert len(found) == len(rules)
    assert not [result.exception_info for result in found if result.exception_info.get("raised_exception")]
    return {
        str(result.expectation_config.meta["name"])
        for result in found
        if result.expectation_config and not result.success
    }


def _rows_of(query: str, frame: pandas.DataFrame) -> list[Any]:
    with duckdb.connect() as session:
        session.register("batch", frame)
        return session.execute(query.format(batch="batch")).fetchall()


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value
