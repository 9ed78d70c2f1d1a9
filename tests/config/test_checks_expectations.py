"""Each mistake that an expectation file of valid shape can still contain is refused with its line, its value
and what to do.
"""

import pytest

from spark_jobs.config.errors import Problem
from tests.config.conftest import Workspace

NOT_NULL = "expect_column_values_to_not_be_null"
BETWEEN = "expect_column_values_to_be_between"
IN_SET = "expect_column_values_to_be_in_set"
REGEX = "expect_column_values_to_match_regex"
MEMBERS = "expect_column_values_to_be_in_other_table"
SUMS = "expect_column_sum_to_equal_other_table"
HISTORY = "expect_table_row_count_to_match_history"
RECENT = "expect_column_max_to_be_recent"
CUSTOM = "unexpected_rows_expectation"


def judge(
    workspace: Workspace, kind: str, kwargs: str, more: str = "on_fail: warn", table: str = "silver.orders"
) -> list[Problem]:
    """The problems of a file with one rule, whose arguments stand in line 4 and whose other keys in line 5
    and below.
    """
    keys = "".join(f"    {line}\n" for line in more.split("\n"))
    text = (
        f"expectations:\n  the_rule:\n    type: {kind}\n    kwargs: {kwargs}\n{keys}    reason: It must be"
        " so.\n"
    )
    workspace.write(f"expectations/shop/{table}.yml", text)
    return workspace.problems()


ACCEPTED = {
    "a null": (NOT_NULL, "{column: order_id}", "on_fail: quarantine", "silver.orders"),
    "a computed column": (NOT_NULL, "{column: is_big}", "on_fail: quarantine", "silver.orders"),
    "a tag for a column of a lookup": (NOT_NULL, "{column: city}", "on_fail: tag", "silver.orders"),
    "a nested column": (NOT_NULL, "{column: tags}", "on_fail: quarantine", "silver.orders"),
    "a dimension": (NOT_NULL, "{column: city}", "on_fail: quarantine", "dimension.customers"),
    "a column of a lookup": (NOT_NULL, "{column: city, mostly: 0.9}", "on_fail: block", "silver.orders"),
    "a system column": (NOT_NULL, "{column: _event_at}", "on_fail: warn", "silver.orders"),
    "a measure": (BETWEEN, "{column: revenue, min_value: 0}", "on_fail: block", "gold.hourly"),
    "a column of SQL": (NOT_NULL, "{column: revenue}", "on_fail: block", "gold.top"),
    "any column of a function": (NOT_NULL, "{column: whatever}", "on_fail: block", "gold.funnel"),
    "a condition on any column": (
        NOT_NULL,
        '{column: whatever, row_condition: "step > 1", condition_parser: spark}',
        "on_fail: warn",
        "gold.funnel",
    ),
    "dates": (
        BETWEEN,
        "{column: ordered_at, min_value: 2024-01-01, max_value: '2024-01-01T10:00:00Z'}",
        "on_fail: quarantine",
        "silver.orders",
    ),
    "numbers": (
        BETWEEN,
        "{column: amount, min_value: -1, max_value: 0.5, strict_max: true}",
        "on_fail: quarantine",
        "silver.orders",
    ),
    "a set of dates": (
        IN_SET,
        "{column: shipped_on, value_set: [2024-01-01]}",
        "on_fail: quarantine",
        "silver.orders",
    ),
    "a pair with a null": (
        "expect_column_pair_values_to_be_in_set",
        "{column_A: country, column_B: region, value_pairs_set: [[at, null], [at, wien]]}",
        "on_fail: quarantine",
        "silver.lines",
    ),
    "a pair of times": (
        "expect_column_pair_values_a_to_be_greater_than_b",
        "{column_A: paid_at, column_B: shipped_on}",
        "on_fail: quarantine",
        "silver.orders",
    ),
    "a condition": (
        NOT_NULL,
        '{column: paid_at, row_condition: "amount > 0", condition_parser: spark}',
        "on_fail: quarantine",
        "silver.orders",
    ),
    "members of a dimension": (
        MEMBERS,
        "{column: customer_id, other_table: dimension.customers, other_column: customer_id}",
        "on_fail: block",
        "silver.orders",
    ),
    "members by several columns": (
        MEMBERS,
        (
            "{column_list: [country, region], other_table: dimension.regions, other_column_list: [country,"
            " region]}"
        ),
        "on_fail: block",
        "silver.lines",
    ),
    "sums": (
        SUMS,
        "{column: revenue, other_table: silver.orders, other_column: amount, tolerance: 0.5}",
        "on_fail: block",
        "gold.hourly",
    ),
    "sums of a whole table": (
        SUMS,
        "{column: amount, other_table: silver.lines, other_column: order_id}",
        "on_fail: warn\nscope: table",
        "silver.orders",
    ),
    "a history": (HISTORY, "{min_ratio: 0.5, max_ratio: 2}", "on_fail: block", "silver.orders"),
    "half a history": (HISTORY, "{min_ratio: 0.5, batches: 3}", "on_fail: block", "silver.orders"),
    "a recent time of some rows": (
        RECENT,
        '{column: ordered_at, max_age: 2 days, row_condition: "amount > 0", condition_parser: spark}',
        "on_fail: warn",
        "silver.orders",
    ),
    "a recent time": (RECENT, "{column: ordered_at, max_age: 2 days}", "on_fail: warn", "silver.orders"),
    "a query": (
        CUSTOM,
        (
            '{unexpected_rows_query: "SELECT b.* FROM {batch} b JOIN silver.lines l USING (order_id) WHERE'
            " b.amount < 0 AND l.sku = '{{}}'\"}"
        ),
        "on_fail: block",
        "silver.orders",
    ),
    "all columns of a table": (
        "expect_table_columns_to_match_set",
        "{column_set: [order_id, _processed_at], exact_match: false}",
        "on_fail: warn",
        "silver.orders",
    ),
    "an unknown type, which is for GX to judge": ("expect_the_best", "{}", "on_fail: warn", "silver.orders"),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_makes_sense_is_accepted(workspace: Workspace, case: str) -> None:
    assert [str(problem) for problem in judge(workspace, *ACCEPTED[case])] == []


# type, arguments, other keys, table, line, part of the message, part of the hint
Case = tuple[str, str, str, str, int, str, str]
ACTIONS: dict[str, Case] = {
    "an aggregate sets no row aside": (
        "expect_column_max_to_be_between",
        "{column: amount, max_value: 5}",
        "on_fail: quarantine",
        "silver.orders",
        5,
        "does not judge single rows",
        "expect_column_values_to_be_between",
    ),
    "one of Weir's own sets no row aside": (
        RECENT,
        "{column: ordered_at, max_age: 1 day}",
        "on_fail: quarantine",
        "silver.orders",
        5,
        "does not judge single rows",
        "allowed: expect_column_values_to_not_be_null",
    ),
    "gold sets no row aside": (
        NOT_NULL,
        "{column: city}",
        "on_fail: quarantine",
        "gold.hourly",
        5,
        "gold table",
        "warn or block",
    ),
    "an aggregate tags no row": (
        "expect_column_max_to_be_between",
        "{column: amount, max_value: 5}",
        "on_fail: tag",
        "silver.orders",
        5,
        "'tag' is incompatible with expect_column_max_to_be_between",
        "expect_column_values_to_be_between",
    ),
    "gold tags no row": (
        NOT_NULL,
        "{column: city}",
        "on_fail: tag",
        "gold.hourly",
        5,
        "gold table",
        "or tag in the silver table",
    ),
    "a dimension tags no row": (
        NOT_NULL,
        "{column: city}",
        "on_fail: tag",
        "dimension.customers",
        5,
        "facts take columns of its members",
        "or tag in the silver table",
    ),
    "a tag for most rows": (
        NOT_NULL,
        "{column: amount, mostly: 0.9}",
        "on_fail: tag",
        "silver.orders",
        4,
        "each failing row is tagged",
        "remove mostly",
    ),
    "a tag for the whole table": (
        NOT_NULL,
        "{column: amount}",
        "on_fail: tag\nscope: table",
        "silver.orders",
        6,
        "only single rows can be tagged",
        "remove scope",
    ),
    "a tag for a column of the system": (
        NOT_NULL,
        "{column: _arrived_at}",
        "on_fail: tag",
        "silver.orders",
        4,
        "the system's own",
        "amount",
    ),
    "most rows": (
        NOT_NULL,
        "{column: amount, mostly: 0.9}",
        "on_fail: quarantine",
        "silver.orders",
        4,
        "'mostly'",
        "remove mostly",
    ),
    "the whole table": (
        NOT_NULL,
        "{column: amount}",
        "on_fail: quarantine\nscope: table",
        "silver.orders",
        6,
        "scope: table",
        "remove scope",
    ),
    "a column of a lookup": (
        NOT_NULL,
        "{column: city}",
        "on_fail: quarantine",
        "silver.orders",
        4,
        "not one of the table's own",
        "warn or block",
    ),
    "a condition on a lookup": (
        NOT_NULL,
        "{column: amount, row_condition: city = 'Wien', condition_parser: spark}",
        "on_fail: quarantine",
        "silver.orders",
        4,
        "no column 'city'",
        "amount",
    ),
    "a history of the table": (
        HISTORY,
        "{min_ratio: 1, max_ratio: 2}",
        "on_fail: warn\nscope: table",
        "silver.orders",
        6,
        "comparison of batches",
        "remove scope",
    ),
    "the sum of a batch": (
        SUMS,
        "{column: amount, other_table: silver.lines, other_column: order_id}",
        "on_fail: warn",
        "silver.orders",
        2,
        "only a part of the table",
        "add scope: table",
    ),
}
COLUMNS: dict[str, Case] = {
    "an unknown column": (
        NOT_NULL,
        "{column: amout}",
        "on_fail: warn",
        "silver.orders",
        4,
        "no column 'amout'",
        "did you mean 'amount'?",
    ),
    "a column in another case": (
        NOT_NULL,
        "{column: Amount}",
        "on_fail: warn",
        "silver.orders",
        4,
        "no column 'Amount'",
        "'amount'",
    ),
    "an unknown column in a list": (
        "expect_compound_columns_to_be_unique",
        "{column_list: [order_id, verson]}",
        "on_fail: warn",
        "silver.orders",
        4,
        "no column 'verson'",
        "'version'",
    ),
    "a column of SQL": (
        NOT_NULL,
        "{column: revnue}",
        "on_fail: warn",
        "gold.top",
        4,
        "no column 'revnue'",
        "'revenue'",
    ),
    "when a row was processed": (
        NOT_NULL,
        "{column: _processed_at}",
        "on_fail: warn",
        "silver.orders",
        4,
        "were processed",
        "allowed",
    ),
}
ARGUMENTS: dict[str, Case] = {
    "no bounds": (
        BETWEEN,
        "{column: amount}",
        "on_fail: warn",
        "silver.orders",
        4,
        "neither min_value nor max_value",
        "add",
    ),
    "bounds that exclude one another": (
        BETWEEN,
        "{column: amount, min_value: 2, max_value: 1}",
        "on_fail: warn",
        "silver.orders",
        4,
        "nothing lies between",
        "exchange",
    ),
    "dates that exclude one another": (
        BETWEEN,
        "{column: ordered_at, min_value: 2024-02-01, max_value: 2024-01-01}",
        "on_fail: warn",
        "silver.orders",
        4,
        "nothing lies between",
        "exchange",
    ),
    "strict bounds without room": (
        BETWEEN,
        "{column: amount, min_value: 1, max_value: 1, strict_min: true}",
        "on_fail: warn",
        "silver.orders",
        4,
        "nothing lies between",
        "widen",
    ),
    "text for a number": (
        BETWEEN,
        "{column: amount, min_value: '5'}",
        "on_fail: warn",
        "silver.orders",
        4,
        "not a number",
        "without quotes",
    ),
    "a number beyond all": (
        BETWEEN,
        "{column: amount, max_value: 1.0e999}",
        "on_fail: warn",
        "silver.orders",
        4,
        "inf is not a number",
        "number",
    ),
    "a number for a time": (
        BETWEEN,
        "{column: ordered_at, min_value: 5}",
        "on_fail: warn",
        "silver.orders",
        4,
        "not a date",
        "2024-01-31",
    ),
    "a day that is not there": (
        BETWEEN,
        "{column: shipped_on, min_value: 2024-02-30}",
        "on_fail: warn",
        "silver.orders",
        4,
        "'2024-02-30' is not a date",
        "2024-01-31",
    ),
    "the clock for a value of unknown type": (
        BETWEEN,
        "{column: revenue, min_value: now}",
        "on_fail: warn",
        "gold.top",
        4,
        "is not a date or time",
        "2024-01-31",
    ),
    "bounds of text": (
        BETWEEN,
        "{column: sku, min_value: 1}",
        "on_fail: warn",
        "silver.lines",
        4,
        "has no bounds",
        "match_regex",
    ),
    "half a row": (
        "expect_table_row_count_to_be_between",
        "{min_value: 1.5}",
        "on_fail: warn",
        "silver.orders",
        4,
        "not a whole number",
        "digits",
    ),
    "a set of another kind": (
        IN_SET,
        "{column: order_id, value_set: [1, two]}",
        "on_fail: warn",
        "silver.orders",
        4,
        "'two' is not a number",
        "number",
    ),
    "NULL in a set": (
        IN_SET,
        "{column: city, value_set: [Wien, null]}",
        "on_fail: warn",
        "silver.orders",
        4,
        "NULL equals nothing",
        "not_be_null",
    ),
    "a set for a list": (
        IN_SET,
        "{column: tags, value_set: [a]}",
        "on_fail: warn",
        "silver.orders",
        4,
        "whole value",
        "simple types",
    ),
    "a pair of another kind": (
        "expect_column_pair_values_to_be_in_set",
        "{column_A: order_id, column_B: version, value_pairs_set: [[1, one]]}",
        "on_fail: warn",
        "silver.orders",
        4,
        "'one' is not a number",
        "number",
    ),
    "a broken pattern": (
        REGEX,
        "{column: sku, regex: '['}",
        "on_fail: warn",
        "silver.lines",
        4,
        "not a regular expression",
        "correct",
    ),
    "a broken pattern in a list": (
        "expect_column_values_to_not_match_regex_list",
        "{column: sku, regex_list: [a, '(']}",
        "on_fail: warn",
        "silver.lines",
        4,
        "not a regular expression",
        "correct",
    ),
    "a pattern in a schema that may take for ever": (
        "expect_column_values_to_match_json_schema",
        "{column: sku, json_schema: {type: object, properties: {a: {type: string, pattern: ^(x|x)*$}}}}",
        "on_fail: warn",
        "silver.lines",
        4,
        "may take for ever on a value",
        "begin it with ^",
    ),
    "a pattern of names in a schema": (
        "expect_column_values_to_match_json_schema",
        "{column: sku, json_schema: {anyOf: [{patternProperties: {'(a+)+$': {}}}]}}",
        "on_fail: warn",
        "silver.lines",
        4,
        "may take for ever on a value",
        "begin it with ^",
    ),
    "a schema elsewhere": (
        "expect_column_values_to_match_json_schema",
        "{column: sku, json_schema: {items: {$ref: 'https://schemas.example.org/line'}}}",
        "on_fail: warn",
        "silver.lines",
        4,
        "lies elsewhere",
        "write it into this one",
    ),
    "a pattern for numbers": (
        REGEX,
        "{column: order_id, regex: '1'}",
        "on_fail: warn",
        "silver.orders",
        4,
        "about texts",
        "text column",
    ),
    "a sum of text": (
        "expect_multicolumn_sum_to_equal",
        "{column_list: [amount, is_big], sum_total: 3}",
        "on_fail: warn",
        "silver.orders",
        4,
        "about numbers",
        "number column",
    ),
    "a pair that cannot be compared": (
        "expect_column_pair_values_to_be_equal",
        "{column_A: amount, column_B: paid_at}",
        "on_fail: warn",
        "silver.orders",
        4,
        "cannot be compared with one another",
        "one kind",
    ),
    "an empty set": (
        IN_SET,
        "{column: city, value_set: []}",
        "on_fail: warn",
        "silver.orders",
        4,
        "the list is empty",
        "at least one",
    ),
    "one column within a record": (
        "expect_select_column_values_to_be_unique_within_record",
        "{column_list: [amount]}",
        "on_fail: warn",
        "silver.orders",
        4,
        "cannot repeat a value",
        "at least two",
    ),
    "a wrong choice of rows to ignore": (
        "expect_select_column_values_to_be_unique_within_record",
        "{column_list: [amount, version], ignore_row_if: neither}",
        "on_fail: warn",
        "silver.orders",
        4,
        "no choice called 'neither'",
        "never",
    ),
    "a parameter": (
        BETWEEN,
        "{column: amount, min_value: {$PARAMETER: low}}",
        "on_fail: warn",
        "silver.orders",
        4,
        "nobody gives",
        "the value itself",
    ),
}
OWN_TYPES: dict[str, Case] = {
    "no ratio": (
        HISTORY,
        "{batches: 2}",
        "on_fail: warn",
        "silver.orders",
        4,
        "neither min_ratio nor max_ratio",
        "add at least one",
    ),
    "a history of some rows": (
        HISTORY,
        "{min_ratio: 1, row_condition: amount > 0, condition_parser: spark}",
        "on_fail: warn",
        "silver.orders",
        4,
        "whole batches",
        "remove it",
    ),
    "a clock in the condition": (
        RECENT,
        "{column: ordered_at, max_age: 1 day, row_condition: paid_at < now(), condition_parser: spark}",
        "on_fail: warn",
        "silver.orders",
        4,
        "now may not be used",
        "data",
    ),
    "ratios that exclude one another": (
        HISTORY,
        "{min_ratio: 3, max_ratio: 2}",
        "on_fail: warn",
        "silver.orders",
        4,
        "greater",
        "exchange",
    ),
    "an unknown argument": (
        HISTORY,
        "{min_ratio: 1, max_ratio: 2, days: 3}",
        "on_fail: warn",
        "silver.orders",
        4,
        "'days' is unknown",
        "batches",
    ),
    "no duration": (
        RECENT,
        "{column: ordered_at, max_age: 2}",
        "on_fail: warn",
        "silver.orders",
        4,
        "not text",
        "quotes",
    ),
    "an age of a number": (
        RECENT,
        "{column: amount, max_age: 1 day}",
        "on_fail: warn",
        "silver.orders",
        4,
        "about times",
        "time column",
    ),
    "itself": (
        MEMBERS,
        "{column: order_id, other_table: silver.orders, other_column: order_id}",
        "on_fail: warn",
        "silver.orders",
        4,
        "with itself",
        "silver.lines",
    ),
    "bronze": (
        MEMBERS,
        "{column: order_id, other_table: bronze.orders, other_column: order_id}",
        "on_fail: warn",
        "silver.orders",
        4,
        "no table",
        "dimension.customers",
    ),
    "a table that is made from it": (
        MEMBERS,
        "{column: city, other_table: gold.top, other_column: city}",
        "on_fail: warn",
        "silver.orders",
        4,
        "no table",
        "dimension.customers",
    ),
    "an unknown column of the other table": (
        MEMBERS,
        "{column: customer_id, other_table: dimension.customers, other_column: customer}",
        "on_fail: warn",
        "silver.orders",
        4,
        "no column in dimension.customers called 'customer'",
        "'customer_id'",
    ),
    "columns that do not pair up": (
        MEMBERS,
        "{column: customer_id, other_table: dimension.customers, other_column_list: [customer_id]}",
        "on_fail: warn",
        "silver.orders",
        4,
        "do not pair up",
        "column_list with other_column_list",
    ),
}


def condition(text: str, parser: str = ", condition_parser: spark") -> str:
    return f'{{column: amount, row_condition: "{text}"{parser}}}'


def query(sql: str) -> str:
    return f'{{unexpected_rows_query: "{sql}"}}'


SQL: dict[str, Case] = {
    "a condition for pandas": (
        NOT_NULL,
        condition("version > 1", ", condition_parser: pandas"),
        "on_fail: warn",
        "silver.orders",
        4,
        "'condition_parser' must say so",
        "condition_parser: spark",
    ),
    "a condition without a parser": (
        NOT_NULL,
        condition("version > 1", ""),
        "on_fail: warn",
        "silver.orders",
        4,
        "must say so",
        "spark",
    ),
    "a condition as an object": (
        NOT_NULL,
        "{column: amount, row_condition: {type: nullity, column: {name: amount}}}",
        "on_fail: warn",
        "silver.orders",
        4,
        "not text",
        "as SQL",
    ),
    "a condition with a clock": (
        NOT_NULL,
        condition("paid_at < now()"),
        "on_fail: warn",
        "silver.orders",
        4,
        "now may not be used",
        "data",
    ),
    "a condition that does not parse": (
        NOT_NULL,
        condition("version >"),
        "on_fail: warn",
        "silver.orders",
        4,
        "does not parse",
        "correct",
    ),
    "a condition on an unknown column": (
        NOT_NULL,
        condition("versin > 1"),
        "on_fail: warn",
        "silver.orders",
        4,
        "'versin'",
        "'version'",
    ),
    "a query without the batch": (
        CUSTOM,
        query("SELECT * FROM silver.lines"),
        "on_fail: warn",
        "silver.orders",
        4,
        "does not read {batch}",
        "FROM {batch}",
    ),
    "a query with other braces": (
        CUSTOM,
        query("SELECT * FROM {batch} WHERE {x}"),
        "on_fail: warn",
        "silver.orders",
        4,
        "{x}",
        "twice",
    ),
    "a query with half a brace": (
        CUSTOM,
        query("SELECT * FROM {batch"),
        "on_fail: warn",
        "silver.orders",
        4,
        "brace",
        "twice",
    ),
    "no query": (
        CUSTOM,
        query("DELETE FROM {batch}"),
        "on_fail: warn",
        "silver.orders",
        4,
        "not a SELECT",
        "one SELECT",
    ),
    "two queries": (
        CUSTOM,
        query("SELECT * FROM {batch}; SELECT 1"),
        "on_fail: warn",
        "silver.orders",
        4,
        "2 statements",
        "exactly one",
    ),
    "a query with chance": (
        CUSTOM,
        query("SELECT * FROM {batch} WHERE rand() < 1"),
        "on_fail: warn",
        "silver.orders",
        4,
        "rand",
        "data",
    ),
    "a query of itself": (
        CUSTOM,
        query("SELECT * FROM {batch} JOIN silver.orders USING (order_id)"),
        "on_fail: warn",
        "silver.orders",
        4,
        "reads silver.orders itself",
        "scope: table",
    ),
    "a query of an unknown table": (
        CUSTOM,
        query("SELECT * FROM {batch} JOIN silver.line USING (order_id)"),
        "on_fail: warn",
        "silver.orders",
        4,
        "no table 'silver.line'",
        "did you mean 'silver.lines'?",
    ),
    "a query of a file": (
        CUSTOM,
        query("SELECT * FROM {batch} JOIN delta.`/etc` USING (order_id)"),
        "on_fail: warn",
        "silver.orders",
        4,
        "no table 'delta./etc'",
        "allowed",
    ),
    "a query of bronze": (
        CUSTOM,
        query("SELECT * FROM {batch} JOIN bronze.orders USING (order_id)"),
        "on_fail: warn",
        "silver.orders",
        4,
        "raw records",
        "silver.lines",
    ),
    "a query of an unknown column": (
        CUSTOM,
        query("SELECT * FROM {batch} WHERE amout < 0"),
        "on_fail: warn",
        "silver.orders",
        4,
        "no column 'amout'",
        "'amount'",
    ),
}
REFUSED = ACTIONS | COLUMNS | ARGUMENTS | OWN_TYPES | SQL


def test_no_case_hides_another() -> None:
    assert len(REFUSED) == sum(map(len, (ACTIONS, COLUMNS, ARGUMENTS, OWN_TYPES, SQL)))


@pytest.mark.parametrize("case", REFUSED)
def test_a_mistake_is_refused_with_its_line_and_what_to_do(workspace: Workspace, case: str) -> None:
    kind, kwargs, more, table, line, message, hint = REFUSED[case]

    problems = judge(workspace, kind, kwargs, more, table)

    assert len(problems) == 1, "\n".join(map(str, problems)) or "no problem was found"
    assert (problems[0].file, problems[0].line) == (f"expectations/shop/{table}.yml", line)
    assert message in problems[0].message
    assert hint in problems[0].hint


@pytest.mark.parametrize("name", ["readable", "decodable", "required"])
def test_a_rule_cannot_take_the_name_of_a_reason_that_weir_gives(workspace: Workspace, name: str) -> None:
    text = (
        f"expectations: {{{name}: {{type: {NOT_NULL}, kwargs: {{column: amount}}, on_fail: warn, reason:"
        " So.}}\n"
    )
    workspace.write("expectations/shop/silver.orders.yml", text)

    assert "Weir's own reason" in workspace.problem().message


def test_an_argument_of_a_wrong_shape_is_left_to_great_expectations(workspace: Workspace) -> None:
    assert judge(workspace, NOT_NULL, "{column: 5}") == []
    assert judge(workspace, IN_SET, "{column: city, value_set: Wien}") == []
    assert judge(workspace, CUSTOM, "{unexpected_rows_query: 5}") == []
