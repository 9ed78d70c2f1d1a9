"""Checks of the SQL files of gold tables, without Spark: one SELECT, known tables and columns, a function of
the data alone.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope

from spark_jobs.config.columns import ANY
from spark_jobs.config.document import Report
from spark_jobs.config.errors import did_you_mean
from spark_jobs.config.expressions import judge_query
from spark_jobs.config.files import read_text
from spark_jobs.config.functions import ADDING, DOUBLES
from spark_jobs.config.gold import Gold
from spark_jobs.config.names import shorten
from spark_jobs.config.row_order import Keys, has_total_order
from spark_jobs.config.sql import (
    DIALECT,
    Complaint,
    SqlError,
    function_names,
    line_in,
    located_tables,
    parse_expression,
    parse_query,
)
from spark_jobs.config.table_name import TableName

# Finds sums of floating-point numbers: their last digits depend on the order in which rows are added, so no
# table may hold them.

NO_KEYS: Keys = {}
TypeOf = Callable[[exp.Column], str]
WHOLE = ("tinyint", "smallint", "int", "bigint")
# What has another type than the numbers inside it: conditions, and rounding to whole numbers.
NOT_FLOATING = (exp.Predicate, exp.Connector, exp.Not, exp.Floor, exp.Ceil)


def judge_sums(text: str, types: Mapping[str, str]) -> list[Complaint]:
    """What is wrong with the sums in a measure over columns of these types: (message, hint) each; none where
    it does not parse.
    """
    try:
        tree = parse_expression(text)
    except SqlError:
        return []
    by_name = {name.lower(): spark_type for name, spark_type in types.items()}
    return [
        explain(node)
        for node in floating_sums(tree, lambda column: by_name.get(column.parts[0].name.lower(), ANY))
    ]


def floating_sums(tree: exp.Expr, type_of: TypeOf, keys: Keys = NO_KEYS) -> Iterator[exp.Expr]:
    """The sums and averages of floating-point numbers. One OVER an order without ties adds its rows in that
    order, and passes.
    """
    for node in tree.find_all(exp.Func):
        window = node.find_ancestor(exp.Window, exp.Select)
        is_ordered = isinstance(window, exp.Window) and has_total_order(window, keys)
        if (
            function_names(node) & ADDING
            and not is_ordered
            and any(is_floating(child, type_of) for child in node.iter_expressions())
        ):
            yield node


def explain(node: exp.Expr) -> Complaint:
    """The complaint about one sum, with the same sum in decimals."""
    exact = node.copy()
    added = next(exact.iter_expressions())
    for part in added.expressions if isinstance(added, exp.Distinct) else [added]:
        part.replace(exp.cast(part.copy(), "decimal(18,4)", dialect=DIALECT))
    message = (
        f"{shorten(node.sql(DIALECT))} adds floating-point numbers, so that its last digits depend on the"
        " order of rows"
    )
    return message, f"declare the column as decimal, or cast what is added, as in {exact.sql(DIALECT)}"


def is_floating(node: exp.Expr, type_of: TypeOf) -> bool:
    """Whether a value is a float or double, as far as the types of the columns tell; what
    is unknown passes.
    """
    if isinstance(node, exp.Cast):
        return bool(node.is_type("float", "double"))
    if isinstance(node, NOT_FLOATING) or "decimal" in function_names(node):
        return False
    if isinstance(node, exp.Column):
        return _is_floating_column(node, type_of(node))
    if isinstance(node, exp.Literal):
        return not node.is_string and "e" in node.name.lower()
    if function_names(node) & DOUBLES or (
        isinstance(node, exp.Div | exp.SafeDivide) and _is_whole(node, type_of)
    ):
        return True
    return any(is_floating(child, type_of) for child in _values(node))


def _values(node: exp.Expr) -> Iterator[exp.Expr]:
    """The parts that a value is made from; what CASE and IF compare is none of them."""
    for child in node.iter_expressions():
        if not (isinstance(node, exp.Case | exp.If) and child.arg_key == "this"):
            yield child


def _is_floating_column(column: exp.Column, spark_type: str) -> bool:
    """Of an object the field that is named counts; of an array or map what is in it."""
    node: exp.Expr = column
    while isinstance(node.parent, exp.Dot) and node.parent.this is node:
        node = node.parent
    field = (
        rf"\b{re.escape(node.name)}:"
        if "struct<" in spark_type and node.name.lower() != column.parts[0].name.lower()
        else r"\b"
    )
    return re.search(rf"{field}(float|double)\b", spark_type, re.IGNORECASE) is not None


def _is_whole(node: exp.Expr, type_of: TypeOf) -> bool:
    """Whether all that is divided are whole numbers: Spark divides these as doubles."""
    columns = all(type_of(column) in WHOLE for column in node.find_all(exp.Column))
    return (
        columns and all(literal.is_int for literal in node.find_all(exp.Literal)) and not node.find(exp.Cast)
    )


Columns = Mapping[str, str]
TIME_WINDOWS = {"window", "session_window"}


def check_sql_table(
    name: str, gold: Gold, tables: Mapping[str, Columns | None], keys: Keys, conf: Path, report: Report
) -> Columns | None:
    """The columns of the table, where they can be told. `tables` are those it may read, with their columns
    where known.
    """
    file = conf / (gold.sql or "")
    place = ("gold", name, "sql")
    if not file.exists():
        there = sorted(found.relative_to(conf).as_posix() for found in conf.rglob("*.sql"))
        report.add(place, gold.sql, f"there is no file conf/{gold.sql}", did_you_mean(gold.sql or "", there))
        return None
    where = ".".join(place)
    try:
        text = read_text(file)
        tree = parse_query(text)
    except OSError as error:
        message = f"the file conf/{gold.sql} cannot be read: {error.strerror}"
        report.add(place, gold.sql, message, "write a regular file, and allow reading it")
        return None
    except UnicodeDecodeError:
        report.add_in_file(file, 1, where, gold.sql, "the file is not UTF-8 text", "save it as UTF-8")
        return None
    except SqlError as error:
        report.add_in_file(
            file,
            error.line,
            where,
            gold.sql,
            f"the SQL of gold.{name} cannot be used: {error.message}",
            error.hint,
        )
        return None
    known = _check_tables(name, tree, tables, file, where, report)
    for message, hint in judge_query(
        text, tree, {table: tables.get(table) for table, _ in located_tables(tree)}, keys
    ):
        report.add_in_file(file, line_in(tree), where, gold.sql, message, hint)
    _check_output(tree, file, where, report)
    return resolve_columns(tree, known, keys, file, where, report) if known is not None else None


def _check_tables(
    name: str, tree: exp.Query, tables: Mapping[str, Columns | None], file: Path, where: str, report: Report
) -> dict[str, Columns] | None:
    """The columns of all tables that the SQL reads, or None where one is unknown or cannot be told."""
    found = located_tables(tree)
    allowed = [table for table in tables if not TableName(table).is_bronze and table != f"gold.{name}"]
    if not found:
        report.add_in_file(
            file, 1, where, None, "the SELECT reads no table", f"read one of {', '.join(allowed)}"
        )
    known: dict[str, Columns] = {}
    for table, node in found:
        columns = tables.get(table)
        if table not in allowed:
            message = f"there is no table {table!r}"
            if table in tables:
                reason = (
                    "a table cannot be made from itself"
                    if table == f"gold.{name}"
                    else "bronze holds raw records"
                )
                message = f"the table {table!r} cannot be read: {reason}"
            report.add_in_file(file, line_in(node), where, table, message, did_you_mean(table, allowed))
        elif columns is not None:
            known[table] = columns
    return known if {table for table, _ in found} == known.keys() else None


def _check_output(tree: exp.Query, file: Path, where: str, report: Report) -> None:
    """Every column of the result needs a name that Delta can store, once."""
    seen: set[str] = set()
    for column in tree.selects:
        name = column.output_name
        text = shorten(column.sql(DIALECT))
        if column.is_star or isinstance(column, exp.Aliases | exp.Explode | exp.Inline | exp.QueryTransform):
            continue
        if not name:
            report.add_in_file(
                file,
                line_in(column),
                where,
                column.sql(DIALECT),
                f"the column {text} has no name",
                "add AS <name>",
            )
        elif name.lower() in seen:
            report.add_in_file(
                file,
                line_in(column),
                where,
                name,
                f"the column {name!r} stands twice in the result",
                "rename one with AS",
            )
        elif re.search(r"[ ,;{}()\n\t=]", name):
            report.add_in_file(
                file,
                line_in(column),
                where,
                name,
                f"the name {name!r} cannot be stored",
                "use letters, digits and _",
            )
        seen.add(name.lower())


def resolve_columns(
    tree: exp.Query, known: Mapping[str, Columns], keys: Keys, file: Path, where: str, report: Report
) -> Columns | None:
    """Resolves every column against the tables. Only what is surely missing is a problem; what sqlglot cannot
    follow passes.
    """
    if tree.find(exp.Values) or not known:
        return None
    schema: dict[str, dict[str, Columns]] = {}
    for table, columns in known.items():
        layer, _, name = table.rpartition(".")
        schema.setdefault(layer, {})[name] = dict(columns)
    try:
        resolved = qualify(
            _in_two_words(tree),
            schema=dict[str, object](schema),
            dialect=DIALECT,
            quote_identifiers=False,
            identify=False,
        )
    except SqlglotError as error:
        _explain(str(error), tree, known, file, where, report)
        return None
    _check_sums(resolved, known, keys, file, where, report)
    return dict.fromkeys(resolved.named_selects, ANY) | {"_processed_at": "timestamp"}


def _in_two_words(tree: exp.Query) -> exp.Query:
    """A copy in which retail.silver.orders is the table `orders` of the layer `retail.silver`: a schema has
    one depth for all tables.
    """
    tree = tree.copy()
    for node in tree.find_all(exp.Table, exp.Column):
        if catalog := node.args.get("catalog"):
            node.set("db", exp.to_identifier(f"{catalog.name}.{node.args['db'].name}".lower(), quoted=True))
            node.set("catalog", None)
    return _with_named_windows(tree)


def _with_named_windows(tree: exp.Query) -> exp.Query:
    """The same with the columns that Spark makes of window(…) and session_window(…): such a call is a column
    of its own name.
    """
    for select in list(tree.find_all(exp.Select)):
        for part in select.selects:
            if isinstance(part, exp.Anonymous) and part.name.lower() in TIME_WINDOWS:
                part.replace(exp.alias_(part.copy(), part.name.lower()))
        grouped = select.args["group"].find_all(exp.Anonymous) if select.args.get("group") else []
        made = {part.name.lower() for part in grouped} & TIME_WINDOWS
        for column in [
            column for column in select.find_all(exp.Column) if column.parts[0].name.lower() in made
        ]:
            if column.find_ancestor(exp.Select) is select:
                value = exp.cast(exp.null(), "timestamp") if len(column.parts) > 1 else exp.null()
                keeps_name = column.parent is select and column.arg_key == "expressions"
                column.replace(exp.alias_(value, column.name) if keeps_name else value)
    return tree


def _check_sums(
    resolved: exp.Expr, known: Mapping[str, Columns], keys: Keys, file: Path, where: str, report: Report
) -> None:
    for scope in traverse_scope(resolved):
        for node in floating_sums(scope.expression, partial(_type_in, scope, known), keys):
            if node.find_ancestor(exp.Select) is scope.expression:
                message, hint = explain(node)
                report.add_in_file(file, line_in(node), where, node.sql(DIALECT), message, hint)


def _type_in(scope: Scope, known: Mapping[str, Columns], column: exp.Column) -> str:
    """The type of a column of a table, and of one that a subquery makes whether it is floating."""
    source = scope.sources.get(column.table)
    if isinstance(source, exp.Table):
        types = known.get(".".join(part.name for part in source.parts).lower(), {})
        return next((found for name, found in types.items() if name.lower() == column.name.lower()), ANY)
    if not isinstance(source, Scope) or not isinstance(source.expression, exp.Select):
        return ANY
    made = [
        select.unalias()
        for select in source.expression.selects
        if select.output_name.lower() == column.name.lower()
    ]
    return "double" if any(is_floating(part, partial(_type_in, source, known)) for part in made) else ANY


def _explain(
    reason: str, tree: exp.Query, known: Mapping[str, Columns], file: Path, where: str, report: Report
) -> None:
    match = re.search(r"Unknown column: (\w+)|Column '([^']+)' could not be resolved", reason)
    if match is None:
        return
    name = (match[1] or match[2]).rpartition(".")[2]
    columns = list(dict.fromkeys(column for table in known.values() for column in table))
    nodes = [node for node in tree.find_all(exp.Column) if node.name.lower() == name.lower()]
    line = min((line_in(node) for node in nodes), default=1)
    owners = [table for table, found in known.items() if name.lower() in (column.lower() for column in found)]
    if len(owners) > 1 and not match[1]:
        hint = f"say which one is meant, as in {owners[0]}.{name}"
        report.add_in_file(
            file, line, where, name, f"the column {name!r} is in {' and in '.join(owners)}", hint
        )
    elif not owners or match[1]:
        report.add_in_file(
            file,
            line,
            where,
            name,
            f"there is no column {name!r} in {', '.join(known)}",
            did_you_mean(name, columns),
        )
