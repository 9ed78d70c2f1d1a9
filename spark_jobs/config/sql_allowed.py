"""What SQL may consist of: one list of clauses and one of functions. Whatever is in neither is refused, known
or not. The text itself goes to Spark, so functions are looked up by the words of the text, not by what a
parser makes of them.
"""

from collections.abc import Collection, Iterator

from sqlglot import exp

from spark_jobs.config.errors import did_you_mean
from spark_jobs.config.functions import ALLOWED, GRAMMAR, REFUSED, WHY_REFUSED, WITHOUT_PARENTHESES
from spark_jobs.config.sql import Complaint, calls_in, has_pipes

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
