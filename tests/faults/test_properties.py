"""The promise: the tables are a function of the set of landed files. Random files, in random order, grouped
at random into runs and batches, with crashes at random failpoints, reruns and two runs at once, end in the
tables of one clean run; and the law holds.

CI lives through a few fixed histories, in which every table and every way to be set aside has rows; `make
soak` draws hundreds from a fixed seed (WEIR_SOAK_EXAMPLES).
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from datetime import timedelta
from itertools import zip_longest
from random import Random
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from spark_jobs.lake import failpoints
from spark_jobs.lake.failpoints import POINTS
from spark_jobs.lake.layout import Lake
from spark_jobs.report.account import sum_up
from spark_jobs.run.result import RunResult
from spark_jobs.verify.pipeline import verify_pipeline
from tests.conftest import PROFILE, Workshop
from tests.faults.world import START, TABLES, draw_files, rows_of, tables_of, write_pipeline

pytestmark = pytest.mark.spark

T = TypeVar("T")
Crash = tuple[str, str | None, int]

SOAK_EXAMPLES = int(os.environ.get("WEIR_SOAK_EXAMPLES", "200"))
CRASHES = [point for point in POINTS if not point.startswith("swap")]
HISTORIES_IN_CI: dict[str, dict[str, Any]] = {
    "every file a batch, in three runs that die in silver and in dimensions": {
        "seed": 173,
        "order_files": 3,
        "member_files": 2,
        "files_per_batch": 1,
        "shuffle": Random(1),
        "group_sizes": [2, 1, 2],
        "crashes": [
            ("write.after", "silver.orders", 1),
            ("marker.after", "dimension.members", 1),
            ("gate.after", "silver.orders", 1),
        ],
        "at_once": False,
    },
    "in large batches, in two runs of which one dies in gold, then two at once": {
        "seed": 166,
        "order_files": 3,
        "member_files": 2,
        "files_per_batch": 3,
        "shuffle": Random(2),
        "group_sizes": [2, 3],
        "crashes": [None, ("write.after", "gold.per_hour", 1)],
        "at_once": True,
    },
}
FEED_IN_CI: dict[str, Any] = {
    "seed": 0,
    "group_sizes": [2, 1, 3],
    "crashes": [("write.after", None, 3), None, ("marker.after", None, 3)],
}
LONGEST = 12
"""Runs after which a lake must have come to rest, crashes included."""

crashes = st.tuples(
    st.sampled_from(CRASHES),
    st.sampled_from([None, "bronze.orders", "bronze.members", *TABLES]),
    st.integers(1, 4),
)
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
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=unhurried,
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
    threads = [
        threading.Thread(target=lambda: results.append(workshop.run_beside_others("world"))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {result.status.value for result in results} <= {"ok", "nothing_to_do", "leased"}
    assert (
        "leased" not in {result.status.value for result in results[1:]} or results[0].status.value == "leased"
    )


def groups(
    files: Sequence[T], sizes: Sequence[int], crashes: Sequence[Crash | None]
) -> Iterator[tuple[Sequence[T], str]]:
    """The files that land before each run, and the failpoint that is armed in it."""
    start = 0
    for size, crash in zip_longest(sizes, crashes):
        group = files[start : start + size] if size else files[start:]
        start += len(group)
        if crash:
            point, table, hit = crash
            yield group, f"{point}{f':{table}' if table else ''}#{hit}=raise"
        elif group:
            yield group, ""
    if files[start:]:
        yield files[start:], ""


def check_history(
    new_workshop: Callable[[], Workshop], history: dict[str, Any]
) -> tuple[Workshop, dict[str, list[str]]]:
    """Live through the history and compare with the clean run; gives the lake that lived, and what it must
    hold.
    """
    files = draw_files(history["seed"], history["order_files"], history["member_files"])
    torn, clean = new_workshop(), new_workshop()
    for workshop in (torn, clean):
        write_pipeline(workshop, history["files_per_batch"])
    for file in files:
        clean.land(file.path, file.text)
    assert clean.run("world").status == "ok"

    history["shuffle"].shuffle(files)
    for group, crash in groups(files, history["group_sizes"], history["crashes"]):
        for file in group:
            torn.land(file.path, file.text)
        run_to_rest(torn, crash)
    if history["at_once"]:
        torn.land("orders/last.json", "")
        run_twice_at_once(torn)

    expected, found = tables_of(clean), tables_of(torn)
    assert {name for name in expected if expected[name] != found[name]} == set()
    accounts = sum_up(torn.project.pipelines["world"], Lake(torn.project.lake, "world"))
    assert {row["table"]: row["missing"] for row in accounts if row["missing"]} == {}
    return torn, expected


LATE = """
pipeline: world
sources: {clicks: {format: json, path: clicks}}
silver:
  clicks: {from: clicks, columns: {at: timestamp, page: string}, event_time: at}
gold:
  kept:
    from: silver.clicks
    window: {size: 20 minutes, slide: 10 minutes}
    group_by: page
    measures: {n: count(*)}
    watermark: 30 minutes
    late: keep
  closed: {from: silver.clicks, window: {size: 20 minutes}, measures: {n: count(*)}, watermark: 30 minutes, late: keep, emit: append}
"""
LATE_TABLES = ("gold.kept", "gold.closed", "late.gold.kept", "late.gold.closed")
feeds = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "group_sizes": st.lists(st.integers(1, 3), min_size=2, max_size=4),
        "crashes": st.lists(
            st.none() | st.tuples(st.sampled_from(CRASHES), st.none(), st.integers(1, 12)),
            min_size=2,
            max_size=3,
        ),
    }
)


def check_feed(new_workshop: Callable[[], Workshop], feed: dict[str, Any]) -> dict[str, list[str]]:
    """The same for rows that come late, whose files keep their order; gives what the tables must hold."""
    random, minute, torn, clean = Random(feed["seed"]), 0, new_workshop(), new_workshop()
    files = []
    for number in range(6):
        minute += random.randrange(40)
        times = [
            START + timedelta(minutes=minute - random.choice([0, 5, 20, 45, 90]))
            for _ in range(random.randrange(6))
        ]
        files.append(
            (
                f"clicks/{number}.json",
                "".join(f'{{"at":"{at.isoformat()}","page":"{random.choice("ab")}"}}\n' for at in times),
            )
        )
    for workshop in (torn, clean):
        workshop.write("conf/pipelines/world.yml", LATE)
    for path, text in files:
        clean.land(path, text)
    assert clean.run("world").status == "ok"

    for group, crash in groups(files, feed["group_sizes"], feed["crashes"]):
        for path, text in group:
            torn.land(path, text)
        run_to_rest(torn, crash)

    expected = {name: rows_of(clean, name) for name in LATE_TABLES}
    assert [name for name in LATE_TABLES if expected[name] != rows_of(torn, name)] == []
    late = [
        {
            row["table"]: row["late"]
            for row in sum_up(w.project.pipelines["world"], Lake(w.project.lake, "world"))
        }
        for w in (clean, torn)
    ]
    assert late[0] == late[1]
    return expected


def test_late_rows_are_a_function_of_the_files_in_their_order(new_workshop: Callable[[], Workshop]) -> None:
    expected = check_feed(new_workshop, FEED_IN_CI)

    assert [name for name, rows in expected.items() if not rows] == [], (
        "without such rows it proves nothing of them"
    )


@pytest.mark.parametrize("name", HISTORIES_IN_CI)
def test_tables_are_a_function_of_the_landed_files(new_workshop: Callable[[], Workshop], name: str) -> None:
    _, expected = check_history(new_workshop, HISTORIES_IN_CI[name])

    assert [table for table, rows in expected.items() if not rows] == [], (
        "without such rows it proves nothing of them"
    )


@pytest.mark.soak
@bounded(SOAK_EXAMPLES)
@given(feeds)
def test_late_rows_are_a_function_of_the_files_in_their_order_many_times(
    new_workshop: Callable[[], Workshop], feed: dict[str, Any]
) -> None:
    check_feed(new_workshop, feed)


@pytest.mark.soak
@bounded(SOAK_EXAMPLES)
@given(histories)
def test_tables_are_a_function_of_the_landed_files_many_times(
    new_workshop: Callable[[], Workshop], history: dict[str, Any]
) -> None:
    lake, _ = check_history(new_workshop, history)
    spark = lake.spark
    assert spark is not None
    found = verify_pipeline(lake.project, "world", PROFILE, start=lambda: nullcontext(spark))
    assert found.exit_code == 0, [check for check in found.tables if not check.is_equal]
