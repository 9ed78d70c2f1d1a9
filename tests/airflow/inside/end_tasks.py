"""Lets the operator run the command with each exit code, and prints what came of it: the result, or the class
and text of the exception.
"""

import json
import os
import sys
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from weir_assets import is_told
from weir_operator import BLOCKED, WeirOperator, by_level

LINES = [
    "silver.orders                running", "warning: silver.orders: 2 rows look odd", "silver.orders                blocked    0 rows",
    "silver.lines                 failed     0 rows", "silver.visits                done       3 rows: 3 inserted",
    "error: silver.orders: 3 rows are held", "readers keep what they had",
]  # fmt: skip


KEPT_UP = {"table": "silver.orders", "version": 9, "published_version": 7}
"""Upkeep has given it two versions with the same rows."""


def main() -> None:
    told = {name: run(name) for name in sys.argv[1:]} | {
        "blocked": run("exit_4", BLOCKED),
        "levels": levels(),
        "killed": killed(),
        "asked": asked(),
        "told": [is_told(KEPT_UP, version) for version in (None, 6, 7, 8, 9, 10, "7")],
    }
    home = os.environ["AIRFLOW_HOME"]
    with open(f"{home}/going_down.json", "w"):
        told["going down"] = run("exit_0")
    os.unlink(f"{home}/going_down.json")
    os.environ["WEIR_COMMAND"] = "/there/is/no/weir"
    print(json.dumps(told | {"no command": run("exit_0")}))


class Log:
    """Writes down the level of every line."""

    def __init__(self) -> None:
        self.levels: list[str] = []

    def __getattr__(self, level: str) -> Any:
        return lambda pattern, *values: self.levels.append(level)


def levels() -> list[str]:
    log = Log()
    say = by_level(log)
    for line in LINES:
        say(line)
    return log.levels


def killed() -> dict[str, Any]:
    """What is said beside the exception when the command is killed."""
    lines: list[str] = []
    # plugins can be imported once Airflow was, and not before
    module: Any = sys.modules[WeirOperator.__module__]
    module.by_level = lambda log: lines.append
    ended = run("killed")
    module.by_level = by_level
    return ended | {"lines": lines}


def asked() -> dict[str, Any]:
    """A command that ends by the signal of `make down`, which has come meanwhile."""
    module: Any = sys.modules[WeirOperator.__module__]
    kept, calls = module.is_going_down, iter([False])
    module.is_going_down = lambda: next(calls, True)
    ended = run("asked")
    module.is_going_down = kept
    return ended | {"in peace": run("asked")}


def run(name: str, *also: int) -> dict[str, Any]:
    task = WeirOperator(
        task_id=name,
        pipeline=name,
        root=os.environ["WEIR_HOME"],
        lease_wait_seconds=60 * (name == "busy_once"),
    )
    try:
        return {"result": task.weir(Context(), ["run", name, "--layer", "silver"], also)}
    except AirflowException as error:
        return {
            "raised": type(error).__name__,
            "retried": not isinstance(error, AirflowFailException),
            "text": str(error),
        }


main()
