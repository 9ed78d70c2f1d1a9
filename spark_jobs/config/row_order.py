"""Finds what depends on the order in which rows come: LIMIT and window functions whose order leaves ties, and
aggregates that pick a row.

An order is total for a query when rows that it takes for equal cannot be told apart in the result: it names
every column that the query uses, or a key of its rows.
"""

from collections.abc import Iterator, Sequence

from sqlglot import exp

from spark_jobs.config.functions import (
    BY_ORDER,
    BY_POSITION,
    ORDER_DEPENDENT,
    ORDERLESS,
    SORTS,
)
from spark_jobs.config.names import shorten
from spark_jobs.config.row_keys import (
    Keys,
    by_position,
    has_generator,
    identifies_row,
    is_aggregate,
    text_of,
    texts_of,
)
from spark_jobs.config.sql import DIALECT, Complaint, function_names

ALL = "ALL"
COLLECTING = {"collect_list", "collect_set", "array_agg"}


def order_dependent(tree: exp.Expr, keys: Keys, key: Sequence[str] = ()) -> list[Complaint]:
    """What is not a function of the rows alone. `key` is that of the rows which an expression outside of a
    query aggregates.
    """
    found: list[Complaint] = []
    for query in tree.find_all(exp.Select, exp.SetOperation, exp.Subquery):
        found += _limited(query, keys)
    for window in tree.find_all(exp.Window):
        found += _placed(window, keys) if window.args.get("over") else []
    for node in tree.find_all(exp.Func):
        found += _picking(node, keys, key)
    return list(dict.fromkeys(found))


def has_total_order(window: exp.Window, keys: Keys = {}) -> bool:  # noqa: B006 - read only
    """Whether a window's rows come in one order only, or are the same in all that its SELECT uses."""
    select = window.find_ancestor(exp.Select)
    parts = _window_parts(window, select)
    if select is None or parts.args.get("order") is None:
        return False
    named = [
        *(parts.args.get("partition_by") or []),
        *(part.this for part in parts.args["order"].expressions),
    ]
    return identifies_row(texts_of(named, select), select, keys) or _names_all_used(
        texts_of(named, select), select
    )


def _limited(query: exp.Query, keys: Keys) -> Iterator[Complaint]:
    """LIMIT and OFFSET take some rows by their place: without a total order any rows."""
    limit, offset = query.args.get("limit"), query.args.get("offset")
    if isinstance(limit, exp.Fetch):
        return  # refused as a clause, whatever its order
    is_cut = offset is not None or (limit is not None and limit.expression.name.upper() != ALL)
    order = query.args.get("order")
    if not is_cut or _is_total(
        query, [part.this for part in order.expressions] if order is not None else [], keys
    ):
        return
    what = " and ".join(name for name, part in (("LIMIT", limit), ("OFFSET", offset)) if part is not None)
    reason = (
        "without ORDER BY takes"
        if order is None
        else f"takes, of rows that are equal in {shorten(order.sql(DIALECT).strip())},"
    )
    given = [part.sql(DIALECT) for part in order.expressions] if order is not None else []
    names = (
        []
        if any(select.is_star for select in query.selects)
        else [name for name in query.named_selects if name]
    )
    missing = [name for name in names if name not in given]
    hint = f"write ORDER BY {', '.join([*given, *missing])}" if names and missing else "write ORDER BY ALL"
    yield f"{what} {reason} any rows", f"{hint}, or order by a key as well"


def _is_total(query: exp.Query, order: list[exp.Expr], keys: Keys) -> bool:
    if any(isinstance(part, exp.Var) and part.name.upper() == ALL for part in order):
        return True
    selects = query.selects
    named = {select.alias_or_name.lower(): select.unalias() for select in selects}
    if not isinstance(query, exp.Select):
        return named.keys() <= {part.name.lower() for part in order if isinstance(part, exp.Column)}
    resolved = [by_position(part, selects) for part in order]  # a name of the result hides a column
    resolved = [
        named.get(part.name.lower(), part) if isinstance(part, exp.Column) and not part.table else part
        for part in resolved
    ]
    texts = texts_of(resolved, query)
    return identifies_row(texts, query, keys) or all(
        _is_determined(select.unalias(), texts, query) for select in selects
    )


def _is_determined(value: exp.Expr, texts: set[str], select: exp.Select) -> bool:
    """Whether rows that are equal in these texts are equal in a value, too."""
    if text_of(value, select) in texts:
        return True
    if value.is_star or value.find(exp.Window, exp.Query) or is_aggregate(value):
        return False
    return all(text_of(column, select) in texts for column in value.find_all(exp.Column))


def _names_all_used(texts: set[str], select: exp.Select) -> bool:
    """Whether every column that a SELECT uses behind its WHERE is among these."""
    if select.args.get("group") is not None or has_generator(select):
        return False  # a window sees the rows that explode makes, and cannot name what tells them apart
    clauses = [
        *select.selects,
        *(select.args[name] for name in ("qualify", "having", "order") if select.args.get(name)),
    ]
    if any(part.is_star for part in select.selects):
        return False
    return all(
        text_of(column, select) in texts for clause in clauses for column in clause.find_all(exp.Column)
    )


def _placed(window: exp.Window, keys: Keys) -> Iterator[Complaint]:
    """Window functions that tell rows apart by their place."""
    function: exp.Expr = window.this
    while isinstance(function, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        function = function.this
    spec = _window_parts(window, window.find_ancestor(exp.Select)).args.get("spec")
    frame = spec.args if spec is not None else {}
    by_rows = str(frame.get("kind", "")).upper() == "ROWS" and (frame.get("start"), frame.get("end")) != (
        "UNBOUNDED",
        "UNBOUNDED",
    )
    is_placed = bool(function_names(function) & BY_POSITION) and not (
        function_names(function) & COLLECTING and _is_orderless(window.parent)
    )
    if (is_placed or by_rows) and not has_total_order(window, keys):
        message = (
            f"{shorten(window.sql(DIALECT))} depends on the order of rows that are equal in its ORDER BY"
        )
        yield (
            message,
            (
                "add the key of the rows to its ORDER BY, or every column that the SELECT uses; or use rank()"
                " or max_by(x, struct(t, x))"
            ),
        )


def _picking(node: exp.Expr, keys: Keys, key: Sequence[str]) -> Iterator[Complaint]:
    """Aggregates that take one of several rows, or rows in their order, unless the result is sorted or they
    are given an order.
    """
    names = function_names(node)
    if names & BY_ORDER:
        if not _breaks_ties(node, keys, key):
            value, by = node.this.sql(DIALECT), node.expression.sql(DIALECT)
            parts = [part.sql(DIALECT) for part in _members(node.expression)]
            hint = (
                f"write {sorted(names & BY_ORDER)[0]}({value}, struct({', '.join([*parts, value])})) FILTER"
                f" (WHERE {by} IS NOT NULL)"
            )
            yield f"{shorten(node.sql(DIALECT))} takes any of several rows with the same {shorten(by)}", hint
        return
    around = node.parent
    while isinstance(around, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        around = around.parent
    if isinstance(around, exp.Window) or _is_orderless(around) or _is_ordered(node, around):
        return
    for name in sorted(names & ORDER_DEPENDENT.keys())[:1]:
        yield f"{shorten(node.sql(DIALECT))} depends on the order in which rows arrive", ORDER_DEPENDENT[name]


def _is_orderless(around: exp.Expr | None) -> bool:
    if around is None:
        return False
    names = function_names(around)
    return bool(names & ORDERLESS) or (
        bool(names & SORTS) and not isinstance(around.args.get("expression"), exp.Lambda)
    )


def _is_ordered(node: exp.Expr, around: exp.Expr | None) -> bool:
    """mode(x, true), and WITHIN GROUP with an order that tells all values apart."""
    if isinstance(node, exp.Mode):
        return isinstance(around, exp.WithinGroup) or node.args.get("deterministic") == exp.true()
    order = (
        node.this
        if isinstance(node.this, exp.Order)
        else around.expression
        if isinstance(around, exp.WithinGroup)
        else None
    )
    if order is None:
        return False
    value = node.this.this if isinstance(node.this, exp.Order) else node.this
    values = value.expressions if isinstance(value, exp.Distinct) else [value]
    texts = {part.this.sql(DIALECT).lower() for part in order.expressions}
    return all(part.sql(DIALECT).lower() in texts for part in values)


def _breaks_ties(node: exp.Expr, keys: Keys, key: Sequence[str]) -> bool:
    """Whether rows with equal second arguments have equal first ones."""
    select = node.find_ancestor(exp.Select)
    texts = {text_of(part, select) for part in _members(node.expression)}
    if text_of(node.this, select) in texts or all(
        text_of(column, select) in texts for column in node.this.find_all(exp.Column)
    ):
        return True
    if select is None:
        return bool(key) and {name.lower() for name in key} <= texts
    ungrouped = select.copy()
    ungrouped.set("group", None)
    ungrouped.set("expressions", [exp.Star()])
    return identifies_row(texts, ungrouped, keys)


def _members(value: exp.Expr) -> list[exp.Expr]:
    """The fields of a struct, or the value itself; of to_json(x), the way to compare a map, what it says."""
    parts = value.expressions if isinstance(value, exp.Struct | exp.Tuple) else [value]
    named = [part.expression if isinstance(part, exp.PropertyEQ) else part.unalias() for part in parts]
    return [part.this if isinstance(part, exp.JSONFormat) else part for part in named]


def _window_parts(window: exp.Window, select: exp.Select | None) -> exp.Expr:
    """What OVER stands for: its own parts, or those of the window that it names."""
    name = window.alias.lower()
    named = [
        part
        for part in (select.args.get("windows") or [] if select is not None else [])
        if part.name.lower() == name
    ]
    return named[0] if name and named else window
