"""Finds times that are made of floating numbers: Spark multiplies them by a million and cuts, so that
1074468207.026414 is a microsecond less.
"""

from collections.abc import Iterator, Mapping

from sqlglot import exp

from spark_jobs.config.names import shorten
from spark_jobs.config.sql import DIALECT, Complaint

FLOATING, WHOLE = ("float", "double"), ("tinyint", "smallint", "int", "bigint")
TIMES = ("timestamp", "timestamptz", "timestampltz", "timestampntz")

Types = Mapping[str, str]


def floating_epochs(tree: exp.Expr, types: Types) -> list[Complaint]:
    """Seconds that are a float or double and become a time: (message, hint) each. `types` are those of
    columns by their names in lower case.
    """
    return list(
        dict.fromkeys(_explain(seconds) for seconds in _seconds(tree) if _is_floating(seconds, types))
    )


def _explain(seconds: exp.Expr) -> Complaint:
    text = seconds.sql(DIALECT)
    return (
        f"{shorten(text)} is a floating number, of which a time may lose a microsecond",
        f"declare the column as decimal(20,6), or write timestamp_seconds(CAST({text} AS DECIMAL(20, 6)))",
    )


def _seconds(tree: exp.Expr) -> Iterator[exp.Expr]:
    for node in tree.walk():
        if isinstance(node, exp.Cast) and node.is_type(*TIMES):
            yield node.this.unnest()
        elif isinstance(node, exp.Anonymous) and node.name.lower() == "timestamp_seconds":
            yield from (part.unnest() for part in node.expressions[:1])


def _is_floating(value: exp.Expr, types: Types) -> bool:
    """As far as the types of columns tell; what is unknown passes."""
    value = value.unnest()
    match value:
        case exp.Cast():
            return bool(value.is_type(*FLOATING))
        case exp.Column():
            return types.get(value.name.lower()) in FLOATING
        case exp.Literal():
            return not value.is_string and "e" in value.name.lower()
        case exp.Div():
            parts = (value.this, value.expression)
            return all(_is_whole(part, types) for part in parts) or any(_is_floating(p, types) for p in parts)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Mod() | exp.Neg():
            return any(_is_floating(part, types) for part in value.iter_expressions())
    return False


def _is_whole(value: exp.Expr, types: Types) -> bool:
    value = value.unnest()
    if isinstance(value, exp.Column):
        return types.get(value.name.lower()) in WHOLE
    return bool(value.is_int) or (isinstance(value, exp.Cast) and bool(value.is_type(*WHOLE)))
