"""Between what a number in SQL surely is, whatever a record holds."""

import math

from sqlglot import exp

from spark_jobs.config.functions import RANGES
from spark_jobs.config.sql import arguments_of, function_names

WHOLE = 2**31 - 1
Range = tuple[float, float]
UNKNOWN: Range = (-math.inf, math.inf)
LENGTHS = frozenset(("length", "array_size", "size", "cardinality", "octet_length", "bit_length"))
CHOOSING = (exp.Coalesce, exp.If, exp.Case, exp.Nvl2)
SUMS = (exp.Add, exp.Sub)


def range_of(node: exp.Expr, length: Range = (0, WHOLE)) -> Range:
    """Between what a number surely is, if it is not NULL."""
    node = node.unnest()
    parts = [range_of(part, length) for part in values_of(node)]
    names = function_names(node)
    if isinstance(node, exp.Literal | exp.Null):
        return _written(node)
    if isinstance(node, exp.Least | exp.Greatest):
        return _chosen(node, parts)
    if isinstance(node, CHOOSING) and parts:
        return min(low for low, _ in parts), max(high for _, high in parts)
    if isinstance(node, (exp.Neg, exp.Cast, exp.Mod, *SUMS)) or names & {"pmod"}:
        return _reckoned(node, parts)
    if names & LENGTHS:
        return length
    return next((RANGES[name] for name in names & RANGES.keys()), UNKNOWN)


def _written(node: exp.Literal | exp.Null) -> Range:
    if isinstance(node, exp.Null):
        return 0, 0
    return UNKNOWN if node.is_string else (float(node.name), float(node.name))


def _reckoned(node: exp.Expr, parts: list[Range]) -> Range:
    low, high = parts[-1]
    first = parts[0]
    match node:
        case exp.Neg():
            return -high, -low
        case exp.Cast():
            return _unwrapped((low, high)) if node.is_type("int", "bigint") else UNKNOWN
        case exp.Add():
            return _unwrapped((first[0] + low, first[1] + high))
        case exp.Sub():
            return _unwrapped((first[0] - high, first[1] - low))
        case _:  # a remainder
            return -max(abs(low), abs(high)), max(abs(low), abs(high))


def values_of(node: exp.Expr) -> list[exp.Expr]:
    """What the number is made of; what CASE, IF and NVL2 ask is none of it."""
    if isinstance(node, exp.Case):
        given = [branch.args["true"] for branch in node.args["ifs"]] + [node.args.get("default")]
    elif isinstance(node, exp.If | exp.Nvl2):
        given = [node.args.get("true"), node.args.get("false")]
    elif isinstance(node, exp.Cast | exp.Neg):
        given = [node.this]
    elif isinstance(node, (exp.Coalesce, exp.Least, exp.Greatest, exp.Add, exp.Sub, exp.Mod, exp.Anonymous)):
        given = arguments_of(node)
    else:
        return []
    return [part for part in given if isinstance(part, exp.Expr)]


def _chosen(node: exp.Expr, parts: list[Range]) -> Range:
    """NULL is passed over: only what is never NULL is sure to bound the others."""
    sure = [part for part, given in zip(parts, values_of(node), strict=True) if _is_never_null(given)]
    low, high = min(low for low, _ in parts), max(high for _, high in parts)
    if isinstance(node, exp.Least):
        return low, min([high, *(top for _, top in sure)])
    return max([low, *(bottom for bottom, _ in sure)]), high


def _is_never_null(node: exp.Expr) -> bool:
    node = node.unnest()
    if isinstance(node, exp.Literal):
        return not node.is_string
    if isinstance(node, exp.Coalesce | exp.Least | exp.Greatest):
        return any(_is_never_null(part) for part in values_of(node))
    return isinstance(node, exp.Neg | exp.Cast) and _is_never_null(node.this)


def _unwrapped(found: Range) -> Range:
    """A sum beyond its type comes out at the other end."""
    return found if all(abs(end) <= WHOLE for end in found) else UNKNOWN
