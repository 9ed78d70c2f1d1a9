"""Finds maps where values are compared: Spark cannot say whether two maps are equal, or which is the greater."""

from collections.abc import Iterator, Mapping

from sqlglot import exp

from spark_jobs.config.functions import BY_ORDER, COMPARING
from spark_jobs.config.names import shorten
from spark_jobs.config.sql import DIALECT, Complaint, function_names

COMPARISONS = (
    exp.EQ,
    exp.NEQ,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.GT,
    exp.GTE,
    exp.LT,
    exp.LTE,
    exp.Between,
    exp.In,
    exp.Ordered,
    exp.Distinct,
)


def compared_maps(tree: exp.Expr, types: Mapping[str, str]) -> list[Complaint]:
    """Columns of a map type that something compares: (message, hint) each. `types` are those of columns by their names in lower case."""
    found = dict.fromkeys(
        f"{shorten(node.sql(DIALECT))} compares" for node in tree.walk() if any(_is_map(part, types) for part in _compared(node))
    )
    found |= {f"{name} compares": None for query in tree.find_all(exp.Select, exp.SetOperation) for name in _distinct_rows(query, types)}
    hint = "compare what is in them, as in m['key'], or their text, as in to_json(m)"
    return [(f"{what} maps, which cannot be compared", hint) for what in found]


def _compared(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node, COMPARISONS):
        yield from node.iter_expressions()
    elif names := function_names(node) & COMPARING:
        if not names & BY_ORDER:
            yield from (node.this, *node.expressions)
        elif isinstance(node.expression, exp.Struct):
            yield from (part.expression for part in node.expression.expressions if isinstance(part, exp.PropertyEQ))
        else:
            yield node.expression


def _distinct_rows(query: exp.Query, types: Mapping[str, str]) -> Iterator[str]:
    """SELECT DISTINCT and UNION compare whole rows."""
    is_compared = query.args.get("distinct") or isinstance(query, exp.Intersect | exp.Except)
    if is_compared and any(_is_map(select.unalias(), types) for select in query.selects):
        yield "SELECT DISTINCT" if isinstance(query, exp.Select) else type(query).__name__.upper()


def _is_map(node: exp.Expr, types: Mapping[str, str]) -> bool:
    return isinstance(node, exp.Column) and "map<" in types.get(node.name.lower(), "")
