"""Whether columns identify a row of a query, by the keys of the tables that it reads."""

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp

from spark_jobs.config.functions import (
    AGGREGATES,
    GENERATORS,
)
from spark_jobs.config.sql import DIALECT, function_names

Keys = Mapping[str, Sequence[str]]
"""By the full name of a table the columns that identify a row, where there are such."""


def by_position(part: exp.Expr, selects: list[exp.Expr]) -> exp.Expr:
    """ORDER BY 2 is the second column."""
    at = int(part.name) - 1 if isinstance(part, exp.Literal) and part.is_int else -1
    return selects[at].unalias() if 0 <= at < len(selects) else part


def identifies_row(texts: set[str], select: exp.Select, keys: Keys) -> bool:
    """Whether the columns name one row of what a SELECT reads, or one group of what it makes."""
    if _multiplies(select):
        return False
    group = select.args.get("group")
    if group is not None:
        if group.args.get("all"):
            grouped = [part.unalias() for part in select.selects if not is_aggregate(part)]
        elif len(group.args) > 1 and any(
            value for name, value in group.args.items() if name != "expressions"
        ):
            return False
        else:
            grouped = [by_position(part, select.selects) for part in group.expressions]
        return (
            not any(isinstance(part, exp.Cube | exp.Rollup | exp.GroupingSets) for part in grouped)
            and texts_of(grouped, select) <= texts
        )
    if any(is_aggregate(part) for part in select.selects):
        return True  # one row
    sources = sources_of(select)
    found = [(source.alias_or_name.lower(), _key_of(source, keys)) for source in sources]
    return bool(found) and all(
        key is not None and all(_names_column(alias, name, texts, is_alone=len(found) == 1) for name in key)
        for alias, key in found
    )


def _names_column(alias: str, name: str, texts: set[str], *, is_alone: bool) -> bool:
    return f"{alias}.{name.lower()}" in texts or (is_alone and name.lower() in texts)


def _key_of(source: exp.Expr, keys: Keys) -> Sequence[str] | None:
    """The columns that identify a row of a table, a CTE or a subquery; None where nothing says so."""
    query: exp.Expr | None = source.this if isinstance(source, exp.Subquery) else None
    if source.args.get("pivots"):
        return None
    if isinstance(source, exp.Table):
        name = ".".join(part.name for part in source.parts).lower()
        ctes = [cte for cte in source.root().find_all(exp.CTE) if cte.alias.lower() == name]
        if not ctes:
            return keys.get(name)
        query = ctes[0].this if len(ctes) == 1 and not ctes[0].args["alias"].args.get("columns") else None
    if not isinstance(query, exp.Select) or _multiplies(query):
        return None
    if query.args.get("distinct"):
        return [select.alias_or_name for select in query.selects]
    outputs = {text_of(select.unalias(), query): select.alias_or_name for select in query.selects}
    if query.args.get("group") is not None:
        grouped = [
            text_of(by_position(part, query.selects), query) for part in query.args["group"].expressions
        ]
        plain = not any(
            isinstance(part, exp.Cube | exp.Rollup | exp.GroupingSets)
            for part in query.args["group"].expressions
        )
        return (
            [outputs[text] for text in grouped]
            if grouped and plain and all(text in outputs for text in grouped)
            else None
        )
    sources = sources_of(query)
    key = _key_of(sources[0], keys) if len(sources) == 1 else None
    if key is None or any(select.is_star for select in query.selects):
        return key
    return [outputs[name.lower()] for name in key] if all(name.lower() in outputs for name in key) else None


def _multiplies(select: exp.Select) -> bool:
    """Whether its result has several rows of one, so that what identified it does so no longer."""
    return bool(select.args.get("laterals")) or has_generator(select)


def has_generator(select: exp.Select) -> bool:
    nodes = (
        node for part in select.selects for node in part.walk(prune=lambda node: isinstance(node, exp.Query))
    )
    return any(function_names(node) & GENERATORS or isinstance(node, exp.UDTF) for node in nodes)


def sources_of(select: exp.Select) -> list[exp.Expr]:
    return [
        part.this
        for part in (select.args.get("from_"), *(select.args.get("joins") or []))
        if part is not None
    ]


def is_aggregate(part: exp.Expr) -> bool:
    """Whether it aggregates rows; what is OVER a window does not, and a query inside it
    has rows of its own.
    """
    nodes = part.walk(prune=lambda node: isinstance(node, exp.Query))
    return any(function_names(node) & AGGREGATES and not _is_over(node) for node in nodes)


def _is_over(node: exp.Expr) -> bool:
    while isinstance(node.parent, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        node = node.parent
    return isinstance(node.parent, exp.Window) and node.arg_key == "this"


def texts_of(parts: Iterable[exp.Expr], select: exp.Select) -> set[str]:
    return {text_of(part, select) for part in parts}


def text_of(part: exp.Expr, select: exp.Select | None) -> str:
    """The part as text to compare: in lower case, and without the name of the table where
    there is only one.
    """
    part = part.unnest()
    text = part.sql(DIALECT).lower().replace("`", "")
    sources = sources_of(select) if select is not None else []
    if isinstance(part, exp.Column) and len(sources) == 1 and len(part.parts) > 1:
        alias = sources[0].alias_or_name.lower()
        if part.parts[0].name.lower() == alias:
            return ".".join(word.name.lower() for word in part.parts[1:])
    return text
