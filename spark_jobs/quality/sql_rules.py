"""Rules that are a query for the rows that must not be there: Great Expectations gets those rows, and counts
them.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from operator import and_
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.expectations import Rule
from spark_jobs.config.names import check_column
from spark_jobs.config.sql import SqlError, referenced_tables
from spark_jobs.config.sql_views import with_views
from spark_jobs.lake.queries import check_query, refuse_clocks_in_query
from spark_jobs.quality.aggregates import EVERY_ROW
from spark_jobs.quality.validation import Question

SQL_TYPE = "unexpected_rows_expectation"
Tables = Mapping[str, DataFrame]


def rows_of_query(rows: DataFrame, rule: Rule, tables: Tables) -> Question:
    """The user's own SELECT, with {batch} for the rows and other tables by their full names."""
    batch = f"weir_judged_{uuid4().hex}"
    text = _with_batch(rule.kwargs["unexpected_rows_query"], batch).strip().rstrip(";")
    named = {name: f"weir_judged_{uuid4().hex}" for name in referenced_tables(text) if name != batch}
    frames = {view: tables[known_table(name, tables)] for name, view in named.items()}
    text = with_views(text, named)
    check_query(rows.sparkSession, text)
    with _views({batch: matching_rows(rows, rule), **frames}):
        unexpected = rows.sparkSession.sql(text)
    refuse_clocks_in_query(unexpected, rule.kwargs["unexpected_rows_query"])
    return _none_of(unexpected)


def rows_without_a_partner(rows: DataFrame, rule: Rule, tables: Tables) -> Question:
    """The rows whose columns are all there and that no row of the other table equals in them."""
    other_table = known_table(rule.kwargs["other_table"], tables)
    own = [
        F.col(name).alias(f"own_{place}")
        for place, name in enumerate(_names(rule.kwargs, "column", "column_list"))
    ]
    other = [
        F.col(name).alias(f"other_{place}")
        for place, name in enumerate(_names(rule.kwargs, "other_column", "other_column_list"))
    ]
    pairs = [
        (F.col(f"own_{place}"), F.col(f"other_{place}"))
        for place, _ in enumerate(zip(own, other, strict=True))
    ]
    present = matching_rows(rows, rule).select(*own).filter(reduce(and_, [a.isNotNull() for a, _ in pairs]))
    return _none_of(
        present.join(
            tables[other_table].select(*other), on=reduce(and_, [a == b for a, b in pairs]), how="left_anti"
        )
    )


def matching_rows(rows: DataFrame, rule: Rule) -> DataFrame:
    """The rows that a rule asks about: those of its row_condition, if it has one."""
    condition = rule.kwargs.get("row_condition")
    return rows.filter(condition) if condition else rows


def known_table(table: str, tables: Tables) -> str:
    """The name of a table that a rule may read; SqlError for all else, a path too."""
    if table not in tables:
        raise SqlError(f"there is no {table} to read")
    return table


def _none_of(unexpected: DataFrame) -> Question:
    """That there are no such rows. They carry nothing: they are only counted."""
    return Question(
        unexpected.select(F.lit(1).alias("unexpected")), SQL_TYPE, {"unexpected_rows_query": EVERY_ROW}
    )


def _with_batch(query: str, batch: str) -> str:
    """The query as GX reads it: {batch} is the rows, and a brace of its own is written twice."""
    try:
        return query.format(batch=batch)
    except (KeyError, IndexError, ValueError) as error:
        raise SqlError("it has a brace that is not {batch}", hint="write {{ for { and }} for }") from error


def _names(kwargs: Mapping[str, Any], one: str, several: str) -> list[str]:
    return [check_column(name) for name in (kwargs[several] if several in kwargs else [kwargs[one]])]


@contextmanager
def _views(frames: Mapping[str, DataFrame]) -> Iterator[None]:
    """Views of these names while a query is read. Each has a plan of its own: to drop a view is to unpersist
    its plan, and the rows must stay persisted.
    """
    for name, frame in frames.items():
        frame.filter(F.lit(True)).createOrReplaceTempView(name)
    try:
        yield
    finally:
        for name, frame in frames.items():
            frame.sparkSession.catalog.dropTempView(name)
