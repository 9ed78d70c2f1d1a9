"""The demo's third act: a delivery that is wrong as a whole is blocked before any reader sees it, set aside,
and delivered again.
"""

import shlex

from service.demo.airflow import Airflow
from service.demo.dag_runs import PIPELINE, try_run
from service.demo.deliveries import land, land_defective, landed
from service.demo.weir import ask_weir, weir
from spark_jobs.config import Project

NUMBER = 2
BLOCKED = "silver.orders"
READ = (BLOCKED, "gold.revenue_per_hour")
REASON = "Amounts in cents: the shop confirmed it and sends the delivery again."


def show_blocked_delivery(project: Project, airflow: Airflow) -> bool:
    """Goes on from where an earlier demo was stopped; False when the right delivery has landed before."""
    if NUMBER in landed(project):
        return False
    before = _versions(project)
    land_defective(project, NUMBER, "a defective one, with all amounts in cents instead of euros")
    if not try_run(airflow):
        _show_versions(before, _versions(project))
        _set_aside(project)
    land(project, NUMBER, "the same orders again, with the right amounts")
    _say_and_run(project, "run", PIPELINE)
    return True


def _set_aside(project: Project) -> None:
    print(
        "\nThe shop says that the amounts are wrong. The delivery is set aside: its orders go to quarantine,"
        " with who decided and why."
    )
    _say_and_run(project, "set-aside", PIPELINE, BLOCKED, "--reason", REASON)


def _versions(project: Project) -> dict[str, int | None]:
    tables = ask_weir(project.root, "account", PIPELINE)["tables"]
    return {table["table"]: table["version"] for table in tables if table["table"] in READ}


def _show_versions(before: dict[str, int | None], now: dict[str, int | None]) -> None:
    print("\nWhat readers see meanwhile")
    for table in READ:
        print(f"  {table:<22} version {now[table]}, and {before[table]} before the delivery")


def _say_and_run(project: Project, *arguments: str) -> None:
    print(f"weir {shlex.join(arguments)}", flush=True)
    weir(project.root, *arguments)
