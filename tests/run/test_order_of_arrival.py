"""The promise: tables are a function of the landed files, not of the order or the grouping in which they
came.

Four versions of everything arrive in every order and in every grouping into runs. Each order and grouping has
a key of its own, so that three runs try them all: key n of run r brings the versions that its order and
grouping put there.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from spark_jobs.lake.layout import Lake
from spark_jobs.report.account import sum_up
from tests.conftest import Workshop

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: shuffled
sources:
  facts:   {format: json, path: facts}
  members: {format: csv, path: members}
  visits:  {format: json, path: visits}
dimensions:
  members:
    from: members
    key: [country, id]
    columns: {country: string, id: bigint, name: string, changed_at: timestamp}
    sequence_by: changed_at
    history: scd2
  newest:
    from: members
    key: [country, id]
    columns: {country: string, id: bigint, latest: {type: string, from: name}, changed_at: timestamp}
    sequence_by: changed_at
silver:
  facts:
    from: facts
    columns: {id: bigint, at: timestamp, seq: bigint, one: bigint, two: bigint}
    key: id
    sequence_by: seq
    event_time: at
  visits:
    from: visits
    columns: {country: string, member: bigint, at: timestamp, place: string}
    event_time: at
    lookup:
      members: {on: [country, member], take: [name]}
      newest:  {on: [country, member], take: [latest]}
gold:
  facts_per_hour:
    from: silver.facts
    window: {size: 1 hour}
    measures: {fact_count: count(*), ids: sum(id)}
  visits_per_name:
    from: silver.visits
    window: {size: 2 days, slide: 1 day}
    group_by: [name, place]
    measures: {visit_count: count(*)}
  names:
    from: silver.visits
    group_by: [latest]
    measures: {visit_count: count(*)}
"""

T = [datetime(2024, 5, day, tzinfo=UTC) for day in range(1, 9)]
FOREVER: datetime | None = None
Version = tuple[str, datetime]

# What members say and when. The last two of a family may tie; "" is NULL.
HISTORIES: dict[str, tuple[Version, ...]] = {
    "split": (("A", T[1]), ("A", T[3]), ("B", T[2]), ("", T[4])),
    "tied": (("A", T[1]), ("B", T[2]), ("C", T[2]), ("A", T[3])),
    "silent": (("A", T[1]), ("A", T[2]), ("", T[3]), ("", T[4])),
}
FACTS: tuple[tuple[int, datetime, int | None, int | None], ...] = (
    (1, T[1], 5, 5),
    (2, T[2], 1, None),
    (2, T[3], None, 1),
    (2, T[2], 1, None),
)
"""(seq, at, one, two): an old version, two that tie, and a repetition of one of these."""
RUNS = 3
GROUPINGS = [(1, 1, 2), (2, 1, 1), (2, 0, 2), (1, 3, 0), (0, 4, 0)]
"""How many of the four come in each run."""
ORDERS = list(permutations(range(4)))
CASES = [(order, sizes) for order in ORDERS for sizes in GROUPINGS]


def arrivals(run: int) -> list[tuple[int, int]]:
    """(case, version) of what arrives in this run."""
    found = []
    for case, (order, sizes) in enumerate(CASES):
        start = sum(sizes[:run])
        found += [(case, version) for version in order[start : start + sizes[run]]]
    return found


def member_file(run: int) -> str:
    rows = [(kind, case, *HISTORIES[kind][version]) for kind in HISTORIES for case, version in arrivals(run)]
    return "name,changed_at,country,id\n" + "".join(
        f"{name},{at.isoformat()},{kind},{case}\n" for kind, case, name, at in rows
    )


def fact_file(run: int) -> str:
    return "".join(fact(case, *FACTS[version]) for case, version in arrivals(run))


def fact(case: int, seq: int, at: datetime, one: int | None, two: int | None) -> str:
    values = ",".join(
        f'"{name}":{value}' for name, value in (("one", one), ("two", two)) if value is not None
    )
    return f'{{"id":{case},"seq":{seq},"at":"{at.isoformat()}",{values}}}\n'


VISITS = {
    "before": T[1] - timedelta(microseconds=1),
    "at 1": T[1],
    "before 2": T[2] - timedelta(microseconds=1),
    "at 2": T[2],
    "at 3": T[3],
    "after": T[6],
}


def visit_file() -> str:
    """All visits come first: before any member is known."""
    lines = [
        f'{{"country":"{kind}","member":{case},"at":"{at.isoformat()}","place":"{place}"}}\n'
        for kind in HISTORIES
        for case in range(len(CASES))
        for place, at in VISITS.items()
    ]
    return "".join([*lines, f'{{"country":"split","at":"{T[1].isoformat()}","place":"nobody"}}\n'])


@pytest.fixture(scope="module")
def in_several_runs(new_workshop: Callable[[], Workshop]) -> Workshop:
    workshop = new_workshop()
    workshop.write("conf/pipelines/shuffled.yml", PIPELINE)
    workshop.land("visits/0.json", visit_file())
    for run in range(RUNS):
        workshop.land(f"members/{run}.csv", member_file(run))
        workshop.land(f"facts/{run}.json", fact_file(run))
        result = workshop.run("shuffled")
        assert result.exit_code == 0, result.message
    return workshop


@pytest.fixture(scope="module")
def in_one_run(new_workshop: Callable[[], Workshop]) -> Workshop:
    workshop = new_workshop()
    workshop.write("conf/pipelines/shuffled.yml", PIPELINE)
    workshop.land("visits/0.json", visit_file())
    for run in range(RUNS):
        workshop.land(f"members/{run}.csv", member_file(run))
        workshop.land(f"facts/{run}.json", fact_file(run))
    assert workshop.run("shuffled").exit_code == 0
    return workshop


def per_case(rows: list[tuple[Any, ...]]) -> dict[Any, list[tuple[Any, ...]]]:
    """Rows by their first column."""
    found: dict[Any, list[tuple[Any, ...]]] = {}
    for first, *rest in rows:
        found.setdefault(first, []).append(tuple(rest))
    return found


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("dimension.members", "country id name changed_at _valid_from _valid_to _content"),
        ("dimension.newest", "country id latest changed_at _content"),
        ("silver.facts", "id at seq one two _event_at _content"),
        ("silver.visits", "country member at place name latest _event_at _file _file_id _line _content"),
        ("gold.facts_per_hour", "window_start window_end fact_count ids"),
        ("gold.visits_per_name", "window_start window_end name place visit_count"),
        ("gold.names", "latest visit_count"),
    ],
)
def test_several_runs_give_the_tables_of_one_run(
    in_several_runs: Workshop, in_one_run: Workshop, table: str, columns: str
) -> None:
    rows = in_several_runs.rows(f"shuffled.{table}", *columns.split())

    assert rows == in_one_run.rows(f"shuffled.{table}", *columns.split())
    assert rows


def test_the_history_of_a_member_does_not_depend_on_the_order_of_its_versions(
    in_several_runs: Workshop,
) -> None:
    rows = in_several_runs.rows(
        "shuffled.dimension.members", "country", "id", "_valid_from", "_valid_to", "name", "changed_at"
    )
    by_kind = per_case(rows)

    expected = {
        "split": [
            (T[1], T[2], "A", T[1]),
            (T[2], T[3], "B", T[2]),
            (T[3], T[4], "A", T[3]),
            (T[4], FOREVER, None, T[4]),
        ],
        "silent": [(T[1], T[3], "A", T[1]), (T[3], FOREVER, None, T[3])],
    }
    for kind, intervals in expected.items():
        assert per_case(by_kind[kind]) == dict.fromkeys(range(len(CASES)), intervals)
    tied = per_case(by_kind["tied"])
    either = [
        [(T[1], T[2], "A", T[1]), (T[2], T[3], name, T[2]), (T[3], FOREVER, "A", T[3])] for name in "BC"
    ]
    assert {case: history in either for case, history in tied.items()} == dict.fromkeys(
        range(len(CASES)), True
    )


def test_the_newest_version_of_a_key_does_not_depend_on_the_order_of_its_versions(
    in_several_runs: Workshop,
) -> None:
    facts = per_case(in_several_runs.rows("shuffled.silver.facts", "id", "seq", "at", "one", "two"))

    either = [[(2, T[2], 1, None)], [(2, T[3], None, 1)]]
    assert {case: rows in either for case, rows in facts.items()} == dict.fromkeys(range(len(CASES)), True)


def test_visits_find_the_member_of_their_time_although_it_came_later(in_several_runs: Workshop) -> None:
    rows = in_several_runs.rows("shuffled.silver.visits", "country", "member", "place", "name", "latest")
    visits = {(kind, case, place): (name, latest) for kind, case, place, name, latest in rows}

    expected = {"before": None, "at 1": "A", "before 2": "A", "at 2": "B", "at 3": "A", "after": None}
    split = {
        ("split", case, place): (name, None) for case in range(len(CASES)) for place, name in expected.items()
    }
    assert {key: found for key, found in visits.items() if key[0] == "split" and key[1] is not None} == split
    assert visits["split", None, "nobody"] == (None, None)
    assert len(rows) == len(visits) == len(CASES) * len(VISITS) * len(HISTORIES) + 1


def test_windows_hold_what_silver_says_now_and_emptied_ones_are_gone(in_several_runs: Workshop) -> None:
    facts = in_several_runs.rows("shuffled.silver.facts", "id", "at")
    expected: dict[datetime, list[int]] = {}
    for case, at in facts:
        expected.setdefault(at, []).append(case)

    found = in_several_runs.rows(
        "shuffled.gold.facts_per_hour", "window_start", "window_end", "fact_count", "ids"
    )

    assert found == sorted((at, at + timedelta(hours=1), len(ids), sum(ids)) for at, ids in expected.items())


def test_the_accounts_say_what_became_of_every_version(
    in_several_runs: Workshop, in_one_run: Workshop
) -> None:
    split, one = (
        {
            row["table"]: row
            for row in sum_up(workshop.project.pipelines["shuffled"], Lake(workshop.project.lake, "shuffled"))
        }
        for workshop in (in_several_runs, in_one_run)
    )

    cases = len(CASES)
    for accounts in (split, one):
        assert [row["missing"] for row in accounts.values()] == [0] * len(accounts)
        assert accounts["silver.facts"]["rows_in"] == 4 * cases
        assert accounts["silver.facts"]["inserted"] == cases
        assert accounts["dimension.members"]["rows_in"] == 4 * cases * len(HISTORIES)
    assert [one["silver.facts"][name] for name in ("updated", "duplicate", "superseded")] == [
        0,
        cases,
        2 * cases,
    ]
    assert [one["dimension.newest"][name] for name in ("inserted", "updated", "duplicate")] == [
        3 * cases,
        0,
        0,
    ]
    assert split["silver.visits"]["corrected"] > cases
    assert one["silver.visits"]["corrected"] == 0
