"""Versions that several columns order, the place of their row in a landed file, or their arrival alone: every
order, grouping and crash gives one result, and `weir verify` recomputes it.
"""

import re
from collections.abc import Callable
from itertools import permutations

import pytest

from spark_jobs.lake import failpoints
from spark_jobs.run.rebuild import rebuild_tables, standing_tables
from tests.conftest import PROFILE, ROOT, Workshop
from tests.verify.conftest import verified

pytestmark = pytest.mark.spark

TABLE = "{from: changes, key: id, columns: {id: int, day: date, version: int, said: string}, "
PIPELINE = f"""
pipeline: feed
sources: {{changes: {{format: json, path: changes}}}}
dimensions:
  history: {TABLE}sequence_by: [day, version], history: scd2}}
  last_load: {TABLE}sequence_by: newest_arrival}}
silver:
  versions: {TABLE}sequence_by: [day, version], delete_when: said = 'gone'}}
  files: {TABLE}sequence_by: [day, _file, _line], delete_when: said = 'gone'}}
  last_load: {TABLE}sequence_by: newest_arrival, delete_when: said = 'gone'}}
"""
VERSIONS = (
    ("2024-05-01", 9, "old"),
    ("2024-05-02", 1, "first"),
    ("2024-05-02", 3, "third"),
    ("2024-05-02", 2, "gone"),
)
ORDERS = list(permutations(range(4)))
GROUPINGS = [(1, 1, 2), (2, 2, 0), (0, 4, 0)]
CASES = [(order, sizes) for order in ORDERS for sizes in GROUPINGS]
"""Each order and grouping is a key: so three runs try them all."""
Said = dict[int, str]


def of_run(run: int) -> list[tuple[int, int]]:
    """(key, version) of what arrives in this run, in the order of lines."""
    found = []
    for key, (order, sizes) in enumerate(CASES):
        start = sum(sizes[:run])
        found += [(key, version) for version in order[start : start + sizes[run]]]
    return found


def file_of(run: int) -> str:
    rows = [(key, *VERSIONS[version]) for key, version in of_run(run)]
    return "".join(
        f'{{"id":{key},"day":"{day}","version":{version},"said":"{said}"}}\n'
        for key, day, version, said in rows
    )


def name_of(run: int) -> str:
    """Files arrive in another order than that of their names."""
    return f"changes/{'bca'[run]}.json"


def expected() -> tuple[Said, Said, Said]:
    """What the newest version of each key says: by day and version, by day and place, by arrival."""
    by_version, by_file, by_arrival = Said(), Said(), Said()
    for key in range(len(CASES)):
        rows = [
            (VERSIONS[version], name_of(run), line, run)
            for run in range(3)
            for line, (found, version) in enumerate(of_run(run))
            if found == key
        ]
        by_version[key] = max(rows, key=lambda row: row[0][:2])[0][2]
        by_file[key] = max(rows, key=lambda row: (row[0][0], row[1], row[2]))[0][2]
        by_arrival[key] = max(rows, key=lambda row: (row[3], row[2]))[0][2]
    return by_version, by_file, by_arrival


def said(workshop: Workshop, table: str) -> Said:
    return dict(workshop.rows(f"feed.{table}", "id", "said"))


@pytest.fixture(scope="module")
def in_three_runs(new_workshop: Callable[[], Workshop]) -> Workshop:
    """The second run and the third die on their way."""
    workshop = new_workshop()
    workshop.write("conf/pipelines/feed.yml", PIPELINE)
    for run in range(3):
        workshop.land(name_of(run), file_of(run))
        if cut := (None, "write.after:silver.files", "marker.before:dimension.history")[run]:
            with failpoints.arm(f"{cut}=raise"):
                assert workshop.run("feed").status == "failed"
        result = workshop.run("feed")
        assert result.exit_code == 0, result.message
        assert not [warning for warning in result.warnings if "with the same" in warning], "nothing ties"
    return workshop


def test_the_columns_order_versions_one_after_the_other(in_three_runs: Workshop) -> None:
    by_version, by_file, by_arrival = expected()

    assert said(in_three_runs, "silver.versions") == by_version
    stands = {key: what for key, what in by_file.items() if what != "gone"}
    assert said(in_three_runs, "silver.files") == stands
    assert len(by_file) > len(stands) > 0
    stands = {key: what for key, what in by_arrival.items() if what != "gone"}
    assert said(in_three_runs, "silver.last_load") == stands
    assert said(in_three_runs, "dimension.last_load") == by_arrival
    assert len({*by_arrival.values()}) == len(VERSIONS)


def test_of_the_versions_of_one_time_the_next_column_picks_the_one_in_history(
    in_three_runs: Workshop,
) -> None:
    history = in_three_runs.rows("feed.dimension.history", "id", "version", "said")

    assert history == sorted(
        ((key, version, what) for key in range(len(CASES)) for version, what in ((9, "old"), (3, "third"))),
        key=repr,
    )


def test_one_run_and_a_rebuild_give_the_same_and_verify_agrees(
    in_three_runs: Workshop, new_workshop: Callable[[], Workshop]
) -> None:
    at_once = new_workshop()
    at_once.write("conf/pipelines/feed.yml", PIPELINE)
    for run in range(3):
        at_once.land(name_of(run), file_of(run))
    assert at_once.run("feed").exit_code == 0

    for table in ("silver.versions", "silver.files", "dimension.history"):
        assert at_once.rows(f"feed.{table}", "id", "said", "_file", "_line") == in_three_runs.rows(
            f"feed.{table}", "id", "said", "_file", "_line"
        )
    assert verified(in_three_runs, "feed") == verified(at_once, "feed") == []
    before = said(in_three_runs, "silver.last_load")
    tables = standing_tables(in_three_runs.project, "feed")
    rebuilt = rebuild_tables(in_three_runs.project, "feed", PROFILE, tables, start=in_three_runs._start)
    assert rebuilt.exit_code == 0, rebuilt.message
    assert said(in_three_runs, "silver.last_load") == before


def test_what_is_sent_again_as_it_stands_is_a_duplicate_and_wins_over_what_came_between(
    workshop: Workshop,
) -> None:
    workshop.write("conf/pipelines/feed.yml", PIPELINE)
    counts = []
    for number, what in enumerate(("a", "b", "a", "a")):
        line = f'{{"id":1,"day":"2024-05-01","version":1,"said":"{what}"}}\n'
        workshop.land(f"changes/{number}.json", line)
        result = workshop.run("feed")
        counts.append(next(one.counts for one in result.tables if one.table == "silver.last_load"))

    assert [(one.inserted, one.updated, one.duplicate) for one in counts] == [
        (1, 0, 0),
        (0, 1, 0),
        (0, 1, 0),
        (0, 0, 1),
    ]
    assert said(workshop, "silver.last_load") == {1: "a"}


def test_the_example_of_the_documentation_keeps_the_second_price_of_a_day_and_the_last_load(
    workshop: Workshop,
) -> None:
    text = (ROOT / "docs" / "pipeline-file.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```yaml\n(pipeline: prices\n.*?)```", text, re.DOTALL)
    workshop.write("conf/pipelines/prices.yml", example)
    header = "article,valid_on,version,price\n"
    workshop.land("shop/prices/1.csv", f"{header}ink,2024-05-02,2,3.00\nink,2024-05-02,1,2.00\n")
    workshop.land("shop/prices/2.csv", f"{header}ink,2024-05-01,7,1.00\n")

    assert workshop.run("prices").exit_code == 0

    prices = workshop.rows("prices.dimension.prices", "version", "price")
    assert [(version, str(price)) for version, price in prices] == [(2, "3.00"), (7, "1.00")]
    assert [str(price) for [price] in workshop.rows("prices.silver.last_prices", "price")] == ["1.00"]
