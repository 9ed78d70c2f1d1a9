"""The demo's story: land a first load and run the retail DAG, land an increment and run it again, then account for every row.

Run again it goes on from where it was: deliveries that have landed stay as they are, and the DAG finds nothing to do.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from spark_jobs.config import ConfigError, Project, load_project
from spark_jobs.demo.airflow import Airflow, AirflowFailed, prepare_database, run_dag

PIPELINE = "retail"
ORDERS = 2_000
DELIVERIES = ("a first load", "an increment with late, duplicate, corrected and broken rows")

NEXT = """
What to type next
  {weir} sample --orders {orders} --increment {following}
      lands one more delivery
  {weir} run {pipeline}
      takes it in without Airflow; `make demo` does so through Airflow
  {weir} check
      after a change to conf/pipelines/{pipeline}.yml, where the tables are described
"""


def main() -> int:
    try:
        project = load_project(only=PIPELINE)
        show_demo(project)
    except (ConfigError, AirflowFailed, WeirFailed) as error:
        print(f"\nThe demo stopped. {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


class WeirFailed(Exception):
    """A weir command of the demo failed; it has said why."""


def show_demo(project: Project) -> None:
    airflow = Airflow(project.root, os.environ)
    prepare_database(airflow)
    landed = [number for number, _ in enumerate(DELIVERIES) if deliver(project, number) and run(airflow)]
    if not landed:
        print("Both deliveries have landed before; running the DAG for what is new.")
        run(airflow)
    print()
    weir(project.root, "account", PIPELINE)
    print(f"Airflow's log: {airflow.log}")
    print(NEXT.format(weir=".envs/spark/bin/weir", orders=ORDERS, following=following_increment(project), pipeline=PIPELINE).rstrip())


def deliver(project: Project, number: int) -> bool:
    """Lands a delivery of sample files; False when it is there already."""
    if number in deliveries(project):
        return False
    print(f"\nDelivery {number}: {DELIVERIES[number]}")
    weir(project.root, "sample", "--orders", str(ORDERS), "--increment", str(number))
    return True


def deliveries(project: Project) -> set[int]:
    """The numbers of the deliveries whose orders have landed; the file names carry them."""
    names = (path.name for path in Path(project.landing, "retail", "orders").glob("*.json"))
    return {int(match[1]) for name in names if (match := re.fullmatch(r"orders-(\d+)-\d+\.json", name))}


def following_increment(project: Project) -> int:
    return max(deliveries(project), default=0) + 1


def run(airflow: Airflow) -> bool:
    print(f"airflow dags test {PIPELINE}", flush=True)
    started = time.monotonic()
    run_dag(airflow, PIPELINE, show_line)
    print(f"  the DAG run succeeded in {time.monotonic() - started:.0f} s", flush=True)
    return True


def weir(root: Path, *arguments: str) -> None:
    command = os.environ.get("WEIR_COMMAND") or str(root / ".envs" / "spark" / "bin" / "weir")
    sys.stdout.flush()
    ended = subprocess.run([command, *arguments], cwd=root, stdin=subprocess.DEVNULL, check=False)
    if ended.returncode:
        raise WeirFailed(f"`weir {' '.join(arguments)}` ended with {ended.returncode}; its message is above.")


def show_line(line: str) -> None:
    """Shows that a table starts and how it ended; the counts in between are for a terminal that is watched."""
    if not re.search(r" running +\d", line):
        print(f"  {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
