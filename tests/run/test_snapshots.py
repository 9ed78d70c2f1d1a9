"""Dimensions that are fed by whole snapshots: what a snapshot lacks has ended, in every order of arrival, grouping
and crash; a cut one is blocked.
"""

import json
import re
from random import Random
from typing import Any

import pytest

from spark_jobs.lake import failpoints
from spark_jobs.lake.layout import Lake
from spark_jobs.report.account import sum_up
from spark_jobs.run.decisions import Action, decide
from spark_jobs.run.rebuild import rebuild_tables, standing_tables
from tests.conftest import PROFILE, ROOT, Workshop
from tests.verify.conftest import verified

pytestmark = pytest.mark.spark

SEATS = "from: seats, key: seat, columns: {seat: int, owner: string, exported_on: date}, snapshot: {may_end: 100%}"
ARRIVING = "from: seats, key: seat, columns: {seat: int, owner: string}, snapshot: {may_end: 100%}"
PIPELINE = f"""
pipeline: hall
sources:
  seats: {{format: csv, path: seats, files_per_batch: {{files_per_batch}}}}
  visits: {{format: json, path: visits}}
dimensions:
  newest: {{{SEATS}, sequence_by: exported_on}}
  history: {{{SEATS}, sequence_by: exported_on, history: scd2}}
  last_file: {{{ARRIVING}, sequence_by: newest_arrival}}
  files: {{{ARRIVING}, sequence_by: newest_arrival, history: scd2}}
silver:
  visits:
    from: visits
    columns: {{id: string, seat: int, at: timestamp}}
    key: id
    event_time: at
    lookup:
      newest: {{on: seat, take: {{owner: owner_now}}, if_missing: park}}
      history: {{on: seat, take: owner}}
  waiting:
    from: visits
    columns: {{id: string, seat: int, at: timestamp}}
    key: id
    event_time: at
    lookup: {{history: {{on: seat, take: owner, if_missing: park}}}}
"""
DAYS, ALL_SEATS = range(1, 8), range(30)
NOBODY = 99
Snapshot = dict[int, str]


def draw_snapshots(seed: int) -> dict[int, Snapshot]:
    """By day the owners of some of the seats, of few names, so that much is said again."""
    random = Random(seed)
    return {day: {seat: random.choice("AB") for seat in ALL_SEATS if random.random() < 0.6} for day in DAYS}


def files_of(snapshots: dict[int, Snapshot], random: Random) -> list[tuple[str, str]]:
    """A snapshot is one file, or two that share some rows."""
    files = []
    for day, snapshot in snapshots.items():
        rows = [f"{seat},{owner},2024-05-{day:02}\n" for seat, owner in snapshot.items()]
        cut = random.randrange(len(rows))
        parts = [rows] if random.random() < 0.5 else [rows[:cut], rows[cut // 2 :]]
        files += [("".join(part), f"{day}{number}") for number, part in enumerate(parts) if part]
    random.shuffle(files)
    names = random.sample(range(1000), len(files))
    return [
        (f"seats/{name}.csv", "seat,owner,exported_on\n" + text)
        for (text, _), name in zip(files, names, strict=True)
    ]


def visits() -> str:
    times = [(seat, day) for seat in (*ALL_SEATS, NOBODY) for day in (0, *DAYS)]
    return "".join(
        f'{{"id":"{seat}@{day}","seat":{seat},"at":"2024-05-{day:02}T12:00:00Z"}}\n'
        for seat, day in times
        if day
    )


def intervals(snapshots: dict[int, Snapshot]) -> list[tuple[int, int, int | None, str]]:
    """Seat, from which day until which, and the owner."""
    found: list[tuple[int, int, int | None, str]] = []
    for seat in ALL_SEATS:
        was: str | None = None
        for day in sorted(snapshots):
            owner = snapshots[day].get(seat)
            if owner != was and was is not None:
                found[-1] = (seat, found[-1][1], day, was)
            if owner != was and owner is not None:
                found.append((seat, day, None, owner))
            was = owner
    return found


def rows(workshop: Workshop, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return workshop.rows(f"hall.{table}", *columns)


def history_of(workshop: Workshop) -> list[tuple[Any, ...]]:
    found = rows(workshop, "dimension.history", "seat", "_valid_from", "_valid_to", "owner")
    return sorted((seat, of.day, to.day if to else None, owner) for seat, of, to, owner in found)


def check_by_time(workshop: Workshop, snapshots: dict[int, Snapshot]) -> None:
    expected, newest = intervals(snapshots), snapshots[max(DAYS)]
    ever = {seat for snapshot in snapshots.values() for seat in snapshot}
    assert history_of(workshop) == sorted(expected)
    assert dict(rows(workshop, "dimension.newest", "seat", "owner")) == newest
    assert {seat for (seat,) in rows(workshop, "deleted.dimension.newest", "seat")} == ever - {*newest}
    then = {
        f"{seat}@{day}": next(
            (who for of, first, until, who in expected if of == seat and first <= day < (until or 99)), None
        )
        for seat in ever
        for day in DAYS
    }
    found = rows(workshop, "silver.visits", "id", "owner", "owner_now")
    assert {name: (owner, now) for name, owner, now in found} == {
        name: (owner, newest.get(int(name.partition("@")[0]))) for name, owner in then.items()
    }
    first = {seat: min(day for day in DAYS if seat in snapshots[day]) for seat in ever}
    known = {name: who for name, who in then.items() if int(name[-1]) >= first[int(name.partition("@")[0])]}
    assert dict(rows(workshop, "silver.waiting", "id", "owner")) == known


def check_by_arrival(workshop: Workshop) -> None:
    """Each file is a snapshot: in the order of chunks, then paths."""
    files: dict[tuple[int, str], Snapshot] = {}
    for chunk, file, record in rows(workshop, "bronze.seats", "_chunk", "_file", "record"):
        said = json.loads(record)
        files.setdefault((chunk, file), {})[int(said["seat"])] = said["owner"]
    last = files[max(files)]
    assert dict(rows(workshop, "dimension.last_file", "seat", "owner")) == last
    ever = {seat for snapshot in files.values() for seat in snapshot}
    assert {seat for (seat,) in rows(workshop, "deleted.dimension.last_file", "seat")} == ever - {*last}
    open_now = [
        (seat, owner)
        for seat, owner, to in rows(workshop, "dimension.files", "seat", "owner", "_valid_to")
        if to is None
    ]
    assert dict(open_now) == last
    assert len(open_now) == len(last)


def missing(workshop: Workshop) -> dict[str, int]:
    account = sum_up(workshop.project.pipelines["hall"], Lake(workshop.project.lake, "hall"))
    return {row["table"]: row["missing"] for row in account if row["missing"]}


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_any_order_and_grouping_of_snapshots_comes_to_the_same(workshop: Workshop, seed: int) -> None:
    random, snapshots = Random(seed), draw_snapshots(seed)
    workshop.write(
        "conf/pipelines/hall.yml", PIPELINE.replace("{files_per_batch}", str(random.choice([1, 3])))
    )
    files, when = files_of(snapshots, random), random.randrange(3)
    cuts = (
        "write.after:deleted.dimension.newest",
        "write.after:dimension.history",
        "write.after:silver.visits@reenrich.newest",
    )
    for run in range(3):
        if run == when:
            workshop.land("visits/1.json", visits())
        for path, text in files[run::3]:
            workshop.land(path, text)
        with failpoints.arm(f"{cuts[run]}=raise"):
            workshop.run("hall")
        result = workshop.run("hall")
        assert result.exit_code in (0, 3), result.message

    check_by_time(workshop, snapshots)
    check_by_arrival(workshop)
    assert missing(workshop) == {}
    assert verified(workshop, "hall") == []
    before = {
        table: rows(workshop, f"dimension.{table}", "seat", "owner")
        for table in ("newest", "history", "last_file", "files")
    }

    tables = standing_tables(workshop.project, "hall")
    rebuilt = rebuild_tables(workshop.project, "hall", PROFILE, tables, start=workshop._start)

    assert rebuilt.exit_code == 0, rebuilt.message
    check_by_time(workshop, snapshots)
    assert before == {table: rows(workshop, f"dimension.{table}", "seat", "owner") for table in before}


def write_example(workshop: Workshop) -> None:
    text = (ROOT / "docs" / "pipeline-file.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```yaml\n(pipeline: seats\n.*?)```", text, re.DOTALL)
    workshop.write("conf/pipelines/seats.yml", example)


def snapshot(day: int, *seats: str, owner: str = "A") -> str:
    return "seat,owner,exported_on\n" + "".join(f"{seat},{owner},2024-05-{day:02}\n" for seat in seats)


def test_a_snapshot_that_would_end_too_many_is_blocked_and_readers_keep_what_they_have(
    workshop: Workshop,
) -> None:
    write_example(workshop)
    workshop.land("seats/all/1.csv", snapshot(1, *"abcdefghij"))
    assert workshop.run("seats").exit_code == 0
    workshop.land("seats/all/2.csv", snapshot(2, *"abcdefgh"))
    assert workshop.run("seats").exit_code == 0
    workshop.land("seats/all/3.csv", snapshot(3, *"abcde"))

    result = workshop.run("seats")

    assert result.status == "blocked", result.message
    blocked = {one.table: one for one in (table.blocked for table in result.tables) if one}
    assert {table: one.rules for table, one in blocked.items()} == {
        "dimension.seats": ("snapshot_may_end",),
        "dimension.seat_history": ("snapshot_may_end",),
    }
    assert "ends 3 of 8 members, and may end 20%" in blocked["dimension.seats"].message
    assert [seat for (seat,) in workshop.rows("seats.dimension.seats", "seat")] == list("abcdefgh")


def test_what_is_released_ends_its_members_and_what_is_set_aside_ends_nobody(workshop: Workshop) -> None:
    write_example(workshop)
    for day, seats in ((1, "abcdefghij"), (2, "abcde")):
        workshop.land(f"seats/all/{day}.csv", snapshot(day, *seats))
        workshop.run("seats")

    def decided(table: str, action: Action) -> None:
        result = decide(
            workshop.project, "seats", PROFILE, table, action, "Ann", "seen", start=workshop._start
        )
        assert result.exit_code == 0, result.message

    decided("dimension.seats", "release")
    decided("dimension.seat_history", "set_aside")

    assert [seat for (seat,) in workshop.rows("seats.dimension.seats", "seat")] == list("abcde")
    assert [seat for (seat,) in workshop.rows("seats.deleted.dimension.seats", "seat")] == list("fghij")
    history = workshop.rows("seats.dimension.seat_history", "seat", "_valid_to")
    assert history == [(seat, None) for seat in "abcdefghij"]
    assert verified(workshop, "seats") == []

    workshop.land("seats/all/3.csv", snapshot(3, *"abcdefghi"))
    assert workshop.run("seats").exit_code == 0

    history = workshop.rows("seats.dimension.seat_history", "seat", "_valid_to")
    assert [seat for seat, until in history if until] == ["j"]
    assert verified(workshop, "seats") == []


def test_a_late_snapshot_that_was_cut_is_blocked_in_history_as_well(workshop: Workshop) -> None:
    write_example(workshop)
    for day in (1, 3):
        workshop.land(f"seats/all/{day}.csv", snapshot(day, *"abcde"))
        assert workshop.run("seats").exit_code == 0
    workshop.land("seats/all/2.csv", snapshot(2, "a"))

    result = workshop.run("seats")

    assert [table.table for table in result.tables if table.blocked] == ["dimension.seat_history"]
    counts = next(table.counts for table in result.tables if table.table == "dimension.seats")
    assert (counts.rows_in, counts.superseded, counts.grown) == (1, 1, 0)


@pytest.mark.parametrize("files_per_batch", [1, 2])
def test_files_that_arrive_together_end_only_what_the_last_one_lacks(
    workshop: Workshop, files_per_batch: int
) -> None:
    workshop.write(
        "conf/pipelines/seats.yml",
        f"""
pipeline: seats
sources: {{seats: {{format: csv, path: seats, files_per_batch: {files_per_batch}}}}}
dimensions:
  seats:
    {{from: seats, key: seat, columns: {{seat: string, owner: string}}, sequence_by: newest_arrival, history: scd2,
      snapshot: true}}
""",
    )

    def land(name: int, seats: str) -> None:
        workshop.land(f"seats/{name}.csv", "seat,owner\n" + "".join(f"{seat},A\n" for seat in seats))

    land(1, "abcdefghij")
    assert workshop.run("seats").exit_code == 0
    land(2, "abcdefghijk")
    land(3, "abcdefghi")  # j and k went, of 10 members that stood one

    result = workshop.run("seats")

    assert result.exit_code == 0, result.message
    found = workshop.rows("seats.dimension.seats", "seat", "_valid_from", "_valid_to")
    assert len(found) == 11
    assert [seat for seat, _, until in found if until is None] == list("abcdefghi")
    assert [seat for seat, since, until in found if since == until] == ["k"]
    assert verified(workshop, "seats") == []
