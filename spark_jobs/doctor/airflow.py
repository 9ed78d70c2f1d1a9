"""Airflow on this machine, as `make up` starts it: whether it is up and healthy in all parts, and
whether its port is free.
"""

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spark_jobs.doctor.finding import BAD, WARNING, Finding, ok

AIRFLOW = "airflow"
HOST, PORT = "127.0.0.1", 8080
SECONDS = 3
PARTS = ("metadatabase", "scheduler", "dag_processor", "triggerer")


def look_at_airflow(root: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    if not (root / ".envs" / "airflow").is_dir() and not (root / "airflow_home").is_dir():
        return
    url = _started_at(root)
    port = environ.get("WEIR_PORT", str(PORT))
    if url is None:
        yield _port(int(port) if port.isdigit() else PORT)
        return
    try:
        health = ask_health(url)
    except (OSError, ValueError) as away:
        said = f"it was started at {url}, and does not answer: {getattr(away, 'reason', away)}"
        yield Finding(AIRFLOW, "service", BAD, said, "`make up` starts it again; logs: airflow_home/service")
        return
    ill = {name: health[name].get("status") for name in PARTS if name in health}
    ill = {name: status for name, status in ill.items() if status not in ("healthy", None)}
    if ill:
        said = ", ".join(f"the {name.replace('_', ' ')} is {status}" for name, status in ill.items())
        yield Finding(
            AIRFLOW, "service", BAD, f"at {url} {said}", "`make down up`; logs: airflow_home/service"
        )
    else:
        yield ok(AIRFLOW, "service", f"up at {url}, every part healthy")


def ask_health(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{url}/api/v2/monitor/health", timeout=SECONDS) as answer:
        found = json.load(answer)
    return found if isinstance(found, dict) else {}


def _started_at(root: Path) -> str | None:
    """Where `make up` has started it last; None where it was ended properly, or never started."""
    try:
        url = json.loads((root / "airflow_home" / "up.json").read_text(encoding="utf-8"))["url"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return str(url) if str(url).startswith(f"http://{HOST}:") else None


def _port(port: int) -> Finding:
    with socket.socket() as probe:
        probe.settimeout(SECONDS)
        is_taken = probe.connect_ex((HOST, port)) == 0
    if is_taken:
        message = f"another program listens on port {port}"
        return Finding(AIRFLOW, "port", WARNING, message, "WEIR_PORT=8081 make up takes another one")
    return ok(AIRFLOW, "port", f"not started; port {port} is free for `make up`")
