"""Which DAGs are switched on, as Airflow's API says it: what `up` tells is so, and not only so at a first
start.
"""

import json
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from service.environ import OWN_SETTING
from service.keys import USER

NAMED = 5
UPKEEP = "weir_maintenance"
"""It is on from the start, and loads nothing."""
SAMPLE = "retail"
AT_CREATION = f"{OWN_SETTING}CORE__DAGS_ARE_PAUSED_AT_CREATION"


def say_paused(dags: Mapping[str, bool] | None, environ: Mapping[str, str]) -> str:
    """One sentence: what loads, and what does not. `dags` are paused or not; None where Airflow could not be
    asked.
    """
    if dags is None:
        return (
            "DAGs that are switched on load by their schedules, and others do not: the list of DAGs shows"
            " which."
        )
    dags = {name: is_paused for name, is_paused in dags.items() if name != UPKEEP}
    if not dags and environ.get(AT_CREATION, "").lower() in ("false", "0", "f"):
        return (
            f"DAGs are being read, and are switched on at once, as {AT_CREATION} says: they load by their"
            " schedules."
        )
    if not dags:
        return "DAGs are being read. They are paused until you switch them on: nothing is loaded before."
    active = sorted(name for name, is_paused in dags.items() if not is_paused)
    if not active:
        return f"{_count(len(dags))} paused until you switch them on: nothing is loaded before."
    named = ", ".join(active[:NAMED]) + (f" and {len(active) - NAMED} more" if len(active) > NAMED else "")
    paused = f"; {_count(len(dags) - len(active))} paused" if len(dags) > len(active) else ""
    return (
        f"{_count(len(active))} switched on, and {'load' if len(active) > 1 else 'loads'} by schedule:"
        f" {named}{paused}."
    )


def is_fresh(dags: Mapping[str, bool] | None) -> bool:
    """Whether nothing loads yet, and the shipped sample can be the first."""
    if not dags or dags.keys() == {UPKEEP}:
        return True
    return SAMPLE in dags and all(is_paused for name, is_paused in dags.items() if name != UPKEEP)


def paused_dags(url: str, password_file: Path) -> dict[str, bool] | None:
    """Every DAG and whether it is paused; None where the API does not say it, as under
    another auth manager.
    """
    try:
        password = json.loads(password_file.read_text(encoding="utf-8"))[USER]
        token = _ask(
            f"{url}/auth/token",
            {"Content-Type": "application/json"},
            {"username": USER, "password": password},
        )["access_token"]
        dags: dict[str, bool] = {}
        # Page by page: Airflow cuts a longer one to 100 and does not say so.
        while page := _dags(url, token, len(dags)).items() - dags.items():
            dags |= dict(page)
        return dags
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _dags(url: str, token: str, offset: int) -> dict[str, bool]:
    found = _ask(f"{url}/api/v2/dags?limit=100&offset={offset}", {"Authorization": f"Bearer {token}"})
    return {str(dag["dag_id"]): bool(dag["is_paused"]) for dag in found["dags"]}


def _ask(url: str, headers: Mapping[str, str], body: Mapping[str, str] | None = None) -> dict[str, Any]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, json.dumps(body).encode() if body else None, dict(headers))
    with opener.open(request, timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def _count(count: int) -> str:
    return f"{count} DAG{' is' if count == 1 else 's are'}"
