"""Rules as questions to Great Expectations, with the values of now: Weir's own types become GX's, and SQL finds its tables as views."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.expectations import Rule
from spark_jobs.config.names import check_column, parse_duration
from spark_jobs.config.sql import SqlError, with_views
from spark_jobs.quality.bounds import Bound, read_bound, read_bounds
from spark_jobs.quality.texts import one_line
from spark_jobs.quality.validation import Answer, Question

SQL_TYPE = "unexpected_rows_expectation"
ROWS_OF_OTHER_TABLE = "expect_column_values_to_be_in_other_table"
SUM_OF_OTHER_TABLE = "expect_column_sum_to_equal_other_table"
MATCH_HISTORY = "expect_table_row_count_to_match_history"
RECENT = "expect_column_max_to_be_recent"
COUNTED_BY_SQL = (SQL_TYPE, ROWS_OF_OTHER_TABLE)
"""The types whose observed value is the number of rows that fail."""
HISTORY_BATCHES = 10
BOUND_IN_SPARK = ("expect_column_values_to_be_between",)
BOUND_IN_PYTHON = ("expect_column_max_to_be_between", "expect_column_min_to_be_between")
NOTHING_TO_COMPARE = Answer(True, {})


@dataclass(frozen=True)
class Surroundings:
    """What rules may look at beside the rows.

    `tables` are pinned frames of the rows' session by full name, as in dimension.customers. `clock` is the newest recorded arrival of the
    pipeline. `history` are the rows that earlier batches of the table published, oldest first.
    """

    tables: Mapping[str, DataFrame] = field(default_factory=dict)
    clock: datetime | None = None
    history: Sequence[int] = ()


@contextmanager
def questions_about(rows: DataFrame, rules: Sequence[Rule], around: Surroundings) -> Iterator[list[Question | Answer]]:
    """A question per rule, or the answer where none is needed. The views that SQL reads last as long as this."""
    with ExitStack() as views:
        yield [_question(rows, rule, around, views) for rule in rules]


def _question(rows: DataFrame, rule: Rule, around: Surroundings, views: ExitStack) -> Question | Answer:
    """As the rule's type has it. A table that is not there, or SQL that is none, is the rule's problem and not the batch's."""
    try:
        return _translated(rows, rule, around, views)
    except SqlError as error:
        return Answer(False, {}, one_line(error.message))


def _translated(rows: DataFrame, rule: Rule, around: Surroundings, views: ExitStack) -> Question | Answer:
    if rule.type == MATCH_HISTORY:
        return _match_history(rows, rule, around.history)
    if rule.type == RECENT:
        return _recent(rows, rule, around.clock)
    if rule.type == SUM_OF_OTHER_TABLE:
        return _sums_differ(rows, rule, around.tables)
    if rule.type == ROWS_OF_OTHER_TABLE:
        return _unexpected_rows(rows, rule, around, views, _without_a_partner(rule, around.tables))
    if rule.type == SQL_TYPE:
        return _unexpected_rows(rows, rule, around, views, rule.kwargs["unexpected_rows_query"])
    return Question(rows, rule.type, _gx_arguments(rule))


def _gx_arguments(rule: Rule) -> dict[str, Any]:
    """The arguments in GX's current spelling: a condition as an object, because GX warns about text with a condition_parser.

    Bounds that are times say their zone: GX would take the machine's own.
    """
    arguments = {name: value for name, value in rule.kwargs.items() if name not in ("row_condition", "condition_parser")}
    if rule.kwargs.get("row_condition"):
        arguments["row_condition"] = {"type": "pass_through", "pass_through_filter": rule.kwargs["row_condition"]}
    if rule.type in BOUND_IN_SPARK:
        arguments |= read_bounds(arguments)
    if rule.type in BOUND_IN_PYTHON:
        arguments |= {name: _collected(bound) for name, bound in read_bounds(arguments).items()}
    return arguments


def _collected(bound: Bound) -> Bound:
    """A time as collect() gives it: of the machine's own zone, without saying so."""
    return bound.astimezone().replace(tzinfo=None) if isinstance(bound, datetime) else bound


def _matching(rows: DataFrame, rule: Rule) -> DataFrame:
    condition = rule.kwargs.get("row_condition")
    return rows.filter(condition) if condition else rows


def _match_history(rows: DataFrame, rule: Rule, history: Sequence[int]) -> Question | Answer:
    last = list(history)[-int(rule.kwargs.get("batches", HISTORY_BATCHES)) :]
    usual = median(last) if last else 0
    if not usual:
        return NOTHING_TO_COMPARE
    least, most = rule.kwargs.get("min_ratio"), rule.kwargs.get("max_ratio")
    bounds = {"min_value": math.ceil(usual * least) if least is not None else None}
    bounds |= {"max_value": math.floor(usual * most) if most is not None else None}
    return Question(rows, "expect_table_row_count_to_be_between", bounds)


def _recent(rows: DataFrame, rule: Rule, clock: datetime | None) -> Question | Answer:
    if clock is None:
        return NOTHING_TO_COMPARE
    least = _collected(read_bound(clock - parse_duration(rule.kwargs["max_age"])))
    column = check_column(rule.kwargs["column"])
    newest = _matching(rows, rule).select(F.col(column).cast("timestamp").alias(column))
    return Question(newest, "expect_column_max_to_be_between", {"column": column, "min_value": least})


def _sums_differ(rows: DataFrame, rule: Rule, tables: Mapping[str, DataFrame]) -> Question:
    """The difference of the two sums as a table of one row. The sum of no rows is 0."""
    tolerance = abs(float(rule.kwargs.get("tolerance", 0)))
    own = _matching(rows, rule).agg(_sum(rule.kwargs["column"]).alias("own"))
    other = tables[_known(rule.kwargs["other_table"], tables)].agg(_sum(rule.kwargs["other_column"]).alias("other"))
    difference = own.join(other, how="cross").select((F.col("own") - F.col("other")).alias("difference"))
    return Question(
        difference, "expect_column_max_to_be_between", {"column": "difference", "min_value": -tolerance, "max_value": tolerance}
    )


def _sum(column: str) -> Any:
    return F.coalesce(F.sum(F.col(check_column(column))), F.lit(0))


def _without_a_partner(rule: Rule, tables: Mapping[str, DataFrame]) -> str:
    """The rows whose columns are all there and that no row of the other table equals in them."""
    other_table = _known(rule.kwargs["other_table"], tables)
    own = _names(rule.kwargs, "column", "column_list")
    other = _names(rule.kwargs, "other_column", "other_column_list")
    equal = " AND ".join(f"judged.`{a}` = other.`{b}`" for a, b in zip(own, other, strict=True))
    present = " AND ".join(f"judged.`{a}` IS NOT NULL" for a in own)
    return f"SELECT 1 FROM {{batch}} AS judged LEFT ANTI JOIN {other_table} AS other ON {equal} WHERE {present}"


def _known(table: str, tables: Mapping[str, DataFrame]) -> str:
    if table not in tables:
        raise SqlError(f"there is no {table} to read")
    return table


def _names(kwargs: Mapping[str, Any], one: str, several: str) -> list[str]:
    return [check_column(name) for name in (kwargs[several] if several in kwargs else [kwargs[one]])]


def _unexpected_rows(rows: DataFrame, rule: Rule, around: Surroundings, views: ExitStack, query: str) -> Question:
    """GX counts the rows of a query. It would collect some of them too: so they carry nothing."""
    batch = _view(_matching(rows, rule), views)
    named = {name: _view(frame, views) for name, frame in around.tables.items() if name in query.lower()}
    text = with_views(_with_batch(query, batch).strip().rstrip(";"), named).replace("{", "{{").replace("}", "}}")
    views.callback(rows.sparkSession.catalog.dropTempView, "tmp_view")  # GX binds the rows to this name, whatever the query reads
    # GX prints a warning for a query that does not name {batch}; a comment names it.
    return Question(_as_other_plan(rows), SQL_TYPE, {"unexpected_rows_query": f"SELECT 1 AS unexpected FROM (\n{text}\n) /* {{batch}} */"})


def _with_batch(query: str, batch: str) -> str:
    """The query as GX reads it: {batch} is the rows, and a brace of its own is written twice."""
    try:
        return query.format(batch=batch)
    except (KeyError, IndexError, ValueError) as error:
        raise SqlError("it has a brace that is not {batch}", hint="write {{ for { and }} for }") from error


def _view(frame: DataFrame, views: ExitStack) -> str:
    """A view with a name of its own, dropped at the end."""
    name = f"weir_judged_{uuid4().hex}"
    _as_other_plan(frame).createOrReplaceTempView(name)
    views.callback(frame.sparkSession.catalog.dropTempView, name)
    return name


def _as_other_plan(frame: DataFrame) -> DataFrame:
    """The same rows as another plan: to drop a view is to unpersist its plan, and the rows must stay persisted."""
    return frame.filter(F.lit(True))
