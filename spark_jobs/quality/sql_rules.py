"""Rules that are a query for the rows that must not be there: their tables are bound as views, and Great Expectations counts the rows."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.expectations import Rule
from spark_jobs.config.names import check_column
from spark_jobs.config.sql import SqlError, referenced_tables, with_views
from spark_jobs.quality.validation import Question

SQL_TYPE = "unexpected_rows_expectation"
Tables = Mapping[str, DataFrame]


def rows_of_query(rows: DataFrame, rule: Rule, tables: Tables, views: ExitStack) -> Question:
    """The user's own SELECT, with {batch} for the rows and other tables by their full names."""
    return _unexpected_rows(rows, rule, tables, views, rule.kwargs["unexpected_rows_query"])


def rows_without_a_partner(rows: DataFrame, rule: Rule, tables: Tables, views: ExitStack) -> Question:
    """The rows whose columns are all there and that no row of the other table equals in them."""
    other_table = known_table(rule.kwargs["other_table"], tables)
    own = _names(rule.kwargs, "column", "column_list")
    other = _names(rule.kwargs, "other_column", "other_column_list")
    equal = " AND ".join(f"judged.`{a}` = other.`{b}`" for a, b in zip(own, other, strict=True))
    present = " AND ".join(f"judged.`{a}` IS NOT NULL" for a in own)
    query = f"SELECT 1 FROM {{batch}} AS judged LEFT ANTI JOIN {other_table} AS other ON {equal} WHERE {present}"
    return _unexpected_rows(rows, rule, tables, views, query)


def matching_rows(rows: DataFrame, rule: Rule) -> DataFrame:
    """The rows that a rule asks about: those of its row_condition, if it has one."""
    condition = rule.kwargs.get("row_condition")
    return rows.filter(condition) if condition else rows


def known_table(table: str, tables: Tables) -> str:
    """The name of a table that a rule may read; SqlError for all else, a path too."""
    if table not in tables:
        raise SqlError(f"there is no {table} to read")
    return table


def _unexpected_rows(rows: DataFrame, rule: Rule, tables: Tables, views: ExitStack, query: str) -> Question:
    """GX counts the rows of a query. It would collect some of them too: so they carry nothing."""
    batch = _view(matching_rows(rows, rule), views)
    text = _with_batch(query, batch).strip().rstrip(";")
    named = {name: _view(tables[known_table(name, tables)], views) for name in referenced_tables(text) if name != batch}
    text = with_views(text, named).replace("{", "{{").replace("}", "}}")
    views.callback(rows.sparkSession.catalog.dropTempView, "tmp_view")  # GX binds the rows to this name, whatever the query reads
    # GX prints a warning for a query that does not name {batch}; a comment names it.
    return Question(_as_other_plan(rows), SQL_TYPE, {"unexpected_rows_query": f"SELECT 1 AS unexpected FROM (\n{text}\n) /* {{batch}} */"})


def _with_batch(query: str, batch: str) -> str:
    """The query as GX reads it: {batch} is the rows, and a brace of its own is written twice."""
    try:
        return query.format(batch=batch)
    except (KeyError, IndexError, ValueError) as error:
        raise SqlError("it has a brace that is not {batch}", hint="write {{ for { and }} for }") from error


def _names(kwargs: Mapping[str, Any], one: str, several: str) -> list[str]:
    return [check_column(name) for name in (kwargs[several] if several in kwargs else [kwargs[one]])]


def _view(frame: DataFrame, views: ExitStack) -> str:
    """A view with a name of its own, dropped at the end."""
    name = f"weir_judged_{uuid4().hex}"
    _as_other_plan(frame).createOrReplaceTempView(name)
    views.callback(frame.sparkSession.catalog.dropTempView, name)
    return name


def _as_other_plan(frame: DataFrame) -> DataFrame:
    """The same rows as another plan: to drop a view is to unpersist its plan, and the rows must stay persisted."""
    return frame.filter(F.lit(True))
