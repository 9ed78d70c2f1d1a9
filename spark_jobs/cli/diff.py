"""`weir diff`: what is different between two versions of a table, row by row."""

import json
from typing import Any

from spark_jobs.cli.show import looking
from spark_jobs.config.errors import UsageError
from spark_jobs.config.loading import Project
from spark_jobs.config.text import count, plain
from spark_jobs.look.diff import CHANGED, Diff, DiffRow, diff_table
from spark_jobs.look.names import find_table, known_version
from spark_jobs.look.values import as_cell, as_json

LINE_LENGTH = 400


def diff_command(table: str, before: str, after: str | None, rows: int, is_json: bool) -> int:
    def diff(project: Project) -> int:
        ref, at = find_table(project, table)
        if at is not None:
            raise UsageError("TABLE", table, "it has a version", "write the versions with --from and --to")
        to = known_version(after, "--to") if after else None
        found = diff_table(ref, known_version(before, "--from"), to, rows)
        print(json.dumps(_as_dict(found)) if is_json else "\n".join(_lines(found)))
        return 0

    return looking(diff, is_json)


def _lines(found: Diff) -> list[str]:
    by = f", by {', '.join(found.key)}" if found.key else ", as bags of rows: nothing tells them apart"
    lines = [f"{found.table}: version {found.before} → {found.after}{by}"]
    counts = [f"{found.added:,} added", f"{found.removed:,} removed"]
    counts += [f"{found.changed:,} changed"] if found.key else []
    lines.append(f"  {', '.join(counts)}, {found.unchanged:,} unchanged")
    if found.columns:
        changed = (f"{name} in {count(number, 'row')}" for name, number in found.columns.items())
        lines.append(f"  changed: {', '.join(changed)}")
    lines += [f"  {plain(note)}" for note in found.notes]
    lines += [f"  {plain(_line(row), LINE_LENGTH)}" for row in found.first]
    if found.differing > len(found.first):
        lines.append(
            f"and {count(found.differing - len(found.first), 'more row')}: `--rows` shows more of them"
        )
    return lines


def _line(row: DiffRow) -> str:
    key = " ".join(f"{name}={as_cell(value)}" for name, value in row.key.items())
    values = (
        (f"{name}: {as_cell(was)} → {as_cell(now)}" for name, (was, now) in row.values.items())
        if row.kind == CHANGED
        else (f"{name}: {as_cell(value)}" for name, value in row.values.items())
    )
    return "  ".join(filter(None, (f"{row.kind:<7}", key, ", ".join(values))))


def _as_dict(found: Diff) -> dict[str, Any]:
    first = [{"kind": row.kind, "key": as_json(row.key), **_row(row)} for row in found.first]
    about = {"from": found.before, "to": found.after, **vars(found), "first": first}
    return {"status": "ok", "exit_code": 0} | {
        name: value for name, value in about.items() if name not in ("before", "after")
    }


def _row(row: DiffRow) -> dict[str, Any]:
    if row.kind != CHANGED:
        return {"values": as_json(row.values)}
    return {
        "values": {
            name: {"from": as_json(was), "to": as_json(now)} for name, (was, now) in row.values.items()
        }
    }
