"""Judges how large the results of SQL can become: no number in a record may say it, because one of two
thousand millions would end Spark's process at every attempt.

A size is a constant, or the length of something; what a record holds as text bounds the rest.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from sqlglot import exp

from spark_jobs.config.names import shorten
from spark_jobs.config.sql import DIALECT, Complaint, arguments_of, function_names
from spark_jobs.config.sql_ranges import CHOOSING, LENGTHS, SUMS, WHOLE, Range, range_of, values_of
from spark_jobs.config.types import is_complex

MOST = 10_000
"""Characters or items that one value may be made of by a number."""
OF_A_VALUE = 100
"""What text, an object or an array of a record counts for, whose length is not known."""
SIZED: dict[str, str] = {
    "space": "this",
    "lpad": "expression",
    "rpad": "expression",
    "repeat": "times",
    "array_insert": "position",
    "stack": "this",
}
"""Functions with the argument that says how much they make; of the others it is the second one."""
SIZED_BY_NAME = ("array_repeat", "format_number")
REPEATING = frozenset(("repeat", "array_repeat"))
FORMATS = frozenset(("format_string", "printf"))
WIDTHS = re.compile(r"%(?:\d+\$)?[-#+ 0,(<]*(\d*)(?:\.(\d+))?")
DAYS = frozenset(("day", "days", "week", "weeks", "month", "months", "quarter", "quarters", "year", "years"))
NUMBERS = (*SUMS, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.Predicate, exp.Connector, exp.Not)
GROWING = frozenset(
    ("repeat", "array_repeat", "replace", "regexp_replace", "hex", "base64", "to_json", "url_encode")
)
"""What can make something longer out of one value alone."""
INSIDE = (exp.ArrayFilter,)
ONCE = "use it once in each branch, as in aggregate(items, '', (text, item) -> concat(text, item.name))"


def judge_sizes(tree: exp.Expr, types: Mapping[str, str]) -> list[Complaint]:
    """What may become too large in an expression or a query: (message, hint) each. The types are those of
    columns, where they are known.
    """
    found: list[Complaint] = []
    for node in tree.walk():
        found += _judge_sequence(node, types) if isinstance(node, exp.GenerateSeries) else _judge(node, types)
    return list(dict.fromkeys(found))


def _judge(node: exp.Expr, types: Mapping[str, str]) -> Iterator[Complaint]:
    names = function_names(node)
    if isinstance(node, exp.Reduce) and _doubles(node):
        yield f"{_text(node)} takes what it has gathered twice: its size doubles with every element", ONCE
    if names & FORMATS:
        yield from _judge_format(node)
    elif (size := _size_of(node)) is not None:
        is_plain = not names & REPEATING or _is_constant(arguments_of(node)[0])
        how = size.sql(DIALECT)
        if not _is_bounded(size) and not (is_plain and _is_bounded(size, length=(0, 0))):
            hint = f"bound it, as in least({how}, 100), by a constant up to {MOST:,}"
            yield (
                f"{_text(node)} becomes as large as {shorten(how)} says: a large one would end the run",
                f"{hint}, or by the length of a text or array" if is_plain else hint,
            )
        elif names & REPEATING and _is_bounded(size) and _weight(node, types) > MOST:
            yield (
                f"{_text(node)} repeats more than {MOST:,} characters or items",
                f"repeat a value of a record up to {MOST // OF_A_VALUE} times, or cut it before: left(…, 20)",
            )
    if _makes_items(node) and _weight(node, types) > MOST:
        yield (
            f"{_text(node)} makes more than {MOST:,} characters or items",
            "make fewer items, or less of each",
        )


def _text(node: exp.Expr) -> str:
    """As it is said of; not made for each part of a query, most of which nothing is said of."""
    return shorten(node.sql(DIALECT))


def _judge_format(node: exp.Expr) -> Iterator[Complaint]:
    text, shape = shorten(node.sql(DIALECT)), arguments_of(node)[0]
    widths = [width for found in WIDTHS.findall(shape.name) for width in found if width]
    if not _is_text(shape):
        message = f"{text} takes its format from a value, and a width in it may be any number"
        yield message, "write the format as text, as in format_string('%05d', n)"
    elif any(len(width) > len(str(MOST)) or int(width) > MOST for width in widths):
        yield f"{text} asks for more than {MOST:,} characters", f"write a width up to {MOST:,}"


def _judge_sequence(node: exp.GenerateSeries, types: Mapping[str, str]) -> Iterator[Complaint]:
    if _sequence_items(node) > MOST and not _is_of_days(node, types):
        text = shorten(node.sql(DIALECT))
        if _is_of_times(node):
            yield (
                f"{text} may be a time of any length in small steps, and would end the run",
                "make days, as in sequence(to_date(a), to_date(b)), and the hours of each by sequence(0, 23)",
            )
        else:
            yield (
                f"{text} becomes as long as its two ends are apart, and far ones would end the run",
                "bound both ends from both sides, as in sequence(1, greatest(1, least(n, 100))), so that they"
                f" are at most {MOST:,} apart",
            )


def _sequence_items(node: exp.Expr) -> float:
    (low, high), (other_low, other_high) = range_of(node.args["start"]), range_of(node.args["end"])
    return max(high, other_high) - min(low, other_low) + 1


def _is_of_days(node: exp.Expr, types: Mapping[str, str]) -> bool:
    """From one date to another: 9,999 years are few enough for memory."""
    step = node.args.get("step")
    is_whole = step is None or (
        isinstance(step, exp.Interval) and step.unit is not None and step.unit.name.lower() in DAYS
    )
    return is_whole and all(_is_date(node.args[end], types) for end in ("start", "end"))


def _is_of_times(node: exp.Expr) -> bool:
    return isinstance(node.args.get("step"), exp.Interval)


def _is_date(node: exp.Expr, types: Mapping[str, str]) -> bool:
    node = node.unnest()
    if isinstance(node, exp.Column):
        return types.get(node.name.lower()) == "date"
    if isinstance(node, exp.Cast):
        return bool(node.is_type("date"))
    if isinstance(node, exp.Min | exp.Max):
        return _is_date(node.this, types)
    if isinstance(node, exp.Coalesce | exp.Least | exp.Greatest):
        return all(_is_date(part, types) for part in node.iter_expressions())
    if isinstance(node, exp.TsOrDsAdd | exp.DateSub):
        return True
    return isinstance(node, exp.TsOrDsToDate | exp.DateTrunc | exp.LastDay) or bool(
        function_names(node) & {"make_date", "next_day", "add_months"}
    )


def _size_of(node: exp.Expr) -> exp.Expr | None:
    """The number that says how much a function makes; a format of a number is a text instead."""
    if isinstance(node, exp.Anonymous) and node.name.lower() in SIZED_BY_NAME:
        given = node.expressions[1] if len(node.expressions) > 1 else None
        return None if given is None or (node.name.lower() == "format_number" and _is_text(given)) else given
    for name in function_names(node) & SIZED.keys():
        given = node.args.get(SIZED[name])
        return given if isinstance(given, exp.Expr) else None
    return None


def _is_text(node: exp.Expr) -> bool:
    node = node.unnest()
    return isinstance(node, exp.RawString) or (isinstance(node, exp.Literal) and node.is_string)


def _is_constant(node: exp.Expr) -> bool:
    return isinstance(node.unnest(), exp.Literal | exp.RawString | exp.Null)


def _is_bounded(size: exp.Expr, length: Range = (0, WHOLE)) -> bool:
    """Whether it is at most MOST, and as far below zero, where array_insert counts from the end. With lengths
    of (0, 0): but for these, as each step known here moves by no more than what it is given.
    """
    low, high = range_of(size, length)
    return high <= MOST and (low >= -MOST or not isinstance(size.parent, exp.ArrayInsert))


def _weight(node: exp.Expr, types: Mapping[str, str]) -> float:
    """About how many characters or items a value is, where what it holds of the record counts as short."""
    node = node.unnest()
    parts = [_weight(part, types) for part in node.iter_expressions()]
    names = function_names(node)
    if isinstance(node, exp.Literal | exp.RawString):
        return len(node.name) if _is_text(node) else 1
    if isinstance(node, exp.Column):
        kind = types.get(node.name.lower(), "string") or "string"
        return OF_A_VALUE if kind == "string" or is_complex(kind) else 1
    if isinstance(node, NUMBERS) or names & LENGTHS:
        return 1
    if isinstance(node, exp.GenerateSeries):
        return min(_sequence_items(node), MOST)
    if isinstance(node, exp.Left | exp.Right | exp.Substring):
        cut = range_of(node.args.get("length") or node.args.get("expression") or exp.null())[1]
        return min(parts[0], cut) if cut > 0 else parts[0]
    if (size := _size_of(node)) is not None:
        times = max(0, range_of(size)[1])
        return times * max(1, parts[0] if parts and names & REPEATING else 1)
    if _makes_items(node):
        return math.prod(max(1, part) for part in parts)
    return max(1, sum(parts))


def _makes_items(node: exp.Expr) -> bool:
    """Whether it does something for each item of what is not in the record, but is made."""
    *arrays, last = [*arguments_of(node), None]
    lambdas = [part for part in (*arrays, last) if isinstance(part, exp.Lambda)]
    return bool(lambdas) and any(
        isinstance(inner, exp.GenerateSeries) or _size_of(inner) is not None
        for part in arrays
        if part is not None and not isinstance(part, exp.Lambda)
        for inner in part.walk()
    )


def _doubles(node: exp.Expr) -> bool:
    """Whether a step of aggregate() takes what was gathered before more than once."""
    merge = node.args.get("merge")
    if not isinstance(merge, exp.Lambda) or not merge.expressions:
        return False
    gathered = merge.expressions[0].name.lower()
    uses = _uses(merge.this, gathered)
    whole = uses.pop(gathered, 0)
    return whole + max(uses.values(), default=0) > 1


def _uses(node: exp.Expr, gathered: str) -> Counter[str]:
    """How often what was gathered is in the result as text, array or object, by its fields."""
    node = node.unnest()
    if isinstance(node, exp.Identifier | exp.Column | exp.Dot):
        path = node.sql(DIALECT).lower().replace("`", "")
        return Counter([path]) if path.partition(".")[0] == gathered else Counter()
    if isinstance(node, NUMBERS) or function_names(node) & LENGTHS:
        return Counter()
    given = (
        values_of(node) if isinstance(node, (exp.Case, exp.If, exp.Nvl2)) else list(node.iter_expressions())
    )
    parts = [_uses(part, gathered) for part in given]
    if isinstance(node, (*CHOOSING, exp.Least, exp.Greatest)):
        found: Counter[str] = Counter()
        for part in parts:
            found |= part
        return found
    total = sum(parts, Counter())
    has_lambda = any(isinstance(part, exp.Lambda) for part in given) and not isinstance(node, INSIDE)
    return total + total if has_lambda or function_names(node) & GROWING else total
