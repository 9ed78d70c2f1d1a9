"""What Airflow makes of a project's pipeline files, as its own database tells it."""

import json
from typing import Any

import pytest

from spark_jobs.demo.airflow import Airflow
from tests.airflow.conftest import run_inside

pytestmark = pytest.mark.airflow


@pytest.fixture(scope="module")
def told(airflow: Airflow) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run_inside(airflow, "read_dags.py"))
    return answer


def test_each_pipeline_file_is_a_dag_with_what_the_file_says(told: dict[str, Any]) -> None:
    dag = {key: value for key, value in told["dags"]["by_pipeline"].items() if key != "tasks"}

    assert dag == {
        "owner": "somebody",
        "tags": ["weir"],
        "catchup": False,
        "max_active_runs": 1,
        "schedule": "*/5 * * * *",
        "doc_md": "Readings.\n\nDefined in `conf/pipelines/by_pipeline.yml`.",
        "retries": [0],
    }


def test_a_pipeline_can_be_one_task(told: dict[str, Any]) -> None:
    assert told["dags"]["by_pipeline"]["tasks"] == {"run": [[], []]}


def test_layers_follow_one_another(told: dict[str, Any]) -> None:
    assert told["dags"]["by_layer"]["tasks"] == {
        "bronze": [["--layer", "bronze"], []],
        "silver": [["--layer", "silver"], ["bronze"]],
        "gold": [["--layer", "gold"], ["silver"]],
    }


def test_tables_wait_for_the_whole_layer_before_them(told: dict[str, Any]) -> None:
    assert told["dags"]["by_table"]["tasks"] == {
        "bronze.readings": [["--select", "bronze.readings"], []],
        "bronze.places": [["--select", "bronze.places"], []],
        "dimension.places": [["--select", "dimension.places"], ["bronze.places", "bronze.readings"]],
        "silver.readings": [["--select", "silver.readings"], ["dimension.places"]],
        "gold.per_hour": [["--select", "gold.per_hour"], ["silver.readings"]],
        "gold": [["--select", "gold.all_time", "--select", "gold.newest"], ["gold.per_hour"]],
    }


def test_a_broken_file_is_an_import_error_with_its_place_and_leaves_the_other_dags_in_service(told: dict[str, Any]) -> None:
    assert told["in_service"] == ["by_layer", "by_pipeline", "by_table"]
    assert list(told["import_errors"]) == ["broken_pipelines.py"]
    shown = told["import_errors"]["broken_pipelines.py"]
    assert "conf/pipelines/mistyped.yml:6: tasks" in shown
    assert "conf/pipelines/whenever.yml" in shown


def test_a_broken_expectation_file_is_shown_and_its_pipeline_keeps_its_dag(told: dict[str, Any]) -> None:
    assert "expectations/by_layer/silver.readings.yml:2: expectations.kwh_is_there.kind" in told["import_errors"]["broken_pipelines.py"]
    assert "by_layer" in told["in_service"]


def test_airflow_loads_nothing_of_spark(told: dict[str, Any]) -> None:
    assert told["loaded"] == []
