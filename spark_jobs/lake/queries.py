"""Runs the SQL of pipeline files. What enters: the text of a SELECT that was checked before. What leaves: its rows.

The checks read SQL with a parser of their own. Spark's parser has the last word here: what it finds must be a query and nothing else,
so that no text that the two read differently runs a command or a program.
"""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession

NODES = frozenset(
    (
        "Aggregate", "Distinct", "Except", "Filter", "Generate", "GlobalLimit", "Intersect", "Join", "LateralJoin", "LocalLimit",
        "LocalRelation", "Offset", "OneRowRelation", "Pivot", "Project", "RepartitionByExpression", "Sort", "SubqueryAlias", "Union",
        "Unpivot", "UnresolvedHaving", "UnresolvedInlineTable", "UnresolvedQualify", "UnresolvedRelation",
        "UnresolvedSubqueryColumnAliases", "UnresolvedTVFAliases", "UnresolvedTableValuedFunction", "UnresolvedWith",
        "WithWindowDefinition",
    )
)  # fmt: skip
"""The parts of a plan that only read and compute, as Spark's parser names them."""


class NotAQuery(ValueError):
    """SQL in which Spark's parser finds more than a query."""

    def __init__(self, found: str) -> None:
        self.found = found
        super().__init__(f"Spark reads {found} in the SQL, which is not among the parts of a query; write one plain SELECT")


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
        if found == "UnresolvedRelation" and node.multipartIdentifier().size() > 1:  # a table of a catalog, or a path
            raise NotAQuery(f"the table {node.name()}")


def nodes_of(plan: Any) -> Iterator[Any]:
    """The parts of a plan of the JVM's, those of its subqueries too."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        yield node
        for nested in (node.children(), node.innerChildren(), node.subqueries() if hasattr(node, "subqueries") else None):
            waiting += [nested.apply(at) for at in range(nested.size())] if nested is not None else []
