"""Why a DAG run or a task has no report: what Airflow itself knows of its state, in a sentence."""

from collections.abc import Mapping
from datetime import datetime

from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
from airflow.utils.session import create_session
from sqlalchemy import select

from spark_jobs.report.text import cut, moment

GONE = (
    "it wrote none, or the report was removed since: only so many are kept (keep_reports in"
    " conf/lakehouse.yml)"
)
WAITING = ("deferred", "awaiting_input")
NOT_BEGUN = (None, "scheduled", "queued", "none")


def say_why_none(dag_id: str, run: str, task: str) -> str:
    """One sentence about the DAG run, or the task of it; without a run about the one at work. Nothing where
    Airflow has nothing to say. The user may read the DAG.
    """
    with create_session() as session:
        runs = select(DagRun.run_id, DagRun.state, DagRun.start_date).where(DagRun.dag_id == dag_id)
        wanted = DagRun.run_id == run if run else DagRun.state == "running"
        found = session.execute(runs.where(wanted).order_by(DagRun.start_date.desc())).first()
        if found is None:
            return (
                "Airflow has no such run of this DAG."
                if run
                else "No run of this task has left a report."
                if task
                else ""
            )
        tasks = select(TaskInstance.task_id, TaskInstance.state, TaskInstance.start_date)
        rows = session.execute(
            tasks.where(TaskInstance.dag_id == dag_id, TaskInstance.run_id == found.run_id)
        ).all()
    known = {str(name): (state and str(state), at) for name, state, at in rows}
    if task and run:
        return say_task(*known.get(task, (None, None)))
    return say_run(str(found.state), found.start_date, {name: state for name, (state, _) in known.items()})


def say_run(state: str, started_at: datetime | None, tasks: Mapping[str, str | None]) -> str:
    """Of a DAG run without a report."""
    names = {
        wanted: ", ".join(cut(name) for name, known in sorted(tasks.items()) if known == wanted)
        for wanted in set(tasks.values())
    }
    if state == "queued":
        return "This DAG run is queued: it has not begun."
    if state == "running":
        waits = " and ".join(names[known] for known in WAITING if names.get(known))
        doing = (
            f"{names['running']} is running"
            if names.get("running")
            else f"{waits} waits for an answer"
            if waits
            else "no task is running now"
        )
        retried = f", {names['up_for_retry']} is tried again" if names.get("up_for_retry") else ""
        return (
            f"This DAG run is at work{_since(started_at)}: {doing}{retried}. A report is written when a run"
            " of its tables ends."
        )
    if state == "failed":
        at = f" in {names['failed']}" if names.get("failed") else ""
        return f"This DAG run failed{at} and has left no report: the log of the task says why."
    if sum(known == "success" for known in tasks.values()) <= 1:
        return "This DAG run had nothing to do, so there is no report."
    return f"This DAG run succeeded, and there is no report of it: {GONE}."


def say_task(state: str | None, started_at: datetime | None) -> str:
    """Of a task of a DAG run without a report."""
    if state in NOT_BEGUN:
        return "This task has not begun."
    if state in WAITING:
        return "This task waits for an answer."
    said = {
        "running": f"This task is at work{_since(started_at)}. A report is written when its run ends.",
        "skipped": "This task was skipped: there was nothing for it to do, so there is no report.",
        "up_for_retry": "This task failed and is tried again; the try has left no report.",
        "up_for_reschedule": "This task was stopped with Airflow, and goes on now that it is up again.",
        "failed": "This task failed and has left no report: its log says why.",
        "upstream_failed": "This task did not begin, because one before it failed.",
        "success": f"This task succeeded, and there is no report of it: {GONE}.",
    }
    return said.get(state or "", f"This task is {cut(str(state))}, and has left no report.")


def _since(at: datetime | None) -> str:
    return f" since {moment(at)}" if at else ""
