"""The routes below /weir. Each takes the user, and each that is about a pipeline asks whether that user may
read its DAG.

They are plain functions, so that FastAPI runs them in its threads: reading files and asking the database
holds nobody else up.
"""

import logging
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException as AnyHTTPException

from weir_pages.access import check_dag, readable_dags
from weir_pages.files import Reports, Unreadable, open_reports
from weir_pages.render import answer_html, answer_page
from weir_pages.runs import Run, Runs
from weir_pages.states import say_why_none

RUNS_SHOWN = 12
MOST_RUNS_OF_ONE = 60
"""Runs of one DAG run: there may be one per table."""

log = logging.getLogger(__name__)
app = FastAPI(title="Weir: data quality", openapi_url=None, docs_url=None, redoc_url=None)
ReadableDag = Annotated[str, Depends(check_dag)]


@dataclass(frozen=True)
class Line:
    """A pipeline of the overview: its runs, none, or why they cannot be read."""

    name: str
    runs: Runs | None
    problem: Unreadable | None = None


@app.get("/reports/index.html")
def show_overview(user: GetUserDep) -> HTMLResponse:
    """Every pipeline that the user may read, and how its last runs went."""
    reports = open_reports()
    readable = readable_dags(user, reports.pipelines())
    return answer_page(
        "overview.html", lines=[_line(reports, name) for name in sorted(readable)], shown=RUNS_SHOWN
    )


@app.get("/reports/{dag_id}/index.html")
def show_runs(user: GetUserDep, dag_id: ReadableDag) -> HTMLResponse:
    """The runs of one pipeline, and how fresh its tables are."""
    return answer_page("runs.html", line=_line(_reports_of(dag_id), dag_id))


@app.get("/reports/{dag_id}/{page}")
def show_report(user: GetUserDep, dag_id: ReadableDag, page: str) -> HTMLResponse:
    """The report of a run, as the run wrote it."""
    reports = _reports_of(dag_id)
    runs = reports.runs(dag_id)
    run = next((run for run in runs.runs if run.page == page), None) if runs else None
    text = reports.report(dag_id, run) if run else None
    if text is None:
        raise HTTPException(404)
    return answer_html(text)


@app.get("/dags/{dag_id}")
def show_tab(
    user: GetUserDep, dag_id: ReadableDag, run: str = "", task: str = "", show: str = ""
) -> HTMLResponse:
    """The tab of a DAG, DAG run or task: its runs, and the report of the newest of them or of the one to
    `show`.
    """
    reports = open_reports()
    asked = {"run": run, "task": task}
    if not reports.is_pipeline(dag_id):
        return answer_page("tab.html", dag_id=dag_id, asked=asked, line=None, runs=(), shown=None, why="")
    line = _line(reports, dag_id)
    found = line.runs.find(dag_id, run, task) if line.runs else ()
    kept = {name: value for name, value in asked.items() if value}
    links = [
        (known, "?" + urlencode({**kept, "show": known.run_id}))
        for known in found[: MOST_RUNS_OF_ONE if run else RUNS_SHOWN]
    ]
    why = "" if found or line.problem else say_why_none(dag_id, run, task)
    return answer_page(
        "tab.html", dag_id=dag_id, asked=asked, line=line, runs=links, shown=_chosen(found, show), why=why
    )


@app.exception_handler(Unreadable)
def say_unreadable(request: Request, error: Exception) -> HTMLResponse:
    log.warning("data quality: %s", error)
    return answer_page("message.html", 500, title="This cannot be shown", problem=error)


@app.exception_handler(AnyHTTPException)
def say_refused(request: Request, error: Exception) -> HTMLResponse:
    """The same page whether a thing is not there or not for this user."""
    code = error.status_code if isinstance(error, AnyHTTPException) else 500
    if code in (401, 403):  # no token, one that has expired, one that was not made by this Airflow
        why = Unreadable(
            "You are not signed in, or not any more. Sign in to Airflow, and open this page again."
        )
        return answer_page("message.html", code, title="Not signed in", problem=why)
    why = Unreadable("There is no such page, or it is not for you to read.")
    return answer_page("message.html", code, title="Nothing to see here", problem=why)


def _reports_of(dag_id: str) -> Reports:
    reports = open_reports()
    if not reports.is_pipeline(dag_id):
        raise HTTPException(404)
    return reports


def _line(reports: Reports, pipeline: str) -> Line:
    """What is wrong with one pipeline's files is its own matter, and said in its place."""
    try:
        return Line(pipeline, reports.runs(pipeline))
    except Unreadable as error:
        log.warning("data quality: %s: %s", pipeline, error)
        return Line(pipeline, None, error)


def _chosen(runs: tuple[Run, ...], run_id: str) -> Run | None:
    return next((run for run in runs if run.run_id == run_id), runs[0] if runs else None)
