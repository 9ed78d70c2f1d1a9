"""A container's health: `health.py part scheduler` asks Airflow's API for one of its parts, `health.py port 7077` tries a port."""

import json
import os
import socket
import sys
import urllib.request

HEALTH = os.environ.get("WEIR_HEALTH_URL", "http://airflow-api-server:8080/api/v2/monitor/health")


def part_is_healthy(part: str) -> bool:
    with urllib.request.urlopen(HEALTH, timeout=5) as answer:
        return bool(json.load(answer)[part]["status"] == "healthy")


def port_is_open(port: str) -> bool:
    with socket.create_connection((socket.gethostname(), int(port)), timeout=5):
        return True


if __name__ == "__main__":
    question, of = sys.argv[1:]
    is_healthy = part_is_healthy(of) if question == "part" else port_is_open(of)
    sys.exit(0 if is_healthy else 1)
