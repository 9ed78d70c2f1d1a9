"""The promise: the tables are a function of the set of landed files. Random files, in random order, grouped at random into runs and
batches, with crashes at random failpoints, reruns and two runs at once, end in the tables of one clean run; and the law holds.

CI tries a few examples of many rows each; `make soak` hundreds (WEIR_SOAK_EXAMPLES). Examples are drawn from a fixed seed.
"""

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from spark_jobs.cli.account import sum_up
from spark_jobs.lake import failpoints
from spark_jobs.lake.failpoints import POINTS
from spark_jobs.lake.layout import Lake
from spark_jobs.run.result import RunResult
from tests.conftest import Workshop
from tests.faults.world import TABLES, draw_files, tables_of, write_pipeline

pytestmark = pytest.mark.spark

EXAMPLES_IN_CI = 6
CRASHES = [point for point in POINTS if not point.startswith("swap")]
LONGEST = 12
"""Runs after which a lake must have come to rest, crashes included."""

crashes = st.tuples(st.sampled_from(CRASHES), st.sampled_from([None, "bronze.orders", "bronze.members", *TABLES]), st.integers(1, 4))
histories = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "order_files": st.integers(2, 4),
        "member_files": st.integers(1, 3),
        "files_per_batch": st.integers(1, 3),
        "shuffle": st.randoms(use_true_random=False),
        "group_sizes": st.lists(st.integers(1, 3), min_size=2, max_size=4),
        "crashes": st.lists(st.none() | crashes, min_size=2, max_size=4),
        "at_once": st.booleans(),
    }
)  # fmt: skip


def bounded(examples: int) -> settings:
    unhurried = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]
    return settings(
        max_examples=examples, deadline=None, derandomize=True, database=None, phases=[Phase.generate], suppress_health_check=unhurried
    )


def run_to_rest(workshop: Workshop, spec: str) -> None:
    """Run with a crash armed, then again until there is nothing left to do."""
    with failpoints.arm(spec):
        workshop.run("world")
    for _ in range(LONGEST):
        result = workshop.run("world")
        assert result.status in ("ok", "nothing_to_do"), result.message
        if result.status == "nothing_to_do":
            return
    pytest.fail("the lake does not come to rest")


def run_twice_at_once(workshop: Workshop) -> None:
    """Two runs start together: one works, the other ends at once, or both do so one after the other."""
    results: list[RunResult] = []
    threads = [threading.Thread(target=lambda: results.append(workshop.run("world"))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {result.status.value for result in results} <= {"ok", "nothing_to_do", "leased"}
    assert "leased" not in {result.status.value for result in results[1:]} or results[0].status.value == "leased"


def check_history(new_workshop: Callable[[], Workshop], history: dict[str, Any]) -> None:
    files = draw_files(history["seed"], history["order_files"], history["member_files"])
    torn, clean = new_workshop(), new_workshop()
    for workshop in (torn, clean):
        write_pipeline(workshop, history["files_per_batch"])
    for file in files:
        clean.land(file.path, file.text)
    assert clean.run("world").status == "ok"

    waiting, sizes, specs = list(files), list(history["group_sizes"]), list(history["crashes"])
    history["shuffle"].shuffle(waiting)
    while waiting:
        size = sizes.pop(0) if sizes else len(waiting)
        for file in waiting[:size]:
            torn.land(file.path, file.text)
        del waiting[:size]
        crash = specs.pop(0) if specs else None
        run_to_rest(torn, f"{crash[0]}{f':{crash[1]}' if crash[1] else ''}#{crash[2]}=raise" if crash else "")
    if history["at_once"]:
        torn.land("orders/last.json", "")
        run_twice_at_once(torn)

    expected, found = tables_of(clean), tables_of(torn)
    assert {name for name in expected if expected[name] != found[name]} == set()
    accounts = sum_up(torn.project.pipelines["world"], Lake(torn.project.lake, "world"))
    assert {row["table"]: row["missing"] for row in accounts if row["missing"]} == {}


@bounded(EXAMPLES_IN_CI)
@given(histories)
def test_tables_are_a_function_of_the_landed_files(new_workshop: Callable[[], Workshop], history: dict[str, Any]) -> None:
    check_history(new_workshop, history)


@pytest.mark.soak
@bounded(int(os.environ.get("WEIR_SOAK_EXAMPLES", "200")))
@given(histories)
def test_tables_are_a_function_of_the_landed_files_many_times(new_workshop: Callable[[], Workshop], history: dict[str, Any]) -> None:
    check_history(new_workshop, history)
