"""SQL expressions of pipeline files: a function of the row alone, with columns that are there, in functions
that both dialects know.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from sqlglot import exp

from spark_jobs.config.columns import OF_PROCESSING, WINDOW
from spark_jobs.config.comparable import compared_maps
from spark_jobs.config.constants import clocks_in_constants
from spark_jobs.config.epochs import floating_epochs
from spark_jobs.config.errors import did_you_mean
from spark_jobs.config.functions import (
    AGGREGATES,
    GENERATORS,
    NESTED,
    RAISING,
    WITHOUT_PARENTHESES,
)
from spark_jobs.config.names import shorten
from spark_jobs.config.row_keys import Keys
from spark_jobs.config.row_order import order_dependent
from spark_jobs.config.sql import (
    Complaint,
    SqlError,
    calls_in,
    columns_of_tree,
    function_names,
    parse_expression,
)
from spark_jobs.config.sql_allowed import foreign_parts
from spark_jobs.config.sql_patterns import judge_patterns
from spark_jobs.config.sql_sizes import judge_sizes
from spark_jobs.config.sql_times import judge_forms
from spark_jobs.config.types import is_complex

SEVERAL = (
    "use the key 'explode' of the table; for a time window date_trunc('hour', t), or the key 'window' of a"
    " gold table"
)


def judge_row_expression(text: str, columns: Collection[str]) -> list[Complaint]:
    """What is wrong with an expression over one row: (message, hint) each. Columns may be given with their
    types.
    """
    tree, complaints = _parse(text)
    if tree is None:
        return complaints
    if any(function_names(node) & AGGREGATES for node in tree.walk()):
        complaints.append(
            (f"{shorten(text)} aggregates rows", "an expression sees one row; aggregate in a gold table")
        )
    calls = {name for name, _ in calls_in(text)}
    for name in sorted(calls & RAISING.keys()):
        complaints.append(
            (f"{name} fails on a row that it cannot take, and with it the whole batch", RAISING[name])
        )
    if calls & GENERATORS:
        complaints.append((f"{shorten(text)} makes several rows of one", SEVERAL))
    if tree.find(exp.Window):
        complaints.append(
            (
                f"{shorten(text)} looks at other rows (OVER)",
                "an expression sees one row; use a SQL table of gold",
            )
        )
    return complaints + _unknown_columns(tree, columns) + _of_data_alone(text, tree, columns)


def judge_column(text: str, kind: str, columns: Mapping[str, str]) -> list[Complaint]:
    """What is wrong with the expression of a column of this type: (message, hint) each."""
    complaints = judge_row_expression(text, columns)
    if complaints or is_complex(kind) or not _is_nested(parse_expression(text).unnest(), columns):
        return complaints
    hint = (
        "write to_json(…) for its text, or declare the type, as in array<string>"
        if kind == "string"
        else "take one value out of it, or declare the type, as in array<string>"
    )
    return [(f"{shorten(text)} is an array, a map or an object, which is no {kind}", hint)]


def _is_nested(tree: exp.Expr, columns: Mapping[str, str]) -> bool:
    """Whether its value surely is an array, a map or an object."""
    if isinstance(tree, exp.Column):
        types = {name.lower(): kind for name, kind in columns.items()}
        return len(tree.parts) == 1 and is_complex(types.get(tree.name.lower(), ""))
    return isinstance(tree, exp.Struct | exp.RegexpSplit | exp.VarMap) or bool(function_names(tree) & NESTED)


def judge_measure(
    text: str, columns: Collection[str], group_by: Iterable[str], key: Sequence[str] = ()
) -> list[Complaint]:
    """What is wrong with an aggregate over the rows of a group, which `key` identifies:
    (message, hint) each.
    """
    tree, complaints = _parse(text)
    if tree is None:
        return complaints
    aggregates = [
        node for node in tree.walk() if isinstance(node, exp.Func) and function_names(node) & AGGREGATES
    ]
    foreign = _of_data_alone(text, tree, columns)
    grouped = {name.lower() for name in group_by}
    named = {name.lower() for name in columns_of_tree(tree)}
    is_of_window = bool(named) and named <= grouped & set(WINDOW)
    if not aggregates and not foreign and not is_of_window:
        hint = "write for example count(*), sum(amount) or max(price); group_by takes plain columns"
        complaints.append((f"{shorten(text)} is not an aggregate", hint))
    if any(outer is not node for node in aggregates for outer in aggregates if _holds(outer, node)):
        hint = "make a gold table of the inner one, and from this the other"
        complaints.append((f"{shorten(text)} is an aggregate of an aggregate", hint))
    if {name for name, _ in calls_in(text)} & GENERATORS:
        complaints.append((f"{shorten(text)} makes several rows of one", SEVERAL))
    if tree.find(exp.Window):
        complaints.append(
            (
                f"{shorten(text)} uses OVER",
                "a measure aggregates the rows of its group; use a SQL table of gold",
            )
        )
    for column in tree.find_all(exp.Column) if aggregates else ():
        name = column.parts[0].name
        if name.lower() not in grouped and not _is_inside(column, aggregates):
            hint = f"aggregate it, as in max({name}), or add it to group_by"
            complaints.append((f"{name!r} stands outside the aggregate in {shorten(text)}", hint))
    return complaints + _unknown_columns(tree, columns) + foreign + order_dependent(tree, {}, key)


def judge_query(
    text: str, tree: exp.Query, tables: Mapping[str, Collection[str] | None], keys: Keys
) -> list[Complaint]:
    """What is wrong with a SELECT over these tables, whatever they hold: (message, hint) each."""
    columns: dict[str, str] = {}
    for known in tables.values():
        types = known if isinstance(known, Mapping) else dict.fromkeys(known or (), "")
        for name, kind in types.items():  # a name with two types has none
            columns[name.lower()] = kind if columns.get(name.lower(), kind) == kind else ""
    return _of_data_alone(text, tree, columns) + _times_of_processing(tree) + order_dependent(tree, keys)


def _times_of_processing(tree: exp.Query) -> list[Complaint]:
    """Columns that tell when rows were processed, or what had arrived by then. _processed_at as it is becomes
    the table's own.
    """
    named = [column for column in tree.find_all(exp.Column) if column.name.lower() in OF_PROCESSING]
    told = [
        column
        for column in named
        if column.name.lower() != "_processed_at" or column.arg_key != "expressions"
    ]
    hint = "use _arrived_at, or a time of the data"
    return [
        (f"{name} tells how rows were processed, not what they say", hint)
        for name in dict.fromkeys(c.name for c in told)
    ]


def _of_data_alone(text: str, tree: exp.Expr, columns: Collection[str]) -> list[Complaint]:
    """The clock, chance and the session, what is not among the clauses and functions of a table, and what no
    data could answer.
    """
    types = {name.lower(): kind for name, kind in columns.items()} if isinstance(columns, Mapping) else {}
    return (
        foreign_parts(text, tree, columns)
        + clocks_in_constants(tree, types)
        + floating_epochs(tree, types)
        + compared_maps(tree, types)
        + judge_patterns(tree)
        + judge_forms(text)
        + judge_sizes(tree, types)
    )


def _holds(outer: exp.Expr, node: exp.Expr) -> bool:
    return any(part is node for part in outer.walk())


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
    missing = [
        name
        for name in columns_of_tree(tree)
        if name.lower() not in known and name.lower() not in WITHOUT_PARENTHESES
    ]
    return [(f"there is no column {name!r} here", did_you_mean(name, allowed)) for name in missing]
