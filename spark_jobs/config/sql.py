"""Reads SQL without Spark: which tables and columns a text names, and the text with its tables replaced by
views.

It and the modules that judge SQL import sqlglot: where SQL is there to be read, never at the load of a
project.
"""

import logging
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from sqlglot import Dialect, Token, TokenType, exp
from sqlglot.errors import SqlglotError

DIALECT = "spark"
Complaint = tuple[str, str]
"""What is wrong with SQL, and what to write instead."""
# sqlglot warns where it takes a text for a command; such a text is refused here, with a better message.
logging.getLogger("sqlglot").setLevel(logging.ERROR)
# Names that Spark has for what sqlglot files under a name of its own.
SPARK_NAMES: dict[type[exp.Expr], set[str]] = {
    exp.ApproxQuantile: {"percentile_approx"},
    exp.ArrayUniqueAgg: {"collect_set"},
    exp.BitwiseAndAgg: {"bit_and"},
    exp.BitwiseOrAgg: {"bit_or"},
    exp.BitwiseXorAgg: {"bit_xor"},
    exp.Format: {"format_string"},
    exp.GroupConcat: {"listagg"},
    exp.JSONExtractScalar: {"get_json_object"},
    exp.JSONFormat: {"to_json"},
    exp.Pad: {"lpad", "rpad"},
    exp.Quantile: {"percentile"},
    exp.TimeToStr: {"date_format"},
    exp.ToBase64: {"base64"},
    exp.UnixToStr: {"from_unixtime"},
}
VALUES = (exp.Condition, exp.Filter, exp.Window, exp.WithinGroup, exp.AtTimeZone, exp.FromTimeZone)
"""What an expression may be as a whole."""


class SqlError(ValueError):
    """A text that is not the SQL it should be; `line` counts from 1 within the text."""

    def __init__(self, message: str, line: int = 1, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.line, self.hint = message, line, hint


def referenced_tables(sql: str) -> list[str]:
    """The tables that a SELECT reads, as it names them (in lower case), each once; names of CTEs are no
    tables.
    """
    return list(dict.fromkeys(name for name, _ in located_tables(parse_query(sql))))


def located_tables(tree: exp.Expr) -> list[tuple[str, exp.Table]]:
    """Each place where a table is read, with the table's name."""
    ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    tables = [table for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    named = [(".".join(part.name for part in table.parts).lower(), table) for table in tables]
    return sorted(
        ((name, table) for name, table in named if name not in ctes),
        key=lambda found: start_of(found[1].parts[0]),
    )


def columns_in(expression: str) -> list[str]:
    """The columns that an expression names, each once, as it spells them; of payment.amount the column is
    payment.
    """
    return columns_of_tree(parse_expression(expression))


class Ring(ValueError):
    """Expressions that name each other, or one that names itself."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        super().__init__(" -> ".join(names))


def computing_steps(expressions: Mapping[str, str]) -> list[list[str]]:
    """The columns that these expressions compute, step by step: those of a step name only columns of earlier
    ones. Ring where there is no such order.
    """
    by_name = {name.lower(): name for name in expressions}
    sorter = TopologicalSorter(
        {
            name: [by_name[column.lower()] for column in columns_in(sql) if column.lower() in by_name]
            for name, sql in expressions.items()
        }
    )
    try:
        sorter.prepare()
    except CycleError as error:
        raise Ring(list(error.args[1])[::-1]) from None
    steps = []
    while ready := sorter.get_ready():
        steps.append([name for name in expressions if name in ready])
        sorter.done(*ready)
    return steps


def columns_of_tree(tree: exp.Expr) -> list[str]:
    columns = [column for column in tree.find_all(exp.Column) if not isinstance(column.this, exp.Star)]
    return list(
        dict.fromkeys(
            column.parts[0].name for column in sorted(columns, key=lambda column: start_of(column.parts[0]))
        )
    )


def words_of(tree: exp.Expr) -> list[str]:
    """Every name in the tree: of columns, fields, tables and aliases."""
    return [identifier.name for identifier in tree.find_all(exp.Identifier)]


def has_star(tree: exp.Expr) -> bool:
    """Whether it takes all columns of something, which count(*) does not."""
    return any(not isinstance(star.parent, exp.Count) for star in tree.find_all(exp.Star))


def parse_query(sql: str) -> exp.Query:
    """The tree of exactly one SELECT (with CTEs, UNION and so on), or SqlError."""
    tree = _parse_one(sql, "SELECT")
    if not isinstance(tree, exp.Query):
        raise SqlError("it is not a SELECT", hint="write one SELECT; its result becomes the table")
    return tree


def parse_expression(text: str) -> exp.Expr:
    """The tree of exactly one expression, without statements and subqueries, or SqlError."""
    tree = _parse_one(text, "expression")
    if isinstance(tree, exp.Alias):
        raise SqlError(
            f"{tree.alias!r} stands after the expression",
            hint="write the expression alone; its name is the key before it",
        )
    is_value = isinstance(tree, VALUES) and not isinstance(tree, exp.Query | exp.Star)
    if not is_value or text.rstrip().endswith(";"):
        raise SqlError("it is not an expression", hint="write one value or condition, as in amount > 0")
    if tree.find(exp.Query):
        raise SqlError(
            "it contains a subquery",
            hint="write the query as a SQL table of gold, or join a dimension with lookup",
        )
    if tree.find(exp.Parameter, exp.Placeholder):
        raise SqlError("it contains a parameter", hint="write the value itself")
    return tree


def function_names(node: exp.Expr) -> set[str]:
    """The names that a function has; some have several."""
    if isinstance(node, exp.Anonymous):
        return {node.name.lower()}
    return (
        {name.lower() for name in type(node).sql_names()} | SPARK_NAMES.get(type(node), set())
        if isinstance(node, exp.Func)
        else set()
    )


def arguments_of(node: exp.Expr) -> list[exp.Expr]:
    return list(node.expressions) if isinstance(node, exp.Anonymous) else list(node.iter_expressions())


def calls_in(text: str) -> Iterator[tuple[str, bool]]:
    """The words before an opening parenthesis, as Spark reads them, and whether each is qualified; words of
    the grammar are among them.
    """
    tokens = tokens_in(text)
    for before, word, behind in zip([None, *tokens], tokens, tokens[1:], strict=False):
        if (
            behind.token_type is TokenType.L_PAREN
            and word.text[:1].isalpha()
            and word.token_type is not TokenType.STRING
        ):
            yield word.text.lower(), before is not None and before.token_type is TokenType.DOT


def has_pipes(text: str) -> bool:
    """Whether it is written with |>, which the parser rewrites."""
    return any(token.token_type is TokenType.PIPE_GT for token in tokens_in(text))


def line_in(tree: exp.Expr) -> int:
    """The line of the first word of a part of the tree that has a place."""
    return next((node.meta["line"] for node in tree.walk() if node.meta.get("line")), 1)


def _parse_one(text: str, what: str) -> exp.Expr:
    try:
        parsed = Dialect.get_or_raise(DIALECT).parser().parse(tokens_in(text), text)
        trees = [tree for tree in parsed if tree is not None and not isinstance(tree, exp.Semicolon)]
    except SqlglotError as error:
        details = (getattr(error, "errors", None) or [{}])[0]
        reason = (details.get("description") or str(error)).partition(" for <class")[0].rstrip(".")
        near = f", at {details['highlight']!r}" if details.get("highlight") else ""
        raise SqlError(
            f"it does not parse: {reason}{near}",
            details.get("line") or 1,
            "correct the SQL (Spark's dialect)",
        ) from error
    except RecursionError as error:
        raise SqlError("it is nested too deeply", hint="simplify it") from error
    except (
        LookupError,
        AttributeError,
        TypeError,
        ValueError,
    ) as error:  # the parser trips over its own text, as over map(x)
        raise SqlError(
            "it does not parse", hint="look at the arguments of its functions (Spark's dialect)"
        ) from error
    if len(trees) != 1:
        raise SqlError(
            "it is empty" if not trees else f"there are {len(trees)} statements",
            hint=f"write exactly one {what}",
        )
    _check_whole(trees[0])
    _check_comments(text)
    return trees[0]


def _check_comments(text: str) -> None:
    """Spark reads other ends: a hint is no comment wherever it stands, and a line goes on behind a
    backslash.
    """
    for token in tokens_in(text):
        if token.token_type is not TokenType.HINT and any(
            "/*+" in comment or f"/*+{comment}" in text or comment.endswith("\\")
            for comment in token.comments
        ):
            raise SqlError(
                "a hint (/*+ …) stands in a comment, or a backslash at its end", token.line, "remove it"
            )


def _check_whole(tree: exp.Expr) -> None:
    """The parser lets some texts pass that lack a part: date_diff(a), silver..orders."""
    for node in tree.walk():
        if node.error_messages() or (isinstance(node, exp.Table | exp.Column) and "" in node.args.values()):
            lacking = "a name" if isinstance(node, exp.Table | exp.Column) else "an argument"
            raise SqlError(
                f"it does not parse: {lacking} is missing", line_in(node), "correct the SQL (Spark's dialect)"
            )


def tokens_in(text: str) -> list[Token]:
    """The words of a text. `window` is a function and a column as well as a clause: only WINDOW name AS ( is
    the clause.
    """
    tokens = Dialect.get_or_raise(DIALECT).tokenize(text)
    for at, token in enumerate(tokens):
        if token.token_type is TokenType.WINDOW and [t.token_type for t in tokens[at + 2 : at + 4]] != [
            TokenType.ALIAS,
            TokenType.L_PAREN,
        ]:
            token.token_type = TokenType.VAR
    return tokens


def start_of(part: exp.Expr) -> int:
    return int(part.meta.get("start", 0))
