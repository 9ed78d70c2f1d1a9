"""Runs the SQL of pipeline files. What enters: the text of a SELECT that was checked before. What leaves: its
rows.

The checks read SQL with a parser of their own. Spark's parser has the last word here: what it finds must be a
query and nothing else, so that no text that the two read differently runs a command or a program.
"""

import re
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    MapType,
    StringType,
    StructType,
    TimestampType,
    VarcharType,
    VariantType,
)

NODES = frozenset(
    (
        "Aggregate",
        "Distinct",
        "Except",
        "Filter",
        "Generate",
        "GlobalLimit",
        "Intersect",
        "Join",
        "LateralJoin",
        "LocalLimit",
        "LocalRelation",
        "Offset",
        "OneRowRelation",
        "Pivot",
        "Project",
        "RepartitionByExpression",
        "Sort",
        "SubqueryAlias",
        "Union",
        "Unpivot",
        "UnresolvedHaving",
        "UnresolvedInlineTable",
        "UnresolvedQualify",
        "UnresolvedRelation",
        "UnresolvedSubqueryColumnAliases",
        "UnresolvedTVFAliases",
        "UnresolvedTableValuedFunction",
        "UnresolvedWith",
        "WithWindowDefinition",
    )
)
"""The parts of a plan that only read and compute, as Spark's parser names them."""


class NotAQuery(ValueError):
    """SQL in which Spark's parser finds more than a query."""

    def __init__(self, found: str) -> None:
        self.found = found
        super().__init__(
            f"Spark reads {found} in the SQL, which is not among the parts of a query; write one plain SELECT"
        )


def run_query(spark: SparkSession, text: str) -> DataFrame:
    check_query(spark, text)
    return spark.sql(text)


def check_query(spark: SparkSession, text: str) -> None:
    """NotAQuery unless the text is a query over views and nothing else; nothing is run."""
    plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(text)
    for node in nodes_of(plan):
        found = str(node.nodeName())
        if found not in NODES:
            raise NotAQuery(found)
        # a table of a catalog, or a path
        if found == "UnresolvedRelation" and node.multipartIdentifier().size() > 1:
            raise NotAQuery(f"the table {node.name()}")


def nodes_of(plan: Any) -> Iterator[Any]:
    """The parts of a plan of the JVM's, those of its subqueries too."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        yield node
        for nested in (
            node.children(),
            node.innerChildren(),
            node.subqueries() if hasattr(node, "subqueries") else None,
        ):
            waiting += [nested.apply(at) for at in range(nested.size())] if nested is not None else []


# Refuses SQL that takes a time out of text without a format: Spark would take '12:30' for today at 12:30, and
# 'now' for now. `weir check` refuses what it can tell from the text. Here Spark has resolved all types, also
# of what stands in arrays, maps and variants.

BEGINS_WITH_A_YEAR = re.compile(r"[+-]?[0-9]{4,6}(-|$)")
SPECIAL = ("now", "today", "tomorrow", "yesterday")


class ReadsTheClock(ValueError):
    """An expression that takes a time out of text without a format."""

    def __init__(self, sql: str) -> None:
        hint = "declare the column as timestamp, or give the format: to_timestamp(t, 'yyyy-MM-dd HH:mm:ss')"
        super().__init__(
            f"the SQL {sql!r} takes a time out of text, in which Spark puts the day of the run where it has"
            f" none; {hint}"
        )
        self.sql = sql


def refuse_clocks(frame: DataFrame, sql: str, name: str | None = None) -> None:
    """Look at the expressions of the frame's last step, or at the one of this name alone."""
    if any(_takes_today(node) for node in nodes_of_column(frame, name)):
        raise ReadsTheClock(sql)


def nodes_of_column(frame: DataFrame, name: str | None) -> Iterator[Any]:
    """All parts of an expression of the frame's last step as Spark has resolved it, casts of its own
    included; of all expressions where no name is given.
    """
    for one in _each(frame._jdf.queryExecution().analyzed().expressions()):
        if name is None or one.name() == name:
            yield from _walk(one)


def is_in_lambda(node: Any) -> bool:
    """Whether it names the argument of a lambda, so that it means nothing outside of it."""
    return any(part.getClass().getSimpleName() == "NamedLambdaVariable" for part in _walk(node))


def refuse_clocks_in_query(found: DataFrame, sql: str) -> None:
    """Look at all that a query does with its views; not at what these are made of."""
    for step in _steps(found._jdf.queryExecution().analyzed()):
        if any(_takes_today(node) for one in _each(step.expressions()) for node in _walk(one)):
            raise ReadsTheClock(sql)


class AddsFloats(ValueError):
    """A sum or average of floating-point numbers."""

    def __init__(self, sql: str) -> None:
        super().__init__(
            f"the SQL {sql!r} adds floating-point numbers, so that its last digits depend on the order of"
            " rows; declare columns as decimal, or cast what is added, as in sum(CAST(x AS DECIMAL(18,4)))"
        )
        self.sql = sql


def refuse_floating_sums(frame: DataFrame, sql: str) -> None:
    """The same for sums: `weir check` knows the types of columns, Spark those of all that is made of them.
    Look at the frame's last step.
    """
    _refuse_sums_of(frame._jdf.queryExecution().analyzed(), sql)


def refuse_floating_sums_in_query(found: DataFrame, sql: str) -> None:
    for step in _steps(found._jdf.queryExecution().analyzed()):
        if step.nodeName() in ("Aggregate", "Window"):
            _refuse_sums_of(step, sql)


def _refuse_sums_of(step: Any, sql: str) -> None:
    if any(_adds_floats(one) for one in _each(step.expressions())):
        raise AddsFloats(sql)


def _adds_floats(node: Any) -> bool:
    """OVER an order rows are added in that order: whether it leaves ties, the check has judged."""
    match node.getClass().getSimpleName():
        case "WindowExpression" if node.windowSpec().orderSpec().nonEmpty():
            return False
        case "Sum" | "Average":
            return node.child().dataType().sql() in ("FLOAT", "DOUBLE")
        case _:
            return any(_adds_floats(child) for child in _each(node.children()))


def _steps(plan: Any) -> Iterator[Any]:
    waiting = [plan]
    while waiting:
        step = waiting.pop()
        if step.nodeName() != "View":
            yield step
            waiting += [*_each(step.children()), *_each(step.innerChildren()), *_each(step.subqueries())]


def _each(found: Any) -> list[Any]:
    return [found.apply(index) for index in range(found.size())]


def _walk(node: Any) -> Iterator[Any]:
    yield node
    for child in _each(node.children()):
        yield from _walk(child)


def _takes_today(node: Any) -> bool:
    """Casts and functions that parse a time by Spark's own rule."""
    match node.getClass().getSimpleName():
        case "Cast":
            return _is_cast_of_text(node)
        case "ParseToTimestamp":
            is_parsed = node.left().dataType().sql() == "STRING" and node.dataType().sql() == "TIMESTAMP"
            return bool(is_parsed and node.format().isEmpty())
        case "JsonToStructs" | "CsvToStructs" | "XmlToStructs" | "VariantGet":
            return "TIMESTAMP" in node.dataType().sql()
        case _:
            return False


def _is_cast_of_text(cast: Any) -> bool:
    target = str(cast.dataType().sql())
    if "TIMESTAMP" not in target and target != "DATE":
        return False
    source, wanted = DataType.fromDDL(str(cast.child().dataType().sql())), DataType.fromDDL(target)
    if isinstance(source, StringType) and cast.child().foldable():
        return _is_of_today(cast.child().eval(None), wanted)
    return _has_text_for_a_time(source, wanted)


def _is_of_today(constant: Any, wanted: DataType) -> bool:
    if constant is None:
        return False
    text = str(constant).strip().lower()
    return text.startswith(SPECIAL) if isinstance(wanted, DateType) else not BEGINS_WITH_A_YEAR.match(text)


def _has_text_for_a_time(source: DataType, wanted: DataType) -> bool:
    """Whether a text of the one type becomes a time of the other, at any depth."""
    if isinstance(wanted, TimestampType):
        return isinstance(source, StringType | VarcharType | VariantType)
    if isinstance(source, VariantType):
        return "timestamp" in wanted.simpleString()
    if isinstance(source, ArrayType) and isinstance(wanted, ArrayType):
        return _has_text_for_a_time(source.elementType, wanted.elementType)
    if isinstance(source, MapType) and isinstance(wanted, MapType):
        return _has_text_for_a_time(source.keyType, wanted.keyType) or _has_text_for_a_time(
            source.valueType, wanted.valueType
        )
    if isinstance(source, StructType) and isinstance(wanted, StructType):
        pairs = zip(source.fields, wanted.fields, strict=False)
        return any(_has_text_for_a_time(old.dataType, new.dataType) for old, new in pairs)
    return False
