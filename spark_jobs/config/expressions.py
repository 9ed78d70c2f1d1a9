"""Judges SQL expressions of a pipeline file: each must be one expression over known columns, and a function of the data alone."""

from collections.abc import Iterable, Iterator, Sequence

from sqlglot import exp

from spark_jobs.config.errors import did_you_mean
from spark_jobs.config.functions import AGGREGATES, BUILT_IN, GENERATORS, ORDER_DEPENDENT, RAISING, SORTS, UNSTABLE, WITHOUT_PARENTHESES
from spark_jobs.config.names import shorten
from spark_jobs.config.sql import DIALECT, SqlError, columns_of_tree, parse_expression

Complaint = tuple[str, str]
# Names that Spark has for what sqlglot files under a name of its own.
SPARK_NAMES: dict[type[exp.Expr], set[str]] = {
    exp.ApproxQuantile: {"percentile_approx"},
    exp.ArrayUniqueAgg: {"collect_set"},
    exp.BitwiseAndAgg: {"bit_and"},
    exp.BitwiseOrAgg: {"bit_or"},
    exp.BitwiseXorAgg: {"bit_xor"},
    exp.GroupConcat: {"listagg"},
    exp.Quantile: {"percentile"},
}


def judge_row_expression(text: str, columns: Iterable[str]) -> list[Complaint]:
    """What is wrong with an expression over one row: (message, hint) each."""
    tree, complaints = _parse(text)
    if tree is None:
        return complaints
    for called in called_functions(tree):
        if called & AGGREGATES:
            complaints.append((f"{shorten(text)} aggregates rows", "an expression sees one row; aggregate in a gold table"))
        for name in sorted(called & RAISING.keys())[:1]:
            complaints.append((f"{name} fails on a row that it cannot take, and with it the whole batch", RAISING[name]))
        if called & GENERATORS:
            complaints.append((f"{shorten(text)} makes several rows of one", "use the key 'explode' of the table"))
    if tree.find(exp.Window):
        complaints.append((f"{shorten(text)} looks at other rows (OVER)", "an expression sees one row; use a SQL table of gold"))
    return complaints + _unknown_columns(tree, columns) + _bad_functions(tree)


def judge_measure(text: str, columns: Iterable[str], group_by: Iterable[str]) -> list[Complaint]:
    """What is wrong with an aggregate over the rows of a group: (message, hint) each."""
    tree, complaints = _parse(text)
    if tree is None:
        return complaints
    aggregates = [node for node in tree.walk() if isinstance(node, exp.Func) and function_names(node) & AGGREGATES]
    unknown = _bad_functions(tree)
    if not aggregates and not unknown:
        hint = "write for example count(*), sum(amount) or max(price); group_by takes plain columns"
        complaints.append((f"{shorten(text)} is not an aggregate", hint))
    if tree.find(exp.Window):
        complaints.append((f"{shorten(text)} uses OVER", "a measure aggregates the rows of its group; use a SQL table of gold"))
    grouped = {name.lower() for name in group_by}
    for column in tree.find_all(exp.Column) if aggregates else ():
        name = column.parts[0].name
        if name.lower() not in grouped and not _is_inside(column, aggregates):
            hint = f"aggregate it, as in max({name}), or add it to group_by"
            complaints.append((f"{name!r} stands outside the aggregate in {shorten(text)}", hint))
    return complaints + _unknown_columns(tree, columns) + unknown + order_dependent(tree)


def order_dependent(tree: exp.Expr) -> list[Complaint]:
    """Aggregates whose answer depends on the order of rows, unless their result is sorted or they are given an order."""
    complaints = []
    for node in tree.find_all(exp.Func):
        around = node.parent
        while isinstance(around, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
            around = around.parent
        if isinstance(around, exp.Window | exp.WithinGroup) or (around is not None and function_names(around) & SORTS):
            continue
        for name in sorted(function_names(node) & ORDER_DEPENDENT.keys())[:1]:
            complaints.append((f"{shorten(node.sql(DIALECT))} depends on the order in which rows arrive", ORDER_DEPENDENT[name]))
    return complaints


def unstable_functions(tree: exp.Expr) -> list[Complaint]:
    """The clock, chance and the session: what is not a function of the data."""
    found = [sorted(called & UNSTABLE.keys()) for called in called_functions(tree)]
    complaints = []
    for name in dict.fromkeys(names[0] for names in found if names):
        reason, _, hint = UNSTABLE[name].partition("; ")
        complaints.append((f"{name} may not be used: {reason}", hint))
    return complaints


def unknown_functions(tree: exp.Expr) -> list[Complaint]:
    """Functions that Spark does not have. Those that sqlglot knows by name pass."""
    names = dict.fromkeys(node.name.lower() for node in tree.find_all(exp.Anonymous))
    return [(f"there is no function {name!r}", did_you_mean(name, sorted(BUILT_IN))) for name in names if name not in BUILT_IN]


def called_functions(tree: exp.Expr) -> Iterator[set[str]]:
    """For each function of a tree the names that it has; some have several."""
    for node in tree.walk():
        if isinstance(node, exp.Func):
            yield function_names(node)
        elif isinstance(node, exp.Column) and _is_function(node):
            yield {node.name.lower()}


def _is_function(column: exp.Column) -> bool:
    """Whether Spark takes this plain word for a function, as in current_date."""
    return len(column.parts) == 1 and not column.this.args.get("quoted") and column.name.lower() in WITHOUT_PARENTHESES


def function_names(node: exp.Expr) -> set[str]:
    if isinstance(node, exp.Anonymous):
        return {node.name.lower()}
    return {name.lower() for name in type(node).sql_names()} | SPARK_NAMES.get(type(node), set()) if isinstance(node, exp.Func) else set()


def _is_inside(node: exp.Expr, others: Sequence[exp.Expr]) -> bool:
    filtered = [other.parent for other in others if isinstance(other.parent, exp.Filter | exp.WithinGroup)]
    ancestor = node.parent
    while ancestor is not None:
        if any(ancestor is other for other in [*others, *filtered]):
            return True
        ancestor = ancestor.parent
    return False


def _parse(text: str) -> tuple[exp.Expr | None, list[Complaint]]:
    try:
        return parse_expression(text), []
    except SqlError as error:
        return None, [(f"{shorten(text)} cannot be used: {error.message}", error.hint)]


def _unknown_columns(tree: exp.Expr, columns: Iterable[str]) -> list[Complaint]:
    allowed = list(columns)
    known = {name.lower() for name in allowed}
    missing = [name for name in columns_of_tree(tree) if name.lower() not in known and name.lower() not in WITHOUT_PARENTHESES]
    return [(f"there is no column {name!r} here", did_you_mean(name, allowed)) for name in missing]


def _bad_functions(tree: exp.Expr) -> list[Complaint]:
    return unknown_functions(tree) + unstable_functions(tree)
