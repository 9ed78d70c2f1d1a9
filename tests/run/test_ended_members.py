"""Members of dimensions that end: facts follow in every order of arrival, grouping and crash, and `weir verify`
recomputes it.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import permutations
from typing import Any

import pytest

from spark_jobs.lake import failpoints
from spark_jobs.lake.layout import Lake
from spark_jobs.report.account import sum_up
from spark_jobs.run.rebuild import rebuild_tables, standing_tables
from tests.conftest import PROFILE, ROOT, Workshop
from tests.verify.conftest import verified

pytestmark = pytest.mark.spark

MEMBERS = "from: members, key: id, columns: {id: int, at: timestamp, city: {type: string, required: true}, op: string}"
PIPELINE = f"""
pipeline: club
sources: {{members: {{format: json, path: members}}, visits: {{format: json, path: visits}}}}
dimensions:
  newest: {{{MEMBERS}, sequence_by: at, delete_when: op = 'D'}}
  history: {{{MEMBERS}, sequence_by: at, delete_when: op = 'D', history: scd2}}
silver:
  visits:
    from: visits
    columns: {{id: string, member: int, at: timestamp}}
    event_time: at
    lookup: {{newest: {{on: member, take: {{city: city_now}}}}, history: {{on: member, take: city}}}}
  waiting:
    from: visits
    columns: {{id: string, member: int, at: timestamp, v: int}}
    key: id
    sequence_by: v
    event_time: at
    lookup: {{newest: {{on: member, take: {{city: city_now}}, if_missing: park}}}}
  waiting_then:
    from: visits
    columns: {{id: string, member: int, at: timestamp, v: int}}
    key: id
    sequence_by: v
    event_time: at
    lookup: {{history: {{on: member, take: city, if_missing: quarantine}}}}
gold:
  per_city: {{from: silver.visits, group_by: [city, city_now], measures: {{visit_count: count(*)}}}}
"""
Version = tuple[int, str | None]
"""The hour of a version, and its city; none of one that ends the member."""
STORIES: tuple[tuple[Version, ...], ...] = (
    ((2, "Ulm"), (4, None), (6, "Bonn")),
    ((2, "Ulm"), (4, "Bonn"), (6, None)),
    ((2, "Ulm"), (4, None), (4, "Bonn")),
    ((2, None), (4, None), (6, None)),
)
VISITS = (1, 3, 5, 7)
"""The hours of the visits of every member: they are the last part of its story, after three versions."""
NOBODY = 9_999
ORDERS = list(permutations(range(4)))
GROUPINGS = [(1, 1, 2), (2, 2, 0), (1, 3, 0)]
CASES = [(story, order, sizes) for story in STORIES for order in ORDERS for sizes in GROUPINGS]
"""Each story, order and grouping is a member: so three runs try them all."""


def at(hour: int) -> str:
    return f"2024-05-01T{hour:02}:00:00Z"


def files_of(run: int) -> tuple[str, str]:
    """The members and the visits that arrive in this run."""
    members, visits = "", ""
    for key, (story, order, sizes) in enumerate(CASES):
        start = sum(sizes[:run])
        for part in order[start : start + sizes[run]]:
            if part == len(story):
                visits += "".join(visit(key, hour) for hour in VISITS)
            else:
                members += version(key, *story[part])
    return members, visits + (visit(NOBODY, 1) if run == 0 else "")


def version(key: int, hour: int, city: str | None) -> str:
    said = f'"city":"{city}","op":"U"' if city else '"op":"D"'
    return f'{{"id":{key},"at":"{at(hour)}",{said}}}\n'


def visit(key: int, hour: int) -> str:
    return f'{{"id":"{key}@{hour}","member":{key},"at":"{at(hour)}","v":1}}\n'


def newest(story: tuple[Version, ...]) -> str | None:
    """What the newest version says: of those of one time the one that ends."""
    return max(story, key=lambda said: (said[0], said[1] is None))[1]


def intervals(story: tuple[Version, ...]) -> list[tuple[int, int | None, str]]:
    """From when to when which city was valid."""
    times = sorted({hour for hour, _ in story})
    said = {hour: newest(tuple(one for one in story if one[0] == hour)) for hour in times}
    until = dict(zip(times, [*times[1:], None], strict=True))
    return [(hour, until[hour], city) for hour, city in said.items() if city]


def city_at(story: tuple[Version, ...], hour: int) -> str | None:
    return next((city for of, to, city in intervals(story) if of <= hour and (not to or hour < to)), None)


def time(hour: int | None) -> datetime | None:
    return datetime(2024, 5, 1, hour, tzinfo=UTC) if hour is not None else None


def land(workshop: Workshop, run: int) -> None:
    members, visits = files_of(run)
    workshop.land(f"members/{'bca'[run]}.json", members)
    workshop.land(f"visits/{'bca'[run]}.json", visits)


def rows(workshop: Workshop, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return workshop.rows(f"club.{table}", *columns)


@pytest.fixture(scope="module")
def in_three_runs(new_workshop: Callable[[], Workshop]) -> Workshop:
    """Runs die before, between and after the writes of a dimension, and when facts follow."""
    workshop = new_workshop()
    workshop.write("conf/pipelines/club.yml", PIPELINE)
    points = (
        "write.after:deleted.dimension.newest",
        "write.after:deleted.dimension.history",
        "write.after:silver.visits@reenrich.history",
    )
    for run, point in enumerate(points):
        land(workshop, run)
        with failpoints.arm(f"{point}=raise"):
            assert workshop.run("club").status == "failed"
        result = workshop.run("club")
        assert result.exit_code == 0, result.message
    return workshop


@pytest.fixture(scope="module")
def in_one_run(new_workshop: Callable[[], Workshop]) -> Workshop:
    workshop = new_workshop()
    workshop.write("conf/pipelines/club.yml", PIPELINE)
    for run in range(3):
        land(workshop, run)
    result = workshop.run("club")
    assert result.exit_code == 0, result.message
    return workshop


@pytest.mark.parametrize("lake", ["in_three_runs", "in_one_run"])
def test_an_ended_member_has_no_row_and_its_facts_say_so(lake: str, request: pytest.FixtureRequest) -> None:
    workshop: Workshop = request.getfixturevalue(lake)
    stands = {key: newest(story) for key, (story, _, _) in enumerate(CASES)}

    assert dict(rows(workshop, "dimension.newest", "id", "city")) == {
        key: city for key, city in stands.items() if city
    }
    assert {key for (key,) in rows(workshop, "deleted.dimension.newest", "id")} == {
        key for key, city in stands.items() if not city
    }
    expected = {f"{key}@{hour}": city for key, city in stands.items() for hour in VISITS}
    assert dict(rows(workshop, "silver.waiting", "id", "city_now")) == expected
    visits = dict(rows(workshop, "silver.visits", "id", "city_now"))
    assert visits == expected | {f"{NOBODY}@1": None}


@pytest.mark.parametrize("lake", ["in_three_runs", "in_one_run"])
def test_an_end_closes_the_version_and_facts_after_it_have_none(
    lake: str, request: pytest.FixtureRequest
) -> None:
    workshop: Workshop = request.getfixturevalue(lake)
    stories = {key: story for key, (story, _, _) in enumerate(CASES)}

    found = rows(workshop, "dimension.history", "id", "_valid_from", "_valid_to", "city")
    assert sorted(found, key=repr) == sorted(
        (
            (key, time(of), time(to), city)
            for key, story in stories.items()
            for of, to, city in intervals(story)
        ),
        key=repr,
    )
    ends = rows(workshop, "deleted.dimension.history", "id", "at")
    assert sorted(ends) == sorted(
        (key, time(hour))
        for key, story in stories.items()
        for hour in {hour for hour, _ in story}
        if newest(tuple(one for one in story if one[0] == hour)) is None
    )
    expected = {f"{key}@{hour}": city_at(story, hour) for key, story in stories.items() for hour in VISITS}
    assert dict(rows(workshop, "silver.visits", "id", "city")) == expected | {f"{NOBODY}@1": None}
    known = {name: city for name, city in expected.items() if not name.endswith("@1")}
    assert dict(rows(workshop, "silver.waiting_then", "id", "city")) == known


@pytest.mark.parametrize("lake", ["in_three_runs", "in_one_run"])
def test_all_rows_are_accounted_for_and_verify_agrees(lake: str, request: pytest.FixtureRequest) -> None:
    workshop: Workshop = request.getfixturevalue(lake)

    account = {
        row["table"]: row
        for row in sum_up(workshop.project.pipelines["club"], Lake(workshop.project.lake, "club"))
    }

    assert {table: row["missing"] for table, row in account.items() if row["missing"]} == {}
    assert account["dimension.newest"]["deleted"] > 0
    assert account["dimension.history"]["deleted"] > 0
    assert account["silver.waiting"]["parked"] == 1
    assert account["silver.waiting_then"]["quarantined"] == len(CASES) + 1
    assert verified(workshop, "club") == []


def test_a_rebuild_comes_to_the_same(in_three_runs: Workshop, in_one_run: Workshop) -> None:
    tables = standing_tables(in_three_runs.project, "club")
    result = rebuild_tables(in_three_runs.project, "club", PROFILE, tables, start=in_three_runs._start)

    assert result.exit_code == 0, result.message
    for table, columns in {
        "dimension.newest": ("id", "at", "city"),
        "deleted.dimension.newest": ("id", "at"),
        "dimension.history": ("id", "at", "_valid_from", "_valid_to", "city"),
        "deleted.dimension.history": ("id", "at"),
        "silver.visits": ("id", "city", "city_now"),
        "silver.waiting": ("id", "city_now"),
        "silver.waiting_then": ("id", "city"),
        "gold.per_city": ("city", "city_now", "visit_count"),
    }.items():
        assert rows(in_three_runs, table, *columns) == rows(in_one_run, table, *columns)


def test_a_fact_waits_no_longer_for_a_member_of_which_only_the_end_is_known(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/club.yml", PIPELINE)
    workshop.land("visits/1.json", visit(1, 3))
    assert workshop.run("club").exit_code == 0
    assert rows(workshop, "silver.waiting", "id") == []

    workshop.land("members/1.json", version(1, 2, None))
    result = workshop.run("club")

    counts = {table.table: table.counts for table in result.tables}
    for table in ("dimension.newest", "dimension.history"):
        assert (counts[table].rows_in, counts[table].deleted, counts[table].grown) == (1, 1, 0)
    assert rows(workshop, "silver.waiting", "id", "city_now") == [("1@3", None)]
    assert rows(workshop, "silver.waiting_then", "id", "city") == [("1@3", None)]
    assert verified(workshop, "club") == []


def test_a_version_that_ends_needs_its_key_and_its_time_alone(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/club.yml", PIPELINE)
    workshop.land("members/1.json", version(1, 2, "Ulm") + version(1, 3, None) + '{"id":2,"op":"D"}\n')

    result = workshop.run("club")

    counts = next(table.counts for table in result.tables if table.table == "dimension.newest")
    assert (counts.deleted, counts.superseded, counts.quarantined) == (1, 1, 1)
    assert rows(workshop, "deleted.dimension.newest", "id", "at") == [
        (1, datetime(2024, 5, 1, 3, tzinfo=UTC))
    ]
    counts = next(table.counts for table in result.tables if table.table == "dimension.history")
    assert (counts.inserted, counts.deleted, counts.quarantined) == (1, 1, 1)
    [(reasons,)] = rows(workshop, "quarantine.dimension.newest", "reasons")
    assert [(reason["rule"], reason["column"]) for reason in reasons] == [("required", "at")]


def test_the_example_of_the_documentation_ends_a_member_and_closes_its_version(workshop: Workshop) -> None:
    text = (ROOT / "docs" / "pipeline-file.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```yaml\n(pipeline: staff\n.*?)```", text, re.DOTALL)
    workshop.write("conf/pipelines/staff.yml", example)
    workshop.land("staff/people/1.csv", "id,team,op,at\n1,red,U,2024-05-01\n1,blue,U,2024-05-03\n")
    workshop.land("staff/people/2.csv", "id,team,op,at\n1,,D,2024-05-05\n")
    hours = "".join(f'{{"id":{day},"person":1,"at":"2024-05-0{day}T12:00:00Z"}}\n' for day in (2, 4, 6))
    workshop.land("staff/hours/1.json", hours)

    assert workshop.run("staff").exit_code == 0

    assert workshop.rows("staff.dimension.people", "id") == []
    assert [team for [team] in workshop.rows("staff.dimension.teams", "team")] == ["blue", "red"]
    assert workshop.rows("staff.silver.hours", "id", "team") == [(2, "red"), (4, "blue"), (6, None)]
    assert verified(workshop, "staff") == []
