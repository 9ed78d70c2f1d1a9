"""Asks the API server, with the plugin mounted as it is in service, for pages as several users, and prints
all answers.

Arguments: the DAGs that Airflow has, what may stand in a route's placeholders, and further paths, each as
JSON.
"""

import json
import os
import re
import sys
from datetime import UTC, datetime
from itertools import product
from typing import Any
from urllib.parse import urljoin

os.environ["AIRFLOW__CORE__AUTH_MANAGER"] = "picky_auth_manager.PickyAuthManager"
os.environ["AIRFLOW__API__BASE_URL"] = "http://testserver/air"

from airflow import plugins_manager
from airflow.api_fastapi.app import create_app, get_auth_manager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState
from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

PREFIX = "/air/weir"
USERS = {"viewer": "viewer", "outsider": "viewer", "admin": "admin"}
BROKEN = "broken"
"""A user whose token was not made by this Airflow."""
RUNS = {"manual__7": "queued", "manual__8": "running", "manual__9": "success"}
"""DAG runs of the shop without a report, and their states."""


def main() -> None:
    dags, fills, paths = (json.loads(argument) for argument in sys.argv[1:])
    store_dags(dags)
    plugins_manager.ensure_plugins_loaded()
    loaded_early = sorted(
        name
        for name in sys.modules
        if name.partition(".")[0] in ("weir_pages", "access", "render", "files", "runs")
    )
    app = create_app()
    tokens = {BROKEN: "eyJhbGciOiJIUzI1NiJ9.e30.forged"}
    tokens |= {
        name: get_auth_manager().generate_jwt(SimpleAuthManagerUser(username=name, role=role))
        for name, role in USERS.items()
    }
    with TestClient(app, follow_redirects=False) as client:
        routes = plugin_routes()
        told = {
            "routes": routes,
            "walk": [
                ask(client, tokens, user, path)
                for path in fill(routes, fills)
                for user in ("anonymous", BROKEN, *USERS)
            ],
            "asked": {path: ask(client, tokens, "admin", f"{PREFIX}/{path}") for path in paths},
            "crawl": crawl(client, tokens, PREFIX),
            "crawl_without_prefix": crawl(TestClient(without_prefix()), tokens, "/weir"),
            "states": say_states(),
            "views": [
                view for plugin in plugins_manager.get_plugin_info() for view in plugin["external_views"]
            ],
            "import_errors": plugins_manager.get_import_errors(),
            "loaded_early": loaded_early,
            "loaded": sorted(
                {"pyspark", "delta", "deltalake", "great_expectations", "sqlglot", "pyarrow"}
                & sys.modules.keys()
            ),
        }
    print(json.dumps(told))


def store_dags(names: list[str]) -> None:
    DagBundlesManager().sync_bundles_to_db()  # type: ignore[no-untyped-call]
    with create_session() as session:
        for name in names:
            session.add(DagModel(dag_id=name, bundle_name="dags-folder", fileloc="pipelines.py"))  # type: ignore[no-untyped-call]
        for run, state in RUNS.items():
            began = None if state == "queued" else datetime(2026, 3, 1, 8, 5, tzinfo=UTC)
            session.add(
                DagRun(
                    dag_id="shop", run_id=run, run_type="manual", state=DagRunState(state), start_date=began
                )
            )


def say_states() -> dict[str, str]:
    """What a tab says of runs and tasks without a report, for states that are hard to come by."""
    from weir_pages.states import say_run, say_task

    at = datetime(2026, 3, 1, 8, 5, tzinfo=UTC)
    told = {
        state: say_task(state, at)
        for state in ("running", "failed", "skipped", "awaiting_input", "up_for_reschedule", "removed")
    }
    return told | {
        "run running": say_run("running", at, {"run": "running", "prepare": "success"}),
        "run waiting": say_run("running", at, {"decide": "awaiting_input", "run": "success"}),
        "run failed": say_run("failed", at, {"run": "failed", "finish": "upstream_failed"}),
        "run idle": say_run("success", at, {"prepare": "success", "run": "skipped"}),
    }


def plugin_routes() -> list[str]:
    """Every route of the plugin's app, with those that FastAPI adds by itself."""
    routes = plugin_app().routes
    assert all(isinstance(route, APIRoute) and route.methods == {"GET"} for route in routes), routes
    return [route.path for route in routes if isinstance(route, APIRoute)]


def plugin_app() -> FastAPI:
    [mounted] = [
        entry["app"] for entry in plugins_manager.get_fastapi_plugins()[0] if entry["url_prefix"] == "/weir"
    ]
    assert isinstance(mounted, FastAPI)
    return mounted


def without_prefix() -> FastAPI:
    outer = FastAPI()
    outer.mount("/weir", plugin_app())
    return outer


def fill(routes: list[str], fills: dict[str, list[str]]) -> list[str]:
    """Each route with every value in each placeholder. A placeholder that nobody has thought of is a
    KeyError.
    """
    filled = []
    for route in routes:
        names = re.findall(r"{(\w+)}", route)
        for values in product(*(fills[name] for name in names)):
            filled.append(PREFIX + route.format(**dict(zip(names, values, strict=True))))
    return filled


def ask(client: TestClient, tokens: dict[str, str], user: str, path: str) -> dict[str, Any]:
    client.cookies.clear()
    cookies = {"Cookie": f"_token={tokens[user]}"} if user in tokens else {}
    answer = client.get(path, headers=cookies)
    return {
        "user": user,
        "path": path,
        "status": answer.status_code,
        "headers": dict(answer.headers),
        "text": answer.text,
    }


def crawl(client: TestClient, tokens: dict[str, str], prefix: str) -> dict[str, int]:
    """Follows every link and frame as a browser would, and returns the statuses."""
    seen: dict[str, int] = {}
    waiting = [f"{prefix}/{path}" for path in ("reports/index.html", "dags/shop", "dags/shop?run=manual__1")]
    while waiting:
        path = waiting.pop()
        if path not in seen:
            answer = ask(client, tokens, "admin", path)
            seen[path] = answer["status"]
            links = re.findall(r'(?:href|src)="([^"]*)"', answer["text"])
            waiting += [urljoin(path, link.replace("&amp;", "&")) for link in links]
    return seen


main()
