"""The demo's story: a first load, an increment, and a defective delivery that is blocked; then every row is
accounted for.

Run again it goes on from where it was: deliveries that have landed stay as they are, and the DAG finds
nothing to do.
"""

import os
import sys

from service.demo.airflow import Airflow, AirflowFailed, prepare_database
from service.demo.blocked_delivery import show_blocked_delivery
from service.demo.dag_runs import PIPELINE, run
from service.demo.deliveries import ORDERS, land, landed
from service.demo.weir import WeirFailed, weir
from spark_jobs.config import Project, load_project
from spark_jobs.config.errors import Refused

DELIVERIES = (
    "a first load, with rows that break rules",
    "an increment with late, duplicate, corrected and broken rows",
)
NEXT = """
What to type next
  {weir} report {pipeline} --open
      the data-quality report: every rule, what was blocked and set aside, and why
  {weir} sample --orders {orders} --increment {following}
      lands one more delivery
  {weir} run {pipeline}
      takes it in without Airflow; `make demo` does so through Airflow
  {weir} check
      after a change to conf/pipelines/{pipeline}.yml or expectations/{pipeline}: the tables and their rules
"""


def main() -> int:
    try:
        project = load_project(only=PIPELINE)
        show_demo(project)
    except (Refused, AirflowFailed, WeirFailed) as error:
        print(f"\nThe demo stopped. {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def show_demo(project: Project) -> None:
    airflow = Airflow(project.root, os.environ)
    prepare_database(airflow)
    shown = [show_delivery(project, airflow, number) for number in range(len(DELIVERIES))]
    shown.append(show_blocked_delivery(project, airflow))
    if not any(shown):
        print("All deliveries have landed before; running the DAG for what is new.")
        run(airflow)
    print()
    weir(project.root, "account", PIPELINE)
    weir(project.root, "report", PIPELINE)
    print(f"Airflow's log: {airflow.log}")
    following = max(landed(project)) + 1
    print(
        NEXT.format(
            weir=".envs/spark/bin/weir", orders=ORDERS, following=following, pipeline=PIPELINE
        ).rstrip()
    )


def show_delivery(project: Project, airflow: Airflow, number: int) -> bool:
    """Lands a delivery and runs the DAG for it; False when it has landed before."""
    if not land(project, number, DELIVERIES[number]):
        return False
    run(airflow)
    return True


if __name__ == "__main__":
    sys.exit(main())
