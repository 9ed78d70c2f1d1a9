"""Metrics of Great Expectations as aggregates: how each is computed over the rows of a frame, without a query
of its own.

GX filters the rows for each metric: by a row condition, by the NULLs of a column, by `ignore_row_if`. Here
what it filters by becomes a part of the aggregate, so that metrics of different rows can be asked in one
pass. A metric that is not known here is left to GX's function.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
from great_expectations.core import IDDict
from great_expectations.core.metric_function_types import MetricPartialFunctionTypes
from great_expectations.execution_engine.sparkdf_batch_data import SparkDFBatchData
from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.expectations.registry import get_metric_provider
from great_expectations.util import convert_to_json_serializable
from great_expectations.validator.metric_configuration import MetricConfiguration
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType, StructType

ROW_COUNT = "table.row_count"
EVERY_ROW = "SELECT * FROM {batch}"
"""The query of a rule whose frame holds the very rows that must not be there."""
LISTS = (
    ".unexpected_values",
    ".distinct_values.not_in_set",
    ".distinct_values.missing_from_column",
    "unexpected_rows_query.table",
)
"""Values of rows, for a reader: with none asked for, GX leaves them out of its result."""
EXACT = 2**31 - 1
"""The accuracy of a percentile. It merges no two values of fewer than two billion rows, as GX's relative
error of 0.
"""
FILTERS = "filters"
Metrics = Mapping[str, Any]


@dataclass(frozen=True)
class Wanted:
    """An aggregate over all rows of a frame, and what it says of the metric."""

    rows: DataFrame
    aggregate: Column
    read: Callable[[Any], Any] = lambda value: value


@dataclass(frozen=True)
class Filters:
    """Stands in for a frame where GX filters it, and keeps the conditions."""

    schema: StructType
    conditions: tuple[Column, ...] = ()

    def filter(self, condition: Column | str) -> "Filters":
        """With one more condition."""
        return Filters(
            self.schema, (*self.conditions, F.expr(condition) if isinstance(condition, str) else condition)
        )


@dataclass
class Judged:
    """Rows, with GX's engine for them. What GX filters them by can be had as a condition, or as the rows that
    are left.
    """

    rows: DataFrame
    engine: SparkDFExecutionEngine = field(init=False)
    _left: dict[str, DataFrame] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # a data source would take the active session
        self.engine = SparkDFExecutionEngine(persist=False, spark=self.rows.sparkSession)
        self.engine.load_batch_data(FILTERS, SparkDFBatchData(self.engine, Filters(self.rows.schema)))
        # the batch that was loaded last is the one that is asked about
        self.engine.load_batch_data("rows", self.rows)

    def where(self, domain: Mapping[str, Any]) -> Column | None:
        """What GX filters the rows of a domain by; None for nothing."""
        filters = self.engine.get_domain_records({**domain, "batch_id": FILTERS})
        return reduce(and_, filters.conditions) if filters.conditions else None

    def within(self, domain: Mapping[str, Any], value: Column) -> Column:
        """A value of the rows of a domain: NULL for other rows."""
        where = self.where(domain)
        return value if where is None else F.when(where, value)

    def left_by(self, domain: Mapping[str, Any]) -> DataFrame:
        """The rows of a domain: the same frame each time, so that all that is asked about it is asked
        together.
        """
        key = str(IDDict(domain).to_id())
        if key not in self._left:
            self._left[key] = self.engine.get_domain_records(dict(domain))
        return self._left[key]


def is_list_of_values(metric: MetricConfiguration) -> bool:
    """Whether a metric only shows values of rows."""
    return metric.metric_name.endswith(LISTS)


def aggregate_of(metric: MetricConfiguration, needed: Metrics, judged: Judged) -> Wanted | None:
    """The metric as an aggregate; None where it is for GX's own function. `needed` are the metrics that it is
    made from, by GX's names.
    """
    if metric.metric_name in BY_NAME:
        return BY_NAME[metric.metric_name](metric, needed, judged)
    if "metric_partial_fn" in needed:
        return _bundled(metric, needed, judged)
    if "unexpected_condition" not in needed:
        return None
    condition, compute, accessor = needed["unexpected_condition"]
    if metric.metric_name.endswith(".filtered_row_count"):
        return Wanted(judged.rows, F.count(judged.within({**compute, **accessor}, F.lit(1))))
    if metric.metric_name.endswith(".unexpected_count") and not _is_window(metric, judged):
        return Wanted(judged.rows, F.count(judged.within({**compute, **accessor}, F.when(condition, 1))))
    return None


def _bundled(metric: MetricConfiguration, needed: Metrics, judged: Judged) -> Wanted:
    """An aggregate of GX's own. Counts take what they are filtered by as a part; for a mean and the like the
    rows are filtered.
    """
    aggregate, domain, _ = needed["metric_partial_fn"]
    where = judged.where(domain)
    if where is None:
        return Wanted(judged.rows, aggregate, convert_to_json_serializable)
    if metric.metric_name == ROW_COUNT:
        return Wanted(judged.rows, F.count(F.when(where, 1)))
    if "unexpected_condition" in needed:
        is_unexpected, _, _ = needed["unexpected_condition"]
        # as in GX, NULL of no rows
        return Wanted(judged.rows, F.sum(F.when(where, F.when(is_unexpected, 1).otherwise(0))))
    return Wanted(judged.left_by(domain), aggregate, convert_to_json_serializable)


def _repeated(_metric: MetricConfiguration, needed: Metrics, judged: Judged) -> Wanted:
    """How many rows share their values with another. GX counts them in a window, which sorts all rows."""
    _, compute, accessor = needed["unexpected_condition"]
    names = accessor["column_list"] if "column_list" in accessor else [accessor["column"]]
    rows = judged.left_by({**compute, **accessor})
    shared = (
        rows.groupBy(*map(F.col, names))
        .agg(F.count(F.lit(1)).alias("sharing"))
        .select("sharing")
        .filter("sharing > 1")
    )
    return Wanted(shared, F.coalesce(F.sum("sharing"), F.lit(0)))


def _not_in_set(metric: MetricConfiguration, _needed: Metrics, judged: Judged) -> Wanted:
    column, values = _column(metric), metric.metric_value_kwargs.get("value_set")
    is_other = ~column.isin(values) if values else F.lit(True)
    return Wanted(
        judged.rows, F.countDistinct(judged.within(metric.metric_domain_kwargs, F.when(is_other, column)))
    )


def _missing(metric: MetricConfiguration, _needed: Metrics, judged: Judged) -> Wanted | None:
    column, values = _column(metric), metric.metric_value_kwargs.get("value_set")
    if not values:
        return None
    found = judged.within(metric.metric_domain_kwargs, F.when(column.isin(values), column))
    return Wanted(judged.rows, F.countDistinct(found), lambda count: len(values) - count)


def _median(metric: MetricConfiguration, _needed: Metrics, judged: Judged) -> Wanted | None:
    """The mean of the two values in the middle. The upper one is the lower one of the negated values."""
    value = _number(metric, judged)
    if value is None:
        return None
    lower, upper = F.percentile_approx(value, 0.5, EXACT), -F.percentile_approx(-value, 0.5, EXACT)
    return Wanted(
        judged.rows, F.array(lower, upper), lambda two: np.mean([value for value in two if value is not None])
    )


def _quantiles(metric: MetricConfiguration, _needed: Metrics, judged: Judged) -> Wanted | None:
    value, quantiles = _number(metric, judged), list(metric.metric_value_kwargs["quantiles"])
    if value is None or metric.metric_value_kwargs.get("allow_relative_error") or not quantiles:
        return None
    found = F.percentile_approx(value, [float(quantile) for quantile in quantiles], EXACT)
    return Wanted(judged.rows, found, lambda values: values or [None] * len(quantiles))


def _query(metric: MetricConfiguration, _needed: Metrics, judged: Judged) -> Wanted | None:
    if metric.metric_value_kwargs["unexpected_rows_query"] != EVERY_ROW or metric.metric_domain_kwargs.get(
        "row_condition"
    ):
        return None
    return Wanted(judged.rows, F.count(F.lit(1)))


BY_NAME: dict[str, Callable[[MetricConfiguration, Metrics, Judged], Wanted | None]] = {
    "column_values.unique.unexpected_count": _repeated,
    "compound_columns.unique.unexpected_count": _repeated,
    "column.distinct_values.not_in_set.count": _not_in_set,
    "column.distinct_values.missing_from_column.count": _missing,
    "column.median": _median,
    "column.quantile_values": _quantiles,
    "unexpected_rows_query.row_count": _query,
}
"""Metrics that GX asks by a query of their own."""


def _column(metric: MetricConfiguration) -> Column:
    return F.col(metric.metric_domain_kwargs["column"])


def _number(metric: MetricConfiguration, judged: Judged) -> Column | None:
    """The values of a column of numbers that quantiles are taken of: without NaN, as doubles. None for
    another column.
    """
    fields = {field.name: field.dataType for field in judged.rows.schema.fields}
    if not isinstance(fields.get(metric.metric_domain_kwargs["column"]), NumericType):
        return None
    value = _column(metric).cast("double")
    return judged.within(metric.metric_domain_kwargs, F.when(~F.isnan(value), value))


def _is_window(metric: MetricConfiguration, judged: Judged) -> bool:
    """Whether its condition looks at several rows: then it cannot stand within an aggregate."""
    condition = metric.metric_dependencies["unexpected_condition"].metric_name
    kind = getattr(get_metric_provider(condition, judged.engine)[1], "metric_fn_type", None)
    return kind == MetricPartialFunctionTypes.WINDOW_CONDITION_FN
