"""Lets Great Expectations judge patterns by the function of Weir's own predicates: its own is Java's engine, which a long value can end.

GX takes the metric that was registered last for a name and an engine; to declare one is to register it.
"""

import logging
from functools import reduce
from operator import and_, or_
from typing import Any

from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.expectations.metrics.column_map_metrics.column_values_match_regex import ColumnValuesMatchRegex
from great_expectations.expectations.metrics.column_map_metrics.column_values_match_regex_list import ColumnValuesMatchRegexList
from great_expectations.expectations.metrics.column_map_metrics.column_values_not_match_regex import ColumnValuesNotMatchRegex
from great_expectations.expectations.metrics.column_map_metrics.column_values_not_match_regex_list import ColumnValuesNotMatchRegexList
from great_expectations.expectations.metrics.map_metric_provider.column_condition_partial import column_condition_partial
from pyspark.sql import Column

from spark_jobs.quality.patterns import matches, matches_any

logging.getLogger("great_expectations.expectations.registry").setLevel(logging.ERROR)  # it warns of what is declared again


class MatchesRegex(ColumnValuesMatchRegex):
    @column_condition_partial(engine=SparkDFExecutionEngine)
    def _spark(cls, column: Column, regex: str, **_: Any) -> Column:  # noqa: N805 - GX makes a class method of it
        return matches(column, regex)


class MatchesNoRegex(ColumnValuesNotMatchRegex):
    @column_condition_partial(engine=SparkDFExecutionEngine)
    def _spark(cls, column: Column, regex: str, **_: Any) -> Column:  # noqa: N805 - GX makes a class method of it
        return ~matches(column, regex)


class MatchesRegexList(ColumnValuesMatchRegexList):
    @column_condition_partial(engine=SparkDFExecutionEngine)
    def _spark(cls, column: Column, regex_list: list[str], match_on: str, **_: Any) -> Column:  # noqa: N805 - GX makes a class method of it
        return reduce(and_, [matches(column, regex) for regex in regex_list]) if match_on == "all" else matches_any(column, regex_list)


class MatchesNoRegexOfList(ColumnValuesNotMatchRegexList):
    @column_condition_partial(engine=SparkDFExecutionEngine)
    def _spark(cls, column: Column, regex_list: list[str], **_: Any) -> Column:  # noqa: N805 - GX makes a class method of it
        return ~reduce(or_, [matches(column, regex) for regex in regex_list])
