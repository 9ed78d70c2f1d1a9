"""Checks of what a rule reads: the columns of the table that it judges, in its conditions and its SQL, and
the other tables of Weir's own types.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from string import Formatter

from spark_jobs.config.checks.columns import Path
from spark_jobs.config.checks.sql import Columns, resolve_columns
from spark_jobs.config.columns import OF_PROCESSING, own_columns
from spark_jobs.config.errors import ConfigError, did_you_mean
from spark_jobs.config.expectation_types import OWN, OtherTableMembers, OtherTableSum
from spark_jobs.config.expectations import Rule
from spark_jobs.config.expressions import judge_query, judge_row_expression
from spark_jobs.config.graph import (
    inputs_of,
    table_names,
)
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.row_keys import Keys
from spark_jobs.config.sql import SqlError, columns_in, located_tables, parse_query
from spark_jobs.config.table_name import TableName
from spark_jobs.config.validation import Report, validate

# A table as its rules see it: the columns that they may name, and the other tables that they may read.


@dataclass(frozen=True)
class JudgedTable:
    """`columns` are None where they cannot be told, as of a table made by Python. `others` are the tables
    that may be read.
    """

    name: str
    columns: Columns | None
    own: Columns
    others: Mapping[str, Columns | None]
    keys: Keys

    @property
    def stable(self) -> Columns | None:
        """The columns without those that tell of processing: a verdict on them would not
        be one on the data.
        """
        return (
            {name: kind for name, kind in self.columns.items() if name not in OF_PROCESSING}
            if self.columns is not None
            else None
        )


def judged_table(
    pipeline: Pipeline, table: str, tables: Mapping[str, Columns | None], keys: Keys, conf: FilePath
) -> JudgedTable:
    """`tables` are all tables of the pipeline, with their columns where they are known."""
    made = _made_from(pipeline, table, conf)
    others = {
        name: known for name, known in tables.items() if not TableName(name).is_bronze and name not in made
    }
    layer, name = TableName(table).parts
    declared = {"dimension": pipeline.dimensions.get(name), "silver": pipeline.silver.get(name)}.get(layer)
    return JudgedTable(table, tables[table], own_columns(declared) if declared else {}, others, keys)


def _made_from(pipeline: Pipeline, table: str, conf: FilePath) -> set[str]:
    """The table itself and all that are made from it: they are there only after it is judged."""
    made, inputs = {table}, {name: _inputs(pipeline, name, conf) for name in table_names(pipeline)}
    while more := {name for name, needed in inputs.items() if name not in made and made & needed}:
        made |= more
    return made


def _inputs(pipeline: Pipeline, table: str, conf: FilePath) -> set[str]:
    try:
        return set(inputs_of(pipeline, table, conf))
    except (OSError, UnicodeDecodeError):
        return set()  # its SQL file cannot be read, which is a problem of its own


# Checks of the SQL in expectations: row conditions and custom queries, each a function of the data alone.

# Stands for the rows that are judged while a query is checked; no table can have such a name.
BATCH = "_batch_"


def check_row_condition(rule: Rule, known: Columns | None, path: Path, report: Report) -> None:
    """Great Expectations takes a condition as Spark's SQL when condition_parser says so; other forms are not
    checked, so not taken.
    """
    condition, parser = rule.kwargs.get("row_condition"), rule.kwargs.get("condition_parser")
    place = (*path, "kwargs", "row_condition")
    if condition is None:
        return
    if not isinstance(condition, str):
        report.add(
            place,
            condition,
            "the row_condition is not text",
            "write it as SQL, as in row_condition: status = 'paid'",
        )
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
        return [
            (
                f"the query has a brace without its other half: {error}",
                "write {batch} for the rows, and other braces twice: {{ }}",
            )
        ]
    strange = [field for field in fields if field != "batch"]
    if strange:
        return [
            (
                f"the query has {{{strange[0]}}}, which stands for nothing",
                "write {batch} for the rows, and other braces twice: {{ }}",
            )
        ]
    if not fields:
        return [
            (
                "the query does not read {batch}, the rows that are judged",
                "write SELECT * FROM {batch} WHERE …",
            )
        ]
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
        return (
            f"the query reads {name} itself, as it was before",
            "write {batch}, with scope: table for the table as it will be",
        )
    if TableName(name).is_bronze:
        return f"the table {name!r} cannot be read: bronze holds raw records", allowed
    return f"there is no table {name!r} that {table.name} can be compared with", allowed


def _unknown_columns(
    query: str, table: JudgedTable, read: Iterable[str], report: Report
) -> list[tuple[str, str]]:
    """What is surely missing in the tables that the query reads, where the columns of all are known."""
    known = {name: table.others[name] for name in read if name != BATCH} | {table.name: table.stable}
    told = {name: columns for name, columns in known.items() if columns is not None}
    if len(told) < len(known):
        return []
    found = Report(report.path, report.root)
    resolve_columns(parse_query(query.format(batch=table.name)), told, table.keys, report.path, "", found)
    return [(problem.message, problem.hint) for problem in found.problems]


# Checks of Weir's own types of expectations: their arguments, and the tables that they compare with.


def check_own_type(table: JudgedTable, rule: Rule, path: Path, report: Report) -> None:
    below = (*path, "kwargs")
    try:
        arguments = validate(OWN[rule.type], report.document, below)
    except ConfigError as error:
        report.problems.extend(error.problems)
        return
    if rule.type == "expect_table_row_count_to_match_history" and rule.scope == "table":
        report.add(
            (*path, "scope"),
            rule.scope,
            "'scope: table' is incompatible with a comparison of batches",
            "remove scope",
        )
    if isinstance(arguments, OtherTableMembers | OtherTableSum):
        _check_other_table(table, arguments, below, report)
    if isinstance(arguments, OtherTableSum) and rule.scope == "batch" and not TableName(table.name).is_gold:
        message = (
            "a batch is only a part of the table, and its sum cannot be expected to equal that of another"
            " table"
        )
        report.add(path, rule.scope, message, "add scope: table")


def _check_other_table(
    table: JudgedTable, arguments: OtherTableMembers | OtherTableSum, below: Path, report: Report
) -> None:
    other, place = arguments.other_table, (*below, "other_table")
    if other == table.name:
        report.add(place, other, "a table cannot be compared with itself", did_you_mean(other, table.others))
    elif report.require(
        place, other, list(table.others), f"table that {table.name} can be compared with called"
    ):
        known = table.others[other]
        for name in arguments.other_columns if known is not None else ():
            key = "other_column" if arguments.other_column else "other_column_list"
            report.require((*below, key), name, list(known or ()), f"column in {other} called")
