"""A real Airflow on a real PostgreSQL, with small pipelines whose tasks run real Spark, and a web server that
gets its notices.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.keys import USER
from service.start import start_service
from service.stop import stop_service
from tests.airflow.postgres import PostgresMissing, find_binaries, postgres
from tests.airflow.webhook import Webhook, webhook
from tests.conftest import ROOT, weir_environ
from tests.end_to_end.live_airflow import LiveAirflow

METERS = """
pipeline: {name}
description: Readings of meters.
owner: grid
tags: [grid]
tasks: pipeline
{more}
schedule: {schedule}
sources: {{readings: {{format: csv, path: {name}}}}}
silver:
  readings:
    from: readings
    columns: {{reading_id: bigint, kwh: "decimal(9,3)", read_at: timestamp}}
    key: reading_id
    sequence_by: read_at
    event_time: read_at
gold:
  kwh_per_hour: {{from: silver.readings, window: {{size: 1 hour}}, measures: {{reading_count: count(*), kwh: sum(kwh)}}}}
"""
BOARD = """
pipeline: board
tasks: pipeline
schedule: {on: [meters.silver.readings]}
gold:
  kwh_per_day: {from: meters.silver.readings, window: {size: 1 day}, measures: {reading_count: count(*), kwh: sum(kwh)}}
"""
RULES = """
expectations:
  kwh_is_positive:
    type: expect_column_values_to_be_between
    kwargs: {column: kwh, min_value: 0}
    on_fail: quarantine
    reason: Meters do not run backwards.
  mean_in_kwh:
    type: expect_column_mean_to_be_between
    kwargs: {column: kwh, max_value: 100}
    on_fail: block
    reason: A mean of more than 100 kWh is in another unit.
"""
NOTIFY = "notify: {webhook: alarm}"
STALLED = "stalled"
"""A gold table whose batches stall, until the file GO is there."""
GO = "go"
IN_TIME = "timeout: 60 seconds\ndeadline: 5 seconds\nretries: 0\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pipelines `meters`, `marked` and `slow`, started by hand, `killed`, started every day, and `board`,
    which follows `meters`.
    """
    root = tmp_path_factory.mktemp("live")
    for name in ("dags", "plugins", ".envs"):
        (root / name).symlink_to(ROOT / name)
    written = {
        "conf/lakehouse.yml": "landing: landing\nlake: lake\nmaintenance: null\n",
        "conf/profiles/local.yml": (ROOT / "conf" / "profiles" / "local.yml").read_text(encoding="utf-8"),
        "conf/log4j2.properties": (ROOT / "conf" / "log4j2.properties").read_text(encoding="utf-8"),
        "conf/pipelines/meters.yml": METERS.format(name="meters", schedule="null", more=NOTIFY),
        "conf/pipelines/killed.yml": (
            METERS.format(name="killed", schedule='"@daily"', more="").replace(
                "csv,", "csv, files_per_batch: 1,"
            )
        ),
        "conf/pipelines/marked.yml": (
            METERS.format(name="marked", schedule="null", more="").replace("kwh_per_hour", STALLED)
        ),
        "conf/pipelines/slow.yml": (
            METERS.format(name="slow", schedule="null", more=f"{IN_TIME}{NOTIFY}").replace(
                "kwh_per_hour", STALLED
            )
        ),
        "conf/pipelines/board.yml": BOARD,
        "expectations/meters/silver.readings.yml": RULES,
    }
    for path, text in written.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def live(project: Path) -> Iterator[LiveAirflow]:
    stalling = {
        "WEIR_FAILPOINTS": f"write.before:gold.{STALLED}=stall",
        "WEIR_FAILPOINTS_GO": str(project / GO),
    }
    environ = weir_environ(WEIR_RETRY_SECONDS="1", **stalling)
    try:
        find_binaries()
    except PostgresMissing as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))
    with postgres() as database:
        started = start_service(project, environ, port=0, database=database)
        password = json.loads((project / "airflow_home" / "passwords.json").read_text(encoding="utf-8"))[USER]
        try:
            yield LiveAirflow(started.state, password)
        finally:
            stop_service(project, print, grace_seconds=20)


@pytest.fixture(scope="module")
def alarm(live: LiveAirflow) -> Iterator[Webhook]:
    """The server behind the connection `alarm` of this Airflow."""
    with webhook() as hook:
        live.call("POST", "/connections", {"connection_id": "alarm", "conn_type": "http", "host": hook.url})
        yield hook
