"""Checks of Weir's own types of expectations: their arguments, and the tables that they compare with."""

from spark_jobs.config.checks_columns import Path
from spark_jobs.config.errors import ConfigError, did_you_mean
from spark_jobs.config.expectation_types import OWN, OtherTableMembers, OtherTableSum
from spark_jobs.config.expectations import Rule
from spark_jobs.config.judged_table import JudgedTable
from spark_jobs.config.report import Report
from spark_jobs.config.validation import validate


def check_own_type(table: JudgedTable, rule: Rule, path: Path, report: Report) -> None:
    below = (*path, "kwargs")
    try:
        arguments = validate(OWN[rule.type], report.document, below)
    except ConfigError as error:
        report.problems.extend(error.problems)
        return
    if rule.type == "expect_table_row_count_to_match_history" and rule.scope == "table":
        report.add((*path, "scope"), rule.scope, "'scope: table' is incompatible with a comparison of batches", "remove scope")
    if isinstance(arguments, OtherTableMembers | OtherTableSum):
        _check_other_table(table, arguments, below, report)
    if isinstance(arguments, OtherTableSum) and rule.scope == "batch" and not table.name.startswith("gold."):
        message = "a batch is only a part of the table, and its sum cannot be expected to equal that of another table"
        report.add(path, rule.scope, message, "add scope: table")


def _check_other_table(table: JudgedTable, arguments: OtherTableMembers | OtherTableSum, below: Path, report: Report) -> None:
    other, place = arguments.other_table, (*below, "other_table")
    if other == table.name:
        report.add(place, other, "a table cannot be compared with itself", did_you_mean(other, table.others))
    elif report.require(place, other, list(table.others), f"table that {table.name} can be compared with called"):
        known = table.others[other]
        for name in arguments.other_columns if known is not None else ():
            key = "other_column" if arguments.other_column else "other_column_list"
            report.require((*below, key), name, list(known or ()), f"column in {other} called")
