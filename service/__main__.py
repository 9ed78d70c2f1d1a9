"""The command behind `make up` and `make down`: `python -m service up | down | status`; `scheduler` is for a
container.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from service.container import run_scheduler
from service.dags import is_fresh, paused_dags, say_paused
from service.environ import airflow_home
from service.health import ServiceFailed, ask_health, unhealthy_parts
from service.keys import USER
from service.start import PORT, CannotStart, Started, start_service
from service.state import ServiceBusy, State, read_state
from service.stop import GRACE_SECONDS, stop_service
from spark_jobs.config.loading import find_root

EPILOG = """Example: WEIR_PORT=8090 python -m service up
Exit codes: 0 done, or it runs already · 1 it could not be started, or a part has ended · 2 usage ·
  3 nothing is running (status)
Variables: WEIR_PORT (8080), WEIR_USERS (further users: ada:op,bo:viewer),
  WEIR_AIRFLOW_DATABASE (a SQLAlchemy URL; else SQLite),
  WEIR_AIRFLOW__SECTION__KEY (any setting of Airflow)"""
NEXT = """  {weir} sample                 lands sample files
  then switch on `retail` in the list of DAGs, or trigger it by its button"""
DOWN = "`make down` ends all of it; loads at work finish their batch."


def main(arguments: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    parser = argparse.ArgumentParser(
        "service", description=__doc__, epilog=EPILOG, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("command", choices=("up", "down", "status", "scheduler"))
    parser.add_argument(
        "--json", action="store_true", dest="as_json", help="print the result as one JSON object"
    )
    parser.add_argument(
        "--grace",
        type=float,
        default=GRACE_SECONDS,
        metavar="SECONDS",
        help="how long `down` waits for the batch at work",
    )
    asked = parser.parse_args(arguments)
    root = find_root(environ)
    try:
        if asked.command == "up":
            return _up(root, environ, asked.as_json)
        if asked.command == "down":
            return _down(root, asked.grace, asked.as_json)
        if asked.command == "scheduler":
            return run_scheduler(root, environ, lambda line: print(line, flush=True), asked.grace)
        return _status(root, asked.as_json)
    except (CannotStart, ServiceBusy, ServiceFailed) as error:
        _to_stderr(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        return 130


def _up(root: Path, environ: Mapping[str, str], as_json: bool) -> int:
    say = _to_stderr if as_json else print
    started = start_service(root, environ, _port(environ), environ.get("WEIR_AIRFLOW_DATABASE") or None, say)
    ended = started.state.ended()
    if as_json:
        print(json.dumps(_as_dict(started.state) | {"is_new": started.is_new}))
    else:
        print(_welcome(started, root, environ) if started.is_new else _running(started.state))
    for user, password in started.passwords.items():
        say(
            f"password of {user}: {password}   (shown this once; kept in"
            f" {airflow_home(root) / 'passwords.json'})"
        )
    return 1 if ended else 0


def _down(root: Path, grace_seconds: float, as_json: bool) -> int:
    state = stop_service(root, _to_stderr if as_json else print, grace_seconds)
    if as_json:
        print(json.dumps({"was_up": state is not None}))
    else:
        print("Airflow is down" if state else "nothing is running")
    return 0


def _status(root: Path, as_json: bool) -> int:
    state = read_state(root)
    if state is None or not state.is_up():
        print(json.dumps({"status": "down"}) if as_json else "nothing is running; `make up` starts Airflow")
        return 3
    waiting = unhealthy_parts(ask_health(state.url), state.since)
    if as_json:
        print(json.dumps(_as_dict(state) | {"unhealthy": waiting}))
    else:
        print(_running(state) + (f"\nnot healthy: {', '.join(waiting)}" if waiting else ""))
    return 1 if waiting or state.ended() else 0


def _port(environ: Mapping[str, str]) -> int:
    given = environ.get("WEIR_PORT") or str(PORT)
    if not given.isdecimal() or int(given) > 65535:
        raise CannotStart(f"WEIR_PORT is {given!r}; write a number from 1 to 65535, or 0 for a free port")
    return int(given)


def _welcome(started: Started, root: Path, environ: Mapping[str, str]) -> str:
    passwords = airflow_home(root) / "passwords.json"
    dags = paused_dags(started.state.url, passwords)
    return "\n".join(
        [
            f"Airflow is up: {started.state.url}   user {USER}",
            *([] if USER in started.passwords else [f"its password is in {passwords}"]),
            say_paused(dags, environ),
            *([NEXT.format(weir=".envs/spark/bin/weir")] if is_fresh(dags) else []),
            DOWN,
        ]
    )


def _running(state: State) -> str:
    ended = {component.name for component in state.ended()}
    lines = [f"Airflow is up since {state.since}: {state.url}"]
    for component in state.components:
        what = (
            f"has ended; see {component.log}"
            if component.name in ended
            else f"process {component.process.pid}"
        )
        lines.append(f"  {component.name:<14} {what}")
    return "\n".join([*lines, *(["`make down`, then `make up` starts it again"] if ended else [])])


def _as_dict(state: State) -> dict[str, Any]:
    ended = {component.name for component in state.ended()}
    parts = {
        component.name: {
            "pid": component.process.pid,
            "is_running": component.name not in ended,
            "log": str(component.log),
        }
        for component in state.components
    }
    return {"status": "up", "url": state.url, "since": state.since, "components": parts}


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
