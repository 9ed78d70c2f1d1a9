"""`weir state`: what a native stateful table keeps, for a person or as one JSON object. Changes nothing."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark_jobs.cli.ending import end, fail_with, refuse
from spark_jobs.cli.run import known_profile
from spark_jobs.config.errors import Refused, UsageError, did_you_mean
from spark_jobs.config.lakehouse import Profile
from spark_jobs.config.loading import Project, load_project
from spark_jobs.config.text import count, plain
from spark_jobs.failure import first_line, keep_trace
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import LeaseHeld, hold_lease
from spark_jobs.lake.ledger import Ledger

if TYPE_CHECKING:
    from spark_jobs.run.state import StateOfTable


def state_command(
    name: str, table: str, key: tuple[str, ...], rows: int, profile: str | None, as_json: bool
) -> int:
    try:
        project = load_project(only=name)
        gold = _native_table(project, name, table)
        asked = _asked(key)
        # a key that is asked for is a literal of Spark's plans, and may be that of a person
        chosen = known_profile(project, profile).model_copy(update={"event_log": False})
    except Refused as error:
        return refuse(error, as_json=as_json, pipeline=name)
    lake = Lake(project.lake, name)
    known = Ledger(lake).live_definitions().get(f"gold.{gold}")
    if known is None or not Ledger(lake).batches(f"gold.{gold}", known.generation):
        nothing = f"gold.{gold} has no state yet; `weir run {name}` makes it"
        result = {"pipeline": name, "status": "nothing_to_do", "exit_code": 3, "message": nothing}
        return end(3, nothing, result, as_json=as_json)
    log_file = project.root / "logs" / name / f"state-{datetime.now(UTC):%Y%m%dT%H%M%S}.log"
    try:
        found = _read(
            project,
            name,
            gold,
            lake.checkpoint(f"gold.{gold}", known.generation),
            asked,
            rows,
            chosen,
            log_file,
        )
    except LeaseHeld as held:
        return fail_with("leased", str(held), 5, as_json=as_json, pipeline=name)
    except Refused as error:
        return refuse(error, as_json=as_json, pipeline=name)
    except Exception as error:  # noqa: BLE001 - of Spark or the disk: said as every command says it
        keep_trace(log_file, f"gold.{gold}", error)
        said = (
            f"the state of gold.{gold} cannot be read: {first_line(error)}; log: {log_file}; remove the cause"
            " and ask again"
        )
        return fail_with("failed", said, 1, as_json=as_json, pipeline=name)
    print(json.dumps(found.as_dict(), default=str) if as_json else "\n".join(map(plain, _lines(found))))
    return 0


def _read(
    project: Project,
    name: str,
    gold: str,
    checkpoint: str,
    key: dict[str, str],
    rows: int,
    profile: Profile,
    log_file: Path,
) -> "StateOfTable":
    from spark_jobs.run.state import read_state
    from spark_jobs.verify.session import start_session

    with (
        hold_lease(Lake(project.lake, name).lease(), name, "weir state") as lease,
        start_session(project, profile, name, 0, lease.descriptor, log_file) as spark,
    ):
        return read_state(spark, project.pipelines[name], gold, checkpoint, key, rows, project.conf)


def _native_table(project: Project, name: str, table: str) -> str:
    """The name of a gold table that keeps a state, given with or without its layer."""
    natives = [gold for gold, definition in project.pipelines[name].gold.items() if definition.is_native]
    short = table.removeprefix("gold.")
    if short not in natives:
        why = f"{table!r} keeps no state; only native tables do (state, dedup, join)"
        raise UsageError("TABLE", table, why, did_you_mean(short, natives))
    return short


def _asked(key: tuple[str, ...]) -> dict[str, str]:
    pairs = [part.partition("=") for part in key]
    if wrong := next((part for part, (_, sign, _) in zip(key, pairs, strict=True) if not sign), None):
        raise UsageError(
            "--key", wrong, f"{wrong!r} is not a key", "write column=value, as in --key user_id=7"
        )
    return {column: value for column, _, value in pairs}


def _lines(found: "StateOfTable") -> list[str]:
    lines = [
        f"{found.table}: {found.operator}, {count(found.partitions, 'partition')}, after batch {found.batch}"
    ]
    for store in found.stores:
        lines.append(f"  {store.name}: {count(store.rows, 'row')}")
        lines += [f"    {_row(row)}" for row in store.first]
        lines += (
            [f"    and {store.rows - len(store.first):,} more; --rows shows more of them"]
            if store.rows > len(store.first)
            else []
        )
    return lines


def _row(row: dict[str, Any]) -> str:
    return "  ".join(
        f"{name}: {json.dumps(value, default=str, ensure_ascii=False)}" for name, value in row.items()
    )
