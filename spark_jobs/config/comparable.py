"""Finds maps where values are compared: Spark cannot say whether two maps are equal, or
which is the greater.
"""

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from spark_jobs.config.functions import BY_ORDER, COMPARING
from spark_jobs.config.names import shorten
from spark_jobs.config.sql import DIALECT, Complaint, function_names

COMPARISONS = (
    exp.EQ,
    exp.NEQ,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.GT,
    exp.GTE,
    exp.LT,
    exp.LTE,
    exp.Between,
    exp.In,
    exp.Ordered,
    exp.Distinct,
)
LISTING = (exp.Paren, exp.Array, exp.ArrayAgg, exp.Struct, exp.Tuple)
"""What is around values, or lists them, and so can be compared as they can."""
MAPS = {
    "map", "map_concat", "map_filter", "map_from_arrays", "map_from_entries", "map_zip_with", "str_to_map",
    "transform_keys", "transform_values",
}  # fmt: skip


def compared_maps(tree: exp.Expr, types: Mapping[str, str]) -> list[Complaint]:
    """Columns of a map type that something compares: (message, hint) each. `types` are those of columns by
    their names in lower case.
    """
    found = dict.fromkeys(
        f"{shorten(node.sql(DIALECT))} compares"
        for node in tree.walk()
        if any(_is_map(part, types) for part in _compared(node))
    )
    found |= {
        f"{name} compares": None
        for query in tree.find_all(exp.Select, exp.SetOperation)
        for name in _distinct_rows(query, types)
    }
    hint = "compare what is in them, as in m['key'], or their text, as in to_json(m)"
    return [(f"{what} maps, which cannot be compared", hint) for what in found]


def _compared(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node, COMPARISONS):
        yield from node.iter_expressions()
    elif isinstance(node, exp.Case):
        yield from [node.this] if node.this else []
    elif names := function_names(node) & COMPARING:
        if not names & BY_ORDER:
            yield from (node.this, *node.expressions)
        elif isinstance(node.expression, exp.Struct):
            yield from (
                part.expression for part in node.expression.expressions if isinstance(part, exp.PropertyEQ)
            )
        else:
            yield node.expression


def _distinct_rows(query: exp.Query, types: Mapping[str, str]) -> Iterator[str]:
    """SELECT DISTINCT and UNION compare whole rows."""
    is_compared = query.args.get("distinct") or isinstance(query, exp.Intersect | exp.Except)
    if is_compared and any(_is_map(select.unalias(), types) for select in query.selects):
        yield "SELECT DISTINCT" if isinstance(query, exp.Select) else type(query).__name__.upper()


def _is_map(node: exp.Expr, types: Mapping[str, str]) -> bool:
    """Whether the value is a map or holds one: a column, a field or element of one, or a list that is made of
    such.
    """
    if isinstance(node, exp.PropertyEQ | exp.Alias):
        return _is_map(node.expression if isinstance(node, exp.PropertyEQ) else node.this, types)
    if isinstance(node, LISTING) or function_names(node) & {"named_struct"}:
        return any(_is_map(part, types) for part in node.iter_expressions())
    if isinstance(node, exp.Map | exp.VarMap) or function_names(node) & MAPS:
        return True
    kind = _type_of(node, types)
    return kind is not None and any(inner.is_type("map") for inner in kind.find_all(exp.DataType))


def _type_of(node: exp.Expr, types: Mapping[str, str]) -> exp.DataType | None:
    match node:
        case exp.Column():
            names = [part.name.lower() for part in node.parts]
            found = (
                _field(types[name], names[place + 1 :])
                for place, name in enumerate(names)
                if "map<" in types.get(name, "")
            )
            return next((kind for kind in found if kind), None)
        case exp.Dot():
            outer = _type_of(node.this, types)
            return _field(outer.sql(DIALECT), [node.name.lower()]) if outer else None
        case exp.Bracket():
            outer = _type_of(node.this, types)
            inner = outer.expressions[-1] if outer and outer.is_type("array", "map") else None
            return inner if isinstance(inner, exp.DataType) else None
        case _:
            return None


def _field(spark_type: str, path: Sequence[str]) -> exp.DataType | None:
    """The type at the end of a path of fields; None where there is none."""
    kind: exp.DataType | None = exp.DataType.build(spark_type, dialect=DIALECT)
    for name in path:
        fields = kind.expressions if kind and kind.is_type("struct") else []
        kind = next(
            (
                field.kind
                for field in fields
                if isinstance(field, exp.ColumnDef) and field.name.lower() == name
            ),
            None,
        )
    return kind
