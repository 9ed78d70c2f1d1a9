"""A container's health, asked of what runs in it: `health.py api` of the API server here, `health.py
heartbeat SchedulerJob` of the part of Airflow that this host runs, by the heartbeat that it leaves in the
database, and `health.py port 7077` of a port.
"""

import json
import os
import socket
import sys
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path

API = os.environ.get("WEIR_HEALTH_URL", "http://127.0.0.1:8080/api/v2/monitor/health")
DATABASE_URL = Path("/run/weir/database_url")
NEWEST = (
    "SELECT max(latest_heartbeat) FROM job WHERE job_type = :kind AND hostname = :host AND state = 'running'"
)
STALE_AFTER = timedelta(seconds=60)
"""Each part leaves a heartbeat every few seconds."""


def api_answers() -> bool:
    with urllib.request.urlopen(API, timeout=5) as answer:
        return bool(json.load(answer)["metadatabase"]["status"] == "healthy")


def heart_beats(kind: str) -> bool:
    """Needs the Python of Airflow's environment."""
    from sqlalchemy import create_engine, text  # type: ignore[import-not-found]  # of another environment than mypy sees

    with create_engine(DATABASE_URL.read_text(encoding="utf-8")).connect() as database:
        newest = database.execute(text(NEWEST), {"kind": kind, "host": socket.gethostname()}).scalar()
    if newest is None:
        return False
    beat = datetime.fromisoformat(str(newest))
    return datetime.now(UTC) - (beat if beat.tzinfo else beat.replace(tzinfo=UTC)) < STALE_AFTER


def port_is_open(port: str) -> bool:
    with socket.create_connection((socket.gethostname(), int(port)), timeout=5):
        return True


if __name__ == "__main__":
    question, *of = sys.argv[1:]
    is_healthy = {"api": api_answers, "heartbeat": heart_beats, "port": port_is_open}[question](*of)  # type: ignore[operator]
    sys.exit(0 if is_healthy else 1)
