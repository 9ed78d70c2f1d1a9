"""Checks of the SQL in expectations: row conditions and custom queries, each a function of the data alone."""

from collections.abc import Collection, Iterable
from string import Formatter

from spark_jobs.config.checks_columns import Path
from spark_jobs.config.checks_sql import Columns, resolve_columns
from spark_jobs.config.errors import did_you_mean
from spark_jobs.config.expectations import Rule
from spark_jobs.config.expressions import judge_query, judge_row_expression
from spark_jobs.config.judged_table import JudgedTable
from spark_jobs.config.report import Report
from spark_jobs.config.sql import SqlError, columns_in, located_tables, parse_query

# Stands for the rows that are judged while a query is checked; no table can have such a name.
BATCH = "_batch_"


def check_row_condition(rule: Rule, known: Columns | None, path: Path, report: Report) -> None:
    """Great Expectations takes a condition as Spark's SQL when condition_parser says so; other forms are not checked, so not taken."""
    condition, parser = rule.kwargs.get("row_condition"), rule.kwargs.get("condition_parser")
    place = (*path, "kwargs", "row_condition")
    if condition is None:
        return
    if not isinstance(condition, str):
        report.add(place, condition, "the row_condition is not text", "write it as SQL, as in row_condition: status = 'paid'")
        return
    if parser != "spark":
        message = "a row_condition is SQL of Spark, and 'condition_parser' must say so"
        report.add((*path, "kwargs", "condition_parser"), parser, message, "add condition_parser: spark")
    for message, hint in judge_row_expression(condition, _columns_or_any(condition, known)):
        report.add(place, condition, message, hint)


def check_custom_sql(rule: Rule, table: JudgedTable, path: Path, report: Report) -> None:
    """One SELECT over {batch} and other tables; the rows that it finds are those that should not be there."""
    query, place = rule.kwargs.get("unexpected_rows_query"), (*path, "kwargs", "unexpected_rows_query")
    if not isinstance(query, str):
        return  # Great Expectations says so
    for message, hint in _judge_query(query, table, report):
        report.add(place, query, message, hint)


def _columns_or_any(condition: str, known: Columns | None) -> Collection[str]:
    if known is not None:
        return known
    try:
        return columns_in(condition)
    except SqlError:
        return ()  # judged by the caller


def _judge_query(query: str, table: JudgedTable, report: Report) -> list[tuple[str, str]]:
    try:
        fields = [field for _, field, _, _ in Formatter().parse(query) if field is not None]
    except ValueError as error:
        return [(f"the query has a brace without its other half: {error}", "write {batch} for the rows, and other braces twice: {{ }}")]
    strange = [field for field in fields if field != "batch"]
    if strange:
        return [(f"the query has {{{strange[0]}}}, which stands for nothing", "write {batch} for the rows, and other braces twice: {{ }}")]
    if not fields:
        return [("the query does not read {batch}, the rows that are judged", "write SELECT * FROM {batch} WHERE …")]
    text = query.format(batch=BATCH)
    try:
        tree = parse_query(text)
    except SqlError as error:
        return [(f"the query cannot be used: {error.message}", error.hint)]
    read = list(dict.fromkeys(name for name, _ in located_tables(tree)))
    known = {name: table.others.get(name) for name in read} | {BATCH: table.stable}
    keys = {**table.keys, **({BATCH: table.keys[table.name]} if table.name in table.keys else {})}
    complaints = judge_query(text, tree, known, keys)
    unreadable = [_explain_table(name, table) for name in read if name != BATCH and name not in table.others]
    return complaints + (unreadable or _unknown_columns(query, table, read, report))


def _explain_table(name: str, table: JudgedTable) -> tuple[str, str]:
    allowed = did_you_mean(name, table.others)
    if name == table.name:
        return f"the query reads {name} itself, as it was before", "write {batch}, with scope: table for the table as it will be"
    if name.startswith("bronze."):
        return f"the table {name!r} cannot be read: bronze holds raw records", allowed
    return f"there is no table {name!r} that {table.name} can be compared with", allowed


def _unknown_columns(query: str, table: JudgedTable, read: Iterable[str], report: Report) -> list[tuple[str, str]]:
    """What is surely missing in the tables that the query reads, where the columns of all are known."""
    known = {name: table.others[name] for name in read if name != BATCH} | {table.name: table.stable}
    told = {name: columns for name, columns in known.items() if columns is not None}
    if len(told) < len(known):
        return []
    found = Report(report.path, report.root)
    resolve_columns(parse_query(query.format(batch=table.name)), told, table.keys, report.path, "", found)
    return [(problem.message, problem.hint) for problem in found.problems]
