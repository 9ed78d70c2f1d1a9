"""`weir show`: a table with its version, rows, columns, history and first rows; or the list of all tables."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from rich.filesize import decimal

from spark_jobs.cli.ending import fail_with, refuse, say_if_empty
from spark_jobs.cli.query import not_there, print_rows
from spark_jobs.config.errors import Refused
from spark_jobs.config.loading import Project, load_project
from spark_jobs.config.text import count, plain
from spark_jobs.look.names import NotThere, find_table
from spark_jobs.look.show import Listed, Shown, list_tables, show_table
from spark_jobs.look.values import as_json


def show_command(table: str | None, rows: int, commits: int, is_json: bool) -> int:
    def show(project: Project) -> int:
        if table is None:
            say_if_empty(project)
            return _tell_list(list_tables(project), is_json)
        ref, at = find_table(project, table)
        return _tell(show_table(ref, at, rows, commits), is_json)

    return looking(show, is_json)


def looking(look: Callable[[Project], int], is_json: bool) -> int:
    """A look at tables of the project, with an end for all that may stand in its way."""
    from spark_jobs.look.query import QueryFailed

    try:
        return look(load_project())
    except Refused as error:
        return refuse(error, as_json=is_json)
    except NotThere as missing:
        return not_there(missing, as_json=is_json)
    except QueryFailed as failed:
        return fail_with("failed", plain(failed), 1, as_json=is_json)


def _tell(shown: Shown, is_json: bool) -> int:
    names = [column.name for column in shown.columns]
    if is_json:
        about = {
            **vars(shown),
            "columns": [vars(column) for column in shown.columns],
            "history": [commit.as_dict() for commit in shown.history],
            "first": [dict(zip(names, map(as_json, row), strict=True)) for row in shown.first],
        }
        print(json.dumps({"status": "ok", "exit_code": 0, **about}))
        return 0
    files = f"{count(shown.files, 'file')}, {decimal(shown.bytes)}"
    print(plain(f"{shown.table}: {count(shown.rows, 'row')}, version {shown.version}, {files}"))
    print("\ncolumns")
    _print(
        ("column", "type", ""),
        ((column.name, column.type, "sensitive" if column.is_sensitive else "") for column in shown.columns),
    )
    if shown.history:
        print("\nhistory")
        _print(
            ("version", "at", "what", "run"),
            (
                (
                    commit.version,
                    commit.at,
                    " ".join(filter(None, (commit.operation, commit.step))),
                    commit.run_id,
                )
                for commit in shown.history
            ),
        )
    if shown.first:
        print(f"\n{'rows' if len(shown.first) == shown.rows else f'{len(shown.first):,} of the rows'}")
        _print(names, shown.first)
    return 0


def _tell_list(tables: list[Listed], is_json: bool) -> int:
    if is_json:
        print(json.dumps({"status": "ok", "exit_code": 0, "tables": [vars(table) for table in tables]}))
    elif tables:
        sizes = (None if table.bytes is None else decimal(table.bytes) for table in tables)
        rows = (
            (table.table, table.version, table.rows, table.files, size)
            for table, size in zip(tables, sizes, strict=True)
        )
        names = ("table", "version", "rows", "files", "size")
        print_rows(list(names), rows, list(names[1:]))
    return 0


def _print(names: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    print_rows(list(names), rows, ["version"])
