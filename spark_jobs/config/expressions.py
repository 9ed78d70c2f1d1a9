"""SQL expressions of pipeline files: a function of the row alone, with columns that are there, in functions
that both dialects know.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from sqlglot import exp

from spark_jobs.config.columns import OF_PROCESSING
from spark_jobs.config.comparable import compared_maps
from spark_jobs.config.constants import clocks_in_constants
from spark_jobs.config.errors import did_you_mean
from spark_jobs.config.functions import (
    AGGREGATES,
    ALLOWED,
    GENERATORS,
    GRAMMAR,
    NESTED,
    RAISING,
    REFUSED,
    WHY_REFUSED,
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
    has_pipes,
    parse_expression,
)
from spark_jobs.config.sql_patterns import judge_patterns
from spark_jobs.config.sql_sizes import judge_sizes
from spark_jobs.config.types import is_complex

# What SQL may consist of: one list of clauses and one of functions. Whatever is in neither is refused, known
# or not. The text itself goes to Spark, so functions are looked up by the words of the text, not by what a
# parser makes of them.

VALUES = (
    exp.Column, exp.Identifier, exp.Literal, exp.RawString, exp.HexString, exp.Boolean, exp.Null, exp.Star,
    exp.Var, exp.DataType, exp.DataTypeParam, exp.Paren, exp.Tuple, exp.Bracket, exp.Slice, exp.Dot,
    exp.Lambda, exp.Kwarg, exp.PropertyEQ, exp.ColumnDef, exp.Interval, exp.IntervalSpan, exp.Alias,
    exp.Aliases, exp.Distinct, exp.Filter, exp.Window, exp.WindowSpec, exp.WithinGroup, exp.IgnoreNulls,
    exp.RespectNulls, exp.Order, exp.Ordered, exp.JSONPath, exp.JSONPathPart,
)  # fmt: skip
OPERATORS = (
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.DPipe, exp.BitwiseAnd,
    exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.BitwiseLeftShift, exp.BitwiseRightShift, exp.EQ,
    exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.Is,
    exp.Like, exp.ILike, exp.Escape, exp.Not, exp.Any, exp.All, exp.AtTimeZone, exp.FromTimeZone,
)  # fmt: skip
CLAUSES = (
    exp.Select, exp.Subquery, exp.Union, exp.Intersect, exp.Except, exp.With, exp.CTE, exp.TableAlias,
    exp.From, exp.Join, exp.Table, exp.Lateral, exp.Values, exp.Where, exp.Group, exp.Cube, exp.Rollup,
    exp.GroupingSets, exp.Having, exp.Qualify, exp.Limit, exp.Offset, exp.Sort, exp.Cluster, exp.Distribute,
    exp.Pivot, exp.PivotAlias, exp.UnpivotColumns,
)  # fmt: skip
NODES = (*VALUES, *OPERATORS, *CLAUSES)
# Parts of a node that are no nodes, and say more than its kind.
PARTS: dict[type[exp.Expr], dict[str, str]] = {
    exp.Select: {"kind": "SELECT AS"},
    exp.Join: {"method": "a join by method (ASOF, GLOBAL …)", "hint": "a hint"},
    exp.Distinct: {"on": "DISTINCT ON"},
}
NATURAL = "NATURAL"
INSTEAD = {
    "TABLESAMPLE": ("takes other rows in every run", "filter by the data, as in pmod(xxhash64(id), 10) = 0"),
    "DISTINCT ON": (
        "is unknown to Spark",
        "group by these columns, and take the others as in max_by(x, struct(t, x))",
    ),
    "TRANSFORM … USING": ("runs a program", "write a Python table of gold, as in python: hooks/mine.py:make"),
    "AS OF": ("reads another version than the run has", "read the table as it is"),
    "FETCH": ("is unknown to Spark", "write ORDER BY … LIMIT"),
}
PLAIN = "write a plain SELECT: joins, WHERE, GROUP BY, HAVING, windows"
NAMES: dict[type[exp.Expr], str] = {
    exp.QueryTransform: "TRANSFORM … USING",
    exp.TableSample: "TABLESAMPLE",
    exp.Version: "AS OF",
    exp.Fetch: "FETCH",
    exp.Hint: "a hint (/*+ … */)",
}


def foreign_parts(text: str, tree: exp.Expr, columns: Collection[str] = ()) -> list[Complaint]:
    """The clauses and functions that SQL over these columns may not have: (message, hint) each, each once."""
    found = [*_foreign_clauses(tree), *_refused_functions(text, tree, {name.lower() for name in columns})]
    if has_pipes(text):
        found.append(("the pipe |> may not be used: it is not SELECT", "write SELECT … FROM …"))
    return list(dict.fromkeys(found))


def _foreign_clauses(tree: exp.Expr) -> Iterator[Complaint]:
    for node in tree.walk(prune=_is_foreign):
        if _is_foreign(node):
            yield _refuse(NAMES.get(type(node), type(node).__name__.upper()))
        for part, name in PARTS.get(type(node), {}).items():
            if (given := node.args.get(part)) and given != NATURAL:
                yield _refuse(name)


def _is_foreign(node: exp.Expr) -> bool:
    return not isinstance(node, (*NODES, exp.Func))


def _refuse(name: str) -> Complaint:
    reason, hint = INSTEAD.get(
        name,
        (
            "is not among the clauses of a table",
            "write a plain SELECT: joins, WHERE, GROUP BY, HAVING, windows",
        ),
    )
    return f"{name} may not be used: it {reason}", hint


def _refused_functions(text: str, tree: exp.Expr, columns: Collection[str]) -> Iterator[Complaint]:
    aliases = {
        alias.name.lower() for alias in tree.find_all(exp.TableAlias, exp.Lateral, exp.Window) if alias.name
    }
    for name, is_qualified in [
        *calls_in(text),
        *((name, False) for name in _plain_calls(tree) if name not in columns),
    ]:
        if name in REFUSED:
            reason, hint = WHY_REFUSED[REFUSED[name]]
            yield f"{name} may not be used: {reason}", hint
        elif is_qualified:
            yield f"the function {name!r} is named with a catalog or schema", "write its name alone"
        elif name not in ALLOWED and name not in GRAMMAR and name not in aliases:
            yield f"there is no function {name!r}", did_you_mean(name, sorted(ALLOWED))
    if tree.find(exp.Collate):
        reason, hint = WHY_REFUSED["collation"]
        yield f"COLLATE may not be used: {reason}", hint
    if any(kind.is_type("time", "timetz") for kind in tree.find_all(exp.DataType)):
        reason, hint = WHY_REFUSED["type"]
        yield f"TIME may not be used: {reason}", hint


def _plain_calls(tree: exp.Expr) -> Iterator[str]:
    """The functions that are written as a plain word, as in current_date, unless a column has that name."""
    for node in tree.walk():
        if isinstance(node, exp.Column) and len(node.parts) == 1 and not node.this.args.get("quoted"):
            if node.name.lower() in WITHOUT_PARENTHESES:
                yield node.name.lower()
        elif (
            isinstance(node, exp.Func) and (name := type(node).sql_names()[0].lower()) in WITHOUT_PARENTHESES
        ):
            yield name


# Judges SQL: each expression of a pipeline file is one expression over known columns, and all SQL is a
# function of the data alone.

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
    if not aggregates and not foreign:
        hint = "write for example count(*), sum(amount) or max(price); group_by takes plain columns"
        complaints.append((f"{shorten(text)} is not an aggregate", hint))
    if {name for name, _ in calls_in(text)} & GENERATORS:
        complaints.append((f"{shorten(text)} makes several rows of one", SEVERAL))
    if tree.find(exp.Window):
        complaints.append(
            (
                f"{shorten(text)} uses OVER",
                "a measure aggregates the rows of its group; use a SQL table of gold",
            )
        )
    grouped = {name.lower() for name in group_by}
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
        + compared_maps(tree, types)
        + judge_patterns(tree)
        + judge_sizes(tree, types)
    )


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
