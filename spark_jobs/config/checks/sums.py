"""Finds sums of floating numbers: what they come to depends on the order in which the rows come."""

import re
from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp

from spark_jobs.config.columns import ANY
from spark_jobs.config.functions import ADDING, DOUBLES, TEXTS
from spark_jobs.config.names import shorten
from spark_jobs.config.row_keys import Keys
from spark_jobs.config.row_order import has_total_order
from spark_jobs.config.sql import (
    DIALECT,
    Complaint,
    SqlError,
    function_names,
    parse_expression,
)

# Finds sums of floating-point numbers: their last digits depend on the order in which rows are added, so no
# table may hold them.

NO_KEYS: Keys = {}
TypeOf = Callable[[exp.Column], str]
WHOLE = ("tinyint", "smallint", "int", "bigint")
COMPUTING = (exp.Add, exp.Sub, exp.Mul, exp.IntDiv, exp.Mod, exp.Neg)
COUNTS = {
    "count",
    "length",
    "size",
    "cardinality",
    "array_size",
    "datediff",
    "date_diff",
    "levenshtein",
    "unix_timestamp",
}
"""Functions whose result is a whole number."""
# What has another type than the numbers inside it: conditions, and rounding to whole numbers.
NOT_FLOATING = (exp.Predicate, exp.Connector, exp.Not, exp.Floor, exp.Ceil)


def judge_sums(text: str, types: Mapping[str, str]) -> list[Complaint]:
    """What is wrong with the sums in a measure over columns of these types: (message, hint) each; none where
    it does not parse.
    """
    try:
        tree = parse_expression(text)
    except SqlError:
        return []
    by_name = {name.lower(): spark_type for name, spark_type in types.items()}
    return [
        explain(node)
        for node in floating_sums(tree, lambda column: by_name.get(column.parts[0].name.lower(), ANY))
    ]


def floating_sums(tree: exp.Expr, type_of: TypeOf, keys: Keys = NO_KEYS) -> Iterator[exp.Expr]:
    """The sums and averages of floating-point numbers. One OVER an order without ties adds its rows in that
    order, and passes.
    """
    for node in tree.find_all(exp.Func):
        window = node.find_ancestor(exp.Window, exp.Select)
        is_ordered = isinstance(window, exp.Window) and has_total_order(window, keys)
        if (
            function_names(node) & ADDING
            and not is_ordered
            and any(
                is_floating(child, type_of) or _is_text(child, type_of) for child in node.iter_expressions()
            )
        ):
            yield node


def explain(node: exp.Expr) -> Complaint:
    """The complaint about one sum, with the same sum in decimals."""
    exact = node.copy()
    added = next(exact.iter_expressions())
    for part in added.expressions if isinstance(added, exp.Distinct) else [added]:
        part.replace(exp.cast(part.copy(), "decimal(18,4)", dialect=DIALECT))
    message = (
        f"{shorten(node.sql(DIALECT))} adds floating-point numbers, so that its last digits depend on the"
        " order of rows"
    )
    return message, f"declare the column as decimal, or cast what is added, as in {exact.sql(DIALECT)}"


def is_floating(node: exp.Expr, type_of: TypeOf) -> bool:
    """Whether a value is a float or double, as far as the types of the columns tell; what
    is unknown passes.
    """
    if isinstance(node, exp.Cast):
        return bool(node.is_type("float", "double"))
    if isinstance(node, NOT_FLOATING) or "decimal" in function_names(node):
        return False
    if isinstance(node, exp.Column):
        return _is_floating_column(node, type_of(node))
    if isinstance(node, exp.Literal):
        return not node.is_string and "e" in node.name.lower()
    if function_names(node) & DOUBLES or (
        isinstance(node, exp.Div | exp.SafeDivide) and _is_whole(node, type_of)
    ):
        return True
    if isinstance(node, exp.Avg) and is_whole_number(node.this, type_of):
        return True
    return any(is_floating(child, type_of) for child in _values(node))


def _values(node: exp.Expr) -> Iterator[exp.Expr]:
    """The parts that a value is made from; what CASE and IF compare is none of them."""
    for child in node.iter_expressions():
        if not (isinstance(node, exp.Case | exp.If) and child.arg_key == "this"):
            yield child


def _is_floating_column(column: exp.Column, spark_type: str) -> bool:
    """Of an object the field that is named counts; of an array or map what is in it."""
    node: exp.Expr = column
    while isinstance(node.parent, exp.Dot) and node.parent.this is node:
        node = node.parent
    field = (
        rf"\b{re.escape(node.name)}:"
        if "struct<" in spark_type and node.name.lower() != column.parts[0].name.lower()
        else r"\b"
    )
    return re.search(rf"{field}(float|double)\b", spark_type, re.IGNORECASE) is not None


def _is_whole(node: exp.Expr, type_of: TypeOf) -> bool:
    """Whether all that is divided are whole numbers: Spark divides these as doubles."""
    return all(is_whole_number(part, type_of) for part in (node.this, node.expression))


def is_whole_number(node: exp.Expr, type_of: TypeOf) -> bool:
    node = node.unnest()
    if isinstance(node, exp.Column):
        return type_of(node) in WHOLE
    if isinstance(node, exp.Cast):
        return bool(node.is_type(*WHOLE))
    if isinstance(node, exp.Literal):
        return node.is_int
    if isinstance(node, COMPUTING):
        return all(is_whole_number(part, type_of) for part in node.iter_expressions())
    return bool(function_names(node) & COUNTS)


def _is_text(node: exp.Expr, type_of: TypeOf) -> bool:
    """Whether text is added, or what is computed from it: Spark takes it for doubles."""
    node = node.unnest()
    if isinstance(node, (exp.Distinct, exp.Div, *COMPUTING)):
        return any(_is_text(part, type_of) for part in node.iter_expressions())
    return (isinstance(node, exp.Column) and type_of(node) == "string") or bool(function_names(node) & TEXTS)
