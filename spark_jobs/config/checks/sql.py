"""Checks of the SQL files of gold tables, without Spark: one SELECT, known tables and columns, a function of
the data alone.
"""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope

from spark_jobs.config.checks.sums import explain, floating_sums, is_floating, is_whole_number
from spark_jobs.config.columns import ANY
from spark_jobs.config.errors import did_you_mean
from spark_jobs.config.expressions import judge_query
from spark_jobs.config.files import read_text
from spark_jobs.config.gold import Gold
from spark_jobs.config.names import shorten
from spark_jobs.config.row_keys import Keys
from spark_jobs.config.sql import (
    DIALECT,
    SqlError,
    line_in,
    located_tables,
    parse_query,
)
from spark_jobs.config.table_name import TableName
from spark_jobs.config.validation import Report

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
            is_field = len(column.parts) == 1 or column.name.lower() in ("start", "end")
            if is_field and column.find_ancestor(exp.Select) is select:
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
    """The type of a column of a table, and of one that a subquery makes whether it is floating or whole."""
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
    type_of = partial(_type_in, source, known)
    if any(is_floating(part, type_of) for part in made):
        return "double"
    return "bigint" if made and all(is_whole_number(part, type_of) for part in made) else ANY


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
