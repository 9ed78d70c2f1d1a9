"""Judges the regular expressions in SQL: each is written out, Java's engine can read it, and no value can make it end the run."""

from collections.abc import Iterator

from sqlglot import exp

from spark_jobs.config.names import shorten
from spark_jobs.config.regexes import judge_java_regex
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
        if isinstance(pattern, exp.Literal | exp.RawString) and (isinstance(pattern, exp.RawString) or pattern.is_string):
            wrong = judge_java_regex(str(pattern.this))
            if wrong is not None:
                complaints.append((f"the pattern {shorten(str(pattern.this))} cannot be used: {wrong[0]}", wrong[1]))
        else:
            message = f"the pattern {shorten(pattern.sql(DIALECT))} is computed: what it asks of a value cannot be judged before"
            complaints.append((message, "write the pattern as text"))
    return complaints


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
