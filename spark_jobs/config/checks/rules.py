"""Checks of expectations that need only the pipeline: what may be combined, which columns are there, and what
other tables are read.

Whether Great Expectations has a type and takes its arguments is checked where it is installed
(quality/check.py).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from string import Formatter

from spark_jobs.config.checks.rule_arguments import check_arguments
from spark_jobs.config.checks.sql import Columns, resolve_columns
from spark_jobs.config.checks.tables import Path
from spark_jobs.config.columns import OF_PROCESSING, own_columns
from spark_jobs.config.document import Report
from spark_jobs.config.errors import ConfigError, Problem, did_you_mean
from spark_jobs.config.expectation_types import COMPILED, CUSTOM_SQL, OWN, OtherTableMembers, OtherTableSum
from spark_jobs.config.expectations import READABLE, Rule, named_columns
from spark_jobs.config.expressions import judge_query, judge_row_expression
from spark_jobs.config.graph import (
    RING_HINT,
    find_ring,
    inputs_of,
    rule_edges,
    say_ring,
    table_names,
    tables_read_by,
)
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.row_order import Keys
from spark_jobs.config.rule_files import PipelineRules, rules_file
from spark_jobs.config.sql import SqlError, columns_in, located_tables, parse_query
from spark_jobs.config.table_name import TableName
from spark_jobs.config.task_stages import made_too_late
from spark_jobs.config.validation import validate

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


# The rules by which rows are set aside without any expectation (silver/decode.py): a reason must tell which
# one it was.
RESERVED = (READABLE, "decodable", "required")
Place = tuple[str | int, ...]


def check_expectations(
    pipeline: Pipeline, rules: PipelineRules, tables: Mapping[str, Columns | None], keys: Keys, conf: FilePath
) -> list[Problem]:
    """Every problem of a pipeline's expectation files. `tables` are all its tables, with their columns where
    they are known.
    """
    problems: list[Problem] = []
    for table, found in rules.items():
        report = Report(rules_file(conf.parent, pipeline.name, table), conf.parent)
        judged = judged_table(pipeline, table, tables, keys, conf)
        for rule in found:
            _check_rule(judged, rule, report)
        problems += report.problems
    return problems + _check_order(pipeline, rules, conf)


def _check_order(pipeline: Pipeline, rules: PipelineRules, conf: FilePath) -> list[Problem]:
    """Every table that rules read comes before the table that they judge. What a single rule may not read was
    said already.
    """
    readable = {
        table: judged_table(pipeline, table, dict.fromkeys(table_names(pipeline)), {}, conf).others
        for table in rules
    }
    edges = {
        table: tuple(other for other in others if other in readable[table])
        for table, others in rule_edges(rules).items()
    }
    problems: list[Problem] = []
    if ring := find_ring(pipeline, edges, conf):
        first = next((table for table in ring if {*edges.get(table, ())} & ({*ring} - {table})), None)
        if first is not None:  # else they are made from one another, which is a problem of the pipeline file
            problems += _about_reading(pipeline, first, ring, rules[first], conf, say_ring(ring), RING_HINT)
        return problems
    for table, other in made_too_late(pipeline, edges):
        message = (
            f"{table} is judged before {other} is made: with `tasks: {pipeline.tasks}` a later task of the"
            " DAG makes it"
        )
        problems += _about_reading(
            pipeline, table, [other], rules[table], conf, message, "set `tasks: pipeline`, or remove the rule"
        )
    return problems


def _about_reading(
    pipeline: Pipeline,
    table: str,
    others: Collection[str],
    rules: Sequence[Rule],
    conf: FilePath,
    message: str,
    hint: str,
) -> list[Problem]:
    """A problem of the first rule of a table that reads one of these."""
    report = Report(rules_file(conf.parent, pipeline.name, table), conf.parent)
    rule = next(rule for rule in rules if {*tables_read_by(rule)} & {*others} - {table})
    report.add(("expectations", rule.name), ", ".join(tables_read_by(rule)), message, hint)
    return report.problems


def _check_rule(table: JudgedTable, rule: Rule, report: Report) -> None:
    path: Place = ("expectations", rule.name)
    if rule.name in RESERVED:
        message = f"the name {rule.name!r} is Weir's own reason for setting a row aside"
        report.add(path, rule.name, message, "choose another name")
    _check_action(table, rule, path, report)
    known = _nameable(table, rule)
    if rule.type in OWN:
        check_own_type(table, rule, path, report)
    for place, name in named_columns(rule.kwargs):
        if known is not None and name not in known:
            report.add((*path, "kwargs", *place), name, *_no_such_column(table, name, known))
    check_arguments(rule, known or {}, path, report)
    check_row_condition(rule, known, path, report)
    if rule.type == CUSTOM_SQL:
        check_custom_sql(rule, table, path, report)


def _check_action(table: JudgedTable, rule: Rule, path: Place, report: Report) -> None:
    """What `on_fail` and `scope` may be combined with."""
    if rule.on_fail != "quarantine":
        return
    place = (*path, "on_fail")
    if TableName(table.name).is_gold:
        message = "'quarantine' is incompatible with a gold table, whose rows are computed from others"
        report.add(place, rule.on_fail, message, "use warn or block here, or quarantine in the silver table")
    elif rule.type not in COMPILED:
        message = f"'quarantine' is incompatible with {rule.type}, which does not judge single rows"
        report.add(
            place,
            rule.on_fail,
            message,
            f"use warn or block, or a type that does; {did_you_mean(rule.type, COMPILED)}",
        )
    if rule.scope == "table":
        message = "'quarantine' is incompatible with scope: table: only rows that arrive can be set aside"
        report.add((*path, "scope"), rule.scope, message, "remove scope, or use warn or block")
    if "mostly" in rule.kwargs:
        message = (
            "'quarantine' is incompatible with 'mostly': each failing row is set aside, whatever their share"
        )
        report.add(
            (*path, "kwargs", "mostly"), rule.kwargs["mostly"], message, "remove mostly, or use warn or block"
        )


def _nameable(table: JudgedTable, rule: Rule) -> Columns | None:
    """The columns that the rule may name; None where they cannot be told."""
    if rule.on_fail == "quarantine" and not TableName(table.name).is_gold:
        return table.own
    return table.columns if rule.type.startswith("expect_table_columns_") else table.stable


def _no_such_column(table: JudgedTable, name: str, known: Columns) -> tuple[str, str]:
    if table.columns is not None and name in table.columns:
        if name in OF_PROCESSING:
            return f"the column {name!r} tells when rows were processed, not what they say", did_you_mean(
                name, known
            )
        message = (
            f"the column {name!r} is not one of the table's own, and what it holds may change later: no row"
            " can be set aside for it"
        )
        return message, f"use warn or block; own columns: {', '.join(known)}"
    return f"there is no column {name!r} in {table.name}", did_you_mean(name, known)
