"""The Data-quality tab of the Airflow UI: a page in the navigation, and a tab on each DAG, DAG run, task and
task instance.

Every Airflow component imports this file, and only the API server shows pages: the pages are imported when it
asks for them.
"""

from functools import cached_property
from typing import Any
from urllib.parse import quote

from airflow.plugins_manager import AirflowPlugin

PREFIX = "/weir"
NAME, SHORT_NAME = "Data quality", "Quality"
"""The menu of the UI has room for eight letters."""
# Relative to the UI's own base, so that they are right behind a URL prefix as well. The UI fills in the names
# in braces.
PAGES = {
    "nav": "weir/reports/index.html",
    "dag": "weir/dags/{DAG_ID}",
    "dag_run": "weir/dags/{DAG_ID}?run={RUN_ID}",
    "task": "weir/dags/{DAG_ID}?task={TASK_ID}",
    "task_instance": "weir/dags/{DAG_ID}?run={RUN_ID}&task={TASK_ID}",
}


def view(destination: str, href: str) -> dict[str, Any]:
    """One place in the UI. Each needs a route of its own: Airflow leaves out the second
    of two with the same.
    """
    route = "data-quality" if destination == "nav" else f"data-quality-{destination.replace('_', '-')}"
    icons = {"icon": icon("#ffffff", "#44597d"), "icon_dark_mode": icon("#e4e4e7", "none")}
    is_nav = destination == "nav"
    name = SHORT_NAME if is_nav else NAME
    return {
        "name": name,
        "href": href,
        "destination": destination,
        "url_route": route,
        "nav_top_level": is_nav,
        **icons,
    }


def icon(line: str, inside: str) -> str:
    """A tick in a shield, as an address that needs no file. Its colours must be seen on the menu and on the
    chosen entry of it.
    """
    shield, tick = (
        "M12 2.5 4.5 5.5v6c0 4.6 3.2 8.6 7.5 10 4.3-1.4 7.5-5.4 7.5-10v-6z",
        "m8.5 12 2.5 2.5 4.5-5",
    )
    pen = f'stroke="{line}" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"'
    paths = f'<path fill="{inside}" d="{shield}"/><path fill="none" d="{tick}"/>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" {pen}>{paths}</svg>'
    return f"data:image/svg+xml,{quote(svg)}"


class WeirQuality(AirflowPlugin):
    """Tells Airflow where the pages are."""

    name = "weir_quality"
    external_views = [view(destination, href) for destination, href in PAGES.items()]  # noqa: RUF012

    @cached_property
    def fastapi_apps(self) -> list[dict[str, Any]]:  # type: ignore[override]  # a list in Airflow, where nothing is worth waiting for
        from weir_form_keys import refuse_unknown_keys
        from weir_pages.app import app

        refuse_unknown_keys()
        return [{"app": app, "url_prefix": PREFIX, "name": NAME}]
