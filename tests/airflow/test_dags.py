"""What Airflow makes of a project's pipeline files, as its own database tells it."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from service.demo.airflow import Airflow
from tests.airflow.conftest import run_inside

pytestmark = pytest.mark.airflow

TABLES = [
    "bronze.readings",
    "bronze.places",
    "dimension.places",
    "silver.readings",
    "gold.per_hour",
    "gold.all_time",
    "gold.newest",
]
AROUND = {
    "prepare": [None, []],
    "finish": [None, ["decide"]],
}


@pytest.fixture(scope="module")
def told(airflow: Airflow) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run_inside(airflow, "read_dags.py"))
    return answer


def test_each_pipeline_file_is_a_dag_with_what_the_file_says(told: dict[str, Any]) -> None:
    dag = {
        key: value
        for key, value in told["dags"]["by_pipeline"].items()
        if key not in ("tasks", "form", "said", "retries", "rules")
    }

    assert dag == {
        "owner": "somebody",
        "tags": ["meters", "weir"],
        "catchup": False,
        "max_active_runs": 1,
        "run_types": [
            "asset_materialization",
            "asset_triggered",
            "manual",
            "operator_triggered",
            "scheduled",
        ],
        "schedule": "*/5 * * * *",
        "doc_md": "Readings.\n\nRead *daily*.\n\nDefined in `conf/pipelines/by_pipeline.yml`.",
        "deadline": [3600.0],
        "pools": ["weir_by_pipeline"],
        "timeouts": ["2:00:00", "None"],
    }


def test_a_pipeline_can_be_one_task(told: dict[str, Any]) -> None:
    assert told["dags"]["by_pipeline"]["tasks"] == {
        **AROUND,
        "run": [TABLES, ["prepare"]],
        "decide": [None, ["run"]],
    }


def test_layers_follow_one_another(told: dict[str, Any]) -> None:
    assert told["dags"]["by_layer"]["tasks"] == {
        **AROUND,
        "bronze": [["bronze.readings", "bronze.places"], ["prepare"]],
        "silver": [["dimension.places", "silver.readings"], ["bronze"]],
        "gold": [["gold.per_hour", "gold.all_time", "gold.newest"], ["silver"]],
        "sink": [["sink.look"], ["gold"]],
        "decide": [None, ["bronze", "gold", "silver", "sink"]],
    }


def test_tables_wait_for_the_whole_layer_before_them(told: dict[str, Any]) -> None:
    assert told["dags"]["by_table"]["tasks"] == {
        **AROUND,
        "bronze.readings": [["bronze.readings"], ["prepare"]],
        "bronze.places": [["bronze.places"], ["prepare"]],
        "dimension.places": [["dimension.places"], ["bronze.places", "bronze.readings"]],
        "silver.readings": [["silver.readings"], ["dimension.places"]],
        "gold.per_hour": [["gold.per_hour"], ["silver.readings"]],
        "gold": [["gold.all_time", "gold.newest"], ["gold.per_hour"]],
        "sink.look": [["sink.look"], ["gold"]],
        "decide": [
            None,
            [
                "bronze.places",
                "bronze.readings",
                "dimension.places",
                "gold",
                "gold.per_hour",
                "silver.readings",
                "sink.look",
            ],
        ],
    }


def test_tasks_are_tried_again_as_often_as_the_file_says(told: dict[str, Any]) -> None:
    assert set(told["dags"]["by_pipeline"]["retries"].values()) == {1}


def test_the_form_offers_what_the_pipeline_has_and_bounds_it(told: dict[str, Any]) -> None:
    form = told["dags"]["by_pipeline"]["form"]

    assert form["tables"]["enum"] == ["all tables", "bronze", "silver", "gold", *TABLES]
    assert form["rebuild"]["enum"] == ["no table", "tables whose definition changed", *TABLES[2:]]
    assert form["replay"]["enum"] == ["no table", "dimension.places", "silver.readings"]
    assert form["when_blocked"]["enum"] == ["ask", "fail"]
    assert {name: form[name]["type"] for name in ("full_refresh", "dry_run")} == {
        "full_refresh": "boolean",
        "dry_run": "boolean",
    }
    assert {key: form["files_per_batch"][key] for key in ("type", "minimum", "maximum")} == {
        "type": ["null", "integer"],
        "minimum": 1,
        "maximum": 100_000,
    }


def test_the_form_of_a_dag_with_a_schedule_says_what_goes_first(told: dict[str, Any]) -> None:
    first = "If this DAG is paused, triggering switches it on, and the run of its schedule goes first."

    assert {name: first in told["dags"][name]["said"]["tables"] for name in ("by_pipeline", "after")} == {
        "by_pipeline": True,
        "after": False,
    }


def test_every_table_is_an_asset_and_a_dag_can_be_scheduled_on_one_of_another(told: dict[str, Any]) -> None:
    assert {f"by_pipeline.{table}" for table in TABLES} <= set(told["assets"])
    assert [name for name in told["assets"] if ".sink." in name] == []
    assert told["dags"]["after"]["schedule"] == ["by_pipeline.silver.readings", "by_layer.gold.newest"]


def test_a_table_is_produced_by_the_tasks_that_publish_it_and_consumed_by_those_that_read_it(
    told: dict[str, Any],
) -> None:
    """`prepare`, where the form asks for it, and `finish` after a decision publish as the run does."""
    around = {f"{dag}.{task}" for dag in ("by_pipeline", "by_table") for task in ("prepare", "finish")}
    producers, consumers = told["producers"], told["consumers"]

    assert set(producers["by_pipeline.silver.readings"]) - around == {"by_pipeline.run"}
    assert set(producers["by_table.silver.readings"]) - around == {"by_table.silver.readings"}
    assert consumers["by_pipeline.silver.readings"] == ["after.gold"], "the pipeline itself makes it"
    assert consumers["by_table.bronze.readings"] == ["by_table.silver.readings"]
    assert consumers["by_table.silver.readings"] == ["by_table.gold.per_hour", "by_table.sink.look"]
    assert "by_table.gold.per_hour" not in consumers


def test_a_broken_file_is_an_import_error_with_its_place_and_leaves_the_other_dags_in_service(
    told: dict[str, Any],
) -> None:
    # which another test puts into the same database
    in_service = [name for name in told["in_service"] if name != "hanging"]

    assert in_service == [
        "after",
        "by_layer",
        "by_pipeline",
        "by_table",
        "holding",
        "idle",
        "weir_maintenance",
    ]
    assert list(told["import_errors"]) == ["broken_pipelines.py"]
    shown = told["import_errors"]["broken_pipelines.py"]
    assert "conf/pipelines/mistyped.yml:6: tasks" in shown
    assert "conf/pipelines/whenever.yml" in shown


def test_what_only_the_whole_check_finds_is_shown_as_well_and_the_dag_stays_to_say_it_in_its_run(
    told: dict[str, Any],
) -> None:
    shown = told["import_errors"]["broken_pipelines.py"]

    assert "conf/pipelines/by_table.yml:17: silver.readings.event_time: there is no column 'att'" in shown
    assert "by_table" in told["in_service"]


def test_a_broken_expectation_file_is_shown_and_its_pipeline_keeps_its_dag(told: dict[str, Any]) -> None:
    assert (
        "expectations/by_layer/silver.readings.yml:2: expectations.kwh_is_there.kind"
        in told["import_errors"]["broken_pipelines.py"]
    )
    assert "by_layer" in told["in_service"]


def test_upkeep_is_on_without_anybody_and_begins_at_its_next_time(told: dict[str, Any]) -> None:
    paused = {name: is_paused for name, is_paused in told["paused"].items() if name != "hanging"}

    assert [name for name, is_paused in paused.items() if not is_paused] == ["weir_maintenance"]
    assert datetime.fromisoformat(told["next_upkeep"]) > datetime.now(UTC)


def test_the_code_that_the_ui_shows_of_a_dag_tells_nothing_of_other_pipelines(told: dict[str, Any]) -> None:
    names = {"by_layer", "by_pipeline", "by_table", "after"}

    assert set(told["code"]) >= names
    assert [name for name in names if any(other in told["code"][name] for other in names - {"after"})] == []


def test_airflow_loads_nothing_of_spark(told: dict[str, Any]) -> None:
    assert told["loaded"] == []
