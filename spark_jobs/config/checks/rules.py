"""Checks of expectations that need only the pipeline: what may be combined, on which columns, and in which
order the tables are judged.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path as FilePath

from spark_jobs.config.checks.rule_arguments import check_arguments
from spark_jobs.config.checks.rule_sql import (
    JudgedTable,
    check_custom_sql,
    check_own_type,
    check_row_condition,
    judged_table,
)
from spark_jobs.config.checks.sql import Columns
from spark_jobs.config.columns import OF_PROCESSING
from spark_jobs.config.errors import Problem, did_you_mean
from spark_jobs.config.expectation_types import COMPILED, CUSTOM_SQL, OWN
from spark_jobs.config.expectations import READABLE, Rule, named_columns
from spark_jobs.config.graph import (
    RING_HINT,
    find_ring,
    rule_edges,
    say_ring,
    table_names,
    tables_read_by,
)
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.row_keys import Keys
from spark_jobs.config.rule_files import PipelineRules, rules_file
from spark_jobs.config.table_name import TableName
from spark_jobs.config.task_stages import made_too_late
from spark_jobs.config.validation import Report

# The rules by which rows are set aside without any expectation (silver/decode.py): a reason must tell which
# one it was.
RESERVED = (READABLE, "decodable", "required")
DONE_TO_ROWS = {
    "quarantine": {"done": "set aside", "rows": "rows that arrive can be set aside"},
    "tag": {"done": "tagged", "rows": "single rows can be tagged"},
}
"""What a failure does to each row: such rules judge single rows."""
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
            report.add((*path, "kwargs", *place), name, *_no_such_column(table, rule, name, known))
    check_arguments(rule, known or {}, path, report)
    check_row_condition(rule, known, path, report)
    if rule.type == CUSTOM_SQL:
        check_custom_sql(rule, table, path, report)


def _check_action(table: JudgedTable, rule: Rule, path: Place, report: Report) -> None:
    """What `on_fail` and `scope` may be combined with."""
    if rule.on_fail not in DONE_TO_ROWS:
        return
    place, asked = (*path, "on_fail"), f"{rule.on_fail!r} is incompatible with"
    done = DONE_TO_ROWS[rule.on_fail]
    if TableName(table.name).is_gold:
        message = f"{asked} a gold table, whose rows are computed from others"
        report.add(
            place, rule.on_fail, message, f"use warn or block here, or {rule.on_fail} in the silver table"
        )
    elif rule.on_fail == "tag" and not TableName(table.name).is_in("silver"):
        message = f"{asked} a dimension: facts take columns of its members, and would not see the tag"
        report.add(
            place, rule.on_fail, message, "use quarantine, warn or block here, or tag in the silver table"
        )
    elif rule.type not in COMPILED:
        message = f"{asked} {rule.type}, which does not judge single rows"
        report.add(
            place,
            rule.on_fail,
            message,
            f"use warn or block, or a type that does; {did_you_mean(rule.type, COMPILED)}",
        )
    if rule.scope == "table":
        message = f"{asked} scope: table: only {done['rows']}"
        report.add((*path, "scope"), rule.scope, message, "remove scope, or use warn or block")
    if "mostly" in rule.kwargs:
        message = f"{asked} 'mostly': each failing row is {done['done']}, whatever their share"
        report.add(
            (*path, "kwargs", "mostly"), rule.kwargs["mostly"], message, "remove mostly, or use warn or block"
        )


def _nameable(table: JudgedTable, rule: Rule) -> Columns | None:
    """The columns that the rule may name; None where they cannot be told."""
    if rule.on_fail == "quarantine" and not TableName(table.name).is_gold:
        return table.own
    if rule.on_fail == "tag" and table.columns is not None:
        return {name: kind for name, kind in table.columns.items() if not name.startswith("_")}
    return table.columns if rule.type.startswith("expect_table_columns_") else table.stable


def _no_such_column(table: JudgedTable, rule: Rule, name: str, known: Columns) -> tuple[str, str]:
    if table.columns is not None and name in table.columns:
        if rule.on_fail == "tag":
            message = f"the column {name!r} is the system's own, which no row is tagged for"
            return message, did_you_mean(name, known)
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
