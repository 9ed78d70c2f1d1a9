"""Judges the regular expressions in SQL: each is written out, Java's engine can read it, and no value can
make it end the run.
"""

import re
from collections.abc import Iterator

from sqlglot import exp

from spark_jobs.config.names import shorten
from spark_jobs.config.regexes import count_groups, judge_java_regex
from spark_jobs.config.sql import DIALECT

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
}
"""The functions that take a pattern, with the arguments that are one."""
BY_NAME = ("regexp", "rlike")
"""Those that sqlglot leaves as they are; the pattern is the second argument."""


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
    return complaints or [*_missing_groups(tree), *_broken_likes(tree)]


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


def _broken_likes(tree: exp.Expr) -> Iterator[tuple[str, str]]:
    """In a pattern of LIKE the escape stands before %, _ or itself; Spark refuses all else."""
    for node in tree.find_all(exp.Like, exp.ILike):
        if isinstance(node.parent, exp.Escape):
            continue
        for pattern in _each(node.expression):
            if isinstance(pattern, exp.Literal | exp.RawString) and re.search(
                r"\\(?:$|[^%_\\])", str(pattern.this).replace("\\\\", "")
            ):
                message = (
                    f"the pattern {shorten(str(pattern.this))} cannot be used: in LIKE a backslash stands"
                    " before %, _ or another one"
                )
                yield message, "write two of them for the backslash itself"


def _patterns(tree: exp.Expr) -> Iterator[exp.Expr]:
    for node in tree.walk():
        if isinstance(node, exp.Anonymous) and node.name.lower() in BY_NAME and len(node.expressions) > 1:
            yield from _each(node.expressions[1])
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
