"""A person is offered what the engine allows, and nothing that it would refuse."""

import json

import pytest

from service.demo.airflow import Airflow
from tests.airflow.conftest import run_inside

pytestmark = pytest.mark.airflow


def test_set_aside_is_a_button_only_where_it_is_allowed_for_each_blocked_table(airflow: Airflow) -> None:
    asked = json.loads(run_inside(airflow, "name_options.py"))

    assert {name: said["options"] for name, said in asked.items()} == {
        "silver": ["Release", "Set aside", "Stop"],
        "gold": ["Release", "Stop"],
        "both": ["Release", "Stop"],
        "old": ["Release", "Set aside", "Stop"],
    }
    assert {name: "**Set aside**" in said["body"] for name, said in asked.items()} == {
        "silver": True, "gold": False, "both": False, "old": True,
    }  # fmt: skip
