"""Judges the patterns in SQL: regular expressions, those of LIKE, and formats of times. Each is written out,
Java can read it, and no value can make it end the run.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from sqlglot import exp

from spark_jobs.config.functions import WITH_FORMAT
from spark_jobs.config.names import shorten
from spark_jobs.config.regexes import count_groups, judge_java_regex
from spark_jobs.config.sql import DIALECT
from spark_jobs.config.sql_ranges import CHOOSING, values_of

PATTERNS: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.RegexpLike: ("expression",),
    exp.RegexpILike: ("expression",),
    exp.RegexpExtract: ("expression",),
    exp.RegexpExtractAll: ("expression",),
    exp.RegexpReplace: ("expression",),
    exp.RegexpCount: ("expression",),
    exp.RegexpInstr: ("expression",),
    exp.RegexpSubstr: ("expression",),
    exp.RegexpSplit: ("expression",),
    exp.StrToMap: ("pair_delim", "key_value_delim"),
    exp.ParseUrl: ("key",),
}
"""The functions that take a pattern, with the arguments that are one: Spark makes one of the key, too."""
BY_NAME = {"regexp": 1, "rlike": 1, "try_parse_url": 2}
"""Those that sqlglot leaves as they are, with the place of the pattern."""
FORMATS = (exp.TimeToStr, exp.StrToTime, exp.TsOrDsToDate, exp.StrToUnix, exp.ToChar)
FORMATS_BY_NAME = WITH_FORMAT | {"to_varchar"}
MOST_IN_LIKE = 3
"""Signs % that have something behind them: each goes back through all of the value, once for each way of the
others.
"""
BY_VALUE = "write it as text; contains(a, b), startswith(a, b) and endswith(a, b) look for a value"


def judge_patterns(tree: exp.Expr) -> list[tuple[str, str]]:
    """What is wrong with the patterns of an expression or a query: (message, hint) each."""
    complaints = []
    for pattern in _patterns(tree):
        if isinstance(pattern, exp.Literal | exp.RawString) and (
            isinstance(pattern, exp.RawString) or pattern.is_string
        ):
            wrong = judge_java_regex(str(pattern.this))
            if wrong is not None:
                complaints.append(
                    (f"the pattern {shorten(str(pattern.this))} cannot be used: {wrong[0]}", wrong[1])
                )
        else:
            message = (
                f"the pattern {shorten(pattern.sql(DIALECT))} is computed: what it asks of a value cannot be"
                " judged before"
            )
            complaints.append((message, "write the pattern as text"))
    return complaints or [*_missing_groups(tree), *_judge_likes(tree), *_computed_formats(tree)]


def _missing_groups(tree: exp.Expr) -> Iterator[tuple[str, str]]:
    """A group that is asked for and that the pattern does not have: it would fail on the first value that
    matches.
    """
    for node in tree.find_all(exp.RegexpReplace, exp.RegexpExtract, exp.RegexpExtractAll):
        pattern = node.args.get("expression")
        if not isinstance(pattern, exp.Literal | exp.RawString):
            continue
        there, given = count_groups(str(pattern.this)), node.args.get("replacement") or node.args.get("group")
        if there is None or not isinstance(given, exp.Literal | exp.RawString):
            continue
        is_number = isinstance(given, exp.Literal) and not given.is_string
        named = [str(given.this)] if is_number else re.findall(r"(?<!\\)\$(\d)", str(given.this))
        if missing := [number for number in named if int(number) > there]:
            message = (
                f"the group {missing[0]} is asked for, and the pattern {shorten(str(pattern.this))} has"
                f" {there or 'none'}"
            )
            yield (
                message,
                (
                    "put what is meant in brackets in the pattern; a $ that is meant as such is written as"
                    " in \\$"
                ),
            )
        elif not is_number and re.search(r"(?<!\\)\$(?![\d{])|(?<!\\)\\$", str(given.this)):
            yield (
                f"the replacement {shorten(str(given.this))} ends with a mark, or has a $ without a group",
                "write \\$ or \\\\ for the mark itself",
            )


def _judge_likes(tree: exp.Expr) -> Iterator[tuple[str, str]]:
    for node in tree.find_all(exp.Like, exp.ILike):
        escape = node.parent.expression.name if isinstance(node.parent, exp.Escape) else "\\"
        for pattern in _each(node.expression):
            if not isinstance(pattern, exp.Literal | exp.RawString):
                said = f"the pattern {shorten(pattern.sql(DIALECT))} of LIKE is computed"
                yield f"{said}: with many % a short value may take for ever", BY_VALUE
            elif wrong := _judge_like(str(pattern.this), escape):
                yield f"the pattern {shorten(str(pattern.this))} cannot be used: {wrong[0]}", wrong[1]


def _judge_like(pattern: str, escape: str) -> tuple[str, str] | None:
    """The escape stands before %, _ or itself; Spark refuses all else."""
    parts = re.findall(rf"{re.escape(escape)}.?|.", pattern, re.DOTALL) if escape else list(pattern)
    # what is escaped otherwise is looked for by Spark itself
    if escape == "\\" and any(part[0] == escape and part[1:] not in ("%", "_", escape) for part in parts):
        said = "in LIKE a backslash stands before %, _ or another one"
        return said, "write two of them for the backslash itself"
    giving_back = sum(one == "%" != other for one, other in pairwise(parts))
    if giving_back > MOST_IN_LIKE:
        hint = "ask for its parts, as in contains(a, 'x') AND contains(a, 'y')"
        return f"with more than {MOST_IN_LIKE} % before others a short value may take for ever", hint
    return None


def _computed_formats(tree: exp.Expr) -> Iterator[tuple[str, str]]:
    """Formats of times out of a column: brackets of optional parts stand within each other, and Java calls
    itself for each.
    """
    for node in tree.walk():
        given = _format_of(node)
        if given is not None and not all(map(_is_text, _choices(given))):
            message = (
                f"the format {shorten(given.sql(DIALECT))} is computed: one with thousands of brackets would"
                " end the run"
            )
            yield message, "write it as text; CASE may choose between several"


def _format_of(node: exp.Expr) -> exp.Expr | None:
    if isinstance(node, FORMATS):
        given = node.args.get("format")
        return given if isinstance(given, exp.Expr) else None
    is_named = isinstance(node, exp.Anonymous) and node.name.lower() in FORMATS_BY_NAME
    return node.expressions[1] if is_named and len(node.expressions) > 1 else None


def _choices(node: exp.Expr) -> Iterator[exp.Expr]:
    """What CASE and the like choose between."""
    node = node.unnest()
    if isinstance(node, CHOOSING):
        for part in values_of(node):
            yield from _choices(part)
    else:
        yield node


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal | exp.RawString | exp.Null)


def _patterns(tree: exp.Expr) -> Iterator[exp.Expr]:
    for node in tree.walk():
        place = BY_NAME.get(node.name.lower()) if isinstance(node, exp.Anonymous) else None
        if place is not None and len(node.expressions) > place:
            yield from _each(node.expressions[place])
        for argument in PATTERNS.get(type(node), ()):
            if isinstance(given := node.args.get(argument), exp.Expr):
                yield from _each(given)


def _each(pattern: exp.Expr) -> Iterator[exp.Expr]:
    """The patterns of a list, as in RLIKE ANY ('a', 'b')."""
    if isinstance(pattern, exp.Any | exp.All | exp.Paren):
        yield from _each(pattern.this)
    elif isinstance(pattern, exp.Tuple):
        yield from pattern.expressions
    else:
        yield pattern
