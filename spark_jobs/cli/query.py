"""`weir query`: the answer of the lake to a SELECT, as a table for a person or as one JSON object."""

import json
import sys
from itertools import count as numbers
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from spark_jobs.cli.ending import end, fail_with, refuse, say_if_empty
from spark_jobs.config.errors import Refused, UsageError
from spark_jobs.config.loading import load_project
from spark_jobs.config.text import count, plain
from spark_jobs.look.names import NotThere
from spark_jobs.look.values import as_cell, as_json

NOT_THERE = 3
STDIN = "-"
NUMBERS = ("INT", "DECIMAL", "DOUBLE", "FLOAT")


def query_command(sql: str, limit: int, is_json: bool) -> int:
    from spark_jobs.look.query import QueryFailed, answer

    try:
        project = load_project()
        say_if_empty(project)
        found = answer(project, _text(sql), limit)
    except Refused as error:
        return refuse(error, as_json=is_json)
    except NotThere as missing:
        return not_there(missing, as_json=is_json)
    except QueryFailed as failed:
        return fail_with("failed", plain(failed), 1, as_json=is_json)
    names = _unique([name for name, _ in found.columns])
    if is_json:
        rows = [dict(zip(names, map(as_json, row), strict=True)) for row in found.rows]
        columns = [{"name": name, "type": kind} for name, (_, kind) in zip(names, found.columns, strict=True)]
        about = {"status": "ok", "exit_code": 0, "columns": columns, "rows": rows}
        print(json.dumps(about | {"has_more": found.has_more, "versions": found.versions}))
        return 0
    kinds = [kind for _, kind in found.columns]
    print_rows(names, found.rows, [name for name, kind in zip(names, kinds, strict=True) if _is_number(kind)])
    more = "; there are more: `--limit` shows them" if found.has_more else ""
    read = ", ".join(f"{name} {_versions(those)}" for name, those in found.versions.items())
    told = f"{count(len(found.rows), 'row')} in {found.seconds:.1f} s{f' from {read}' if read else ''}{more}"
    print(plain(told), file=sys.stderr)
    return 0


def print_rows(names: list[str], rows: Any, right: list[str]) -> None:
    """Nothing is left out: what does not fit a terminal is folded, in a file every row is one line."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 10_000)
    printed = Table(box=None, pad_edge=False)
    for name in names:
        printed.add_column(Text(plain(name)), justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        printed.add_row(*(Text(as_cell(value)) for value in row))
    console.print(printed)


def not_there(missing: NotThere, *, as_json: bool) -> int:
    """A table that no run has made yet: nothing is wrong, and there is nothing to show."""
    about = {"pipeline": missing.pipeline, "status": "nothing_to_do", "exit_code": NOT_THERE}
    return end(NOT_THERE, str(missing), about | {"message": str(missing)}, as_json=as_json)


def _text(sql: str) -> str:
    text = sys.stdin.read() if sql == STDIN else sql
    if not text.strip():
        raise UsageError(
            "SQL", text, "it is empty", 'write a query, as in "select * from retail.silver.orders"'
        )
    return text


def _unique(names: list[str]) -> list[str]:
    """No two columns of one name: a JSON object would keep one of them."""
    found: list[str] = []
    for name in names:
        others = (f"{name}_{number}" for number in numbers(1))
        found.append(
            name if name not in found else next(other for other in others if other not in found + names)
        )
    return found


def _is_number(kind: str) -> bool:
    return any(kind.endswith(number) or kind.startswith(number) for number in NUMBERS)


def _versions(those: list[int]) -> str:
    return ", ".join(f"v{version}" for version in those)
