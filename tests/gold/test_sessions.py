"""Which sessions are told their own bounds before their measures are computed."""

import pytest

from spark_jobs.config.gold import Gold
from spark_jobs.gold.sessions import names_bounds


@pytest.mark.parametrize(
    ("measure", "is_named"),
    [
        ("max(at - window_start)", True),
        ("max(WINDOW_END)", True),
        ("max(window)", False),
        ("count(*)", False),
    ],
)
def test_bounds_are_named_in_any_case(measure: str, is_named: bool) -> None:
    gold = Gold.model_validate(
        {"from": "gold.hours", "window": {"gap": "3 hours"}, "measures": {"n": "count(*)", "found": measure}}
    )

    assert names_bounds(gold) is is_named
