"""docs/faults.md lists what is tried: every point that a run of the shop reaches, by kind of table and step, and nothing else."""

import re
from collections import defaultdict

import pytest

from spark_jobs.lake.failpoints import POINTS
from tests.conftest import ROOT
from tests.faults import shop
from tests.faults.conftest import MATRIX, PAGE, Undisturbed

SEEN = "equal, 0 missing"


def test_every_point_is_explained() -> None:
    assert re.findall(r"^\| `(\w+\.\w+)` \|", PAGE, re.MULTILINE) == list(POINTS)


def test_no_row_was_lost_or_doubled() -> None:
    assert {seen for *_, seen in MATRIX} == {SEEN}


def test_tests_that_the_page_names_are_there() -> None:
    sources = "".join(file.read_text(encoding="utf-8") for file in sorted((ROOT / "tests").rglob("test_*.py")))
    named = re.findall(r"`(test_\w+)`", PAGE)

    assert len(named) > 10
    assert [name for name in named if f"def {name}(" not in sources] == []


@pytest.mark.spark
def test_the_matrix_lists_every_point_that_is_reached_and_no_other(undisturbed: Undisturbed) -> None:
    reached: dict[tuple[str, str], set[str]] = defaultdict(set)
    for point, table, step in undisturbed.points:
        reached[shop.KINDS[table], step.partition(".")[0] or "between"].add(point)
    rows = [row for row in MATRIX if row[1] != "swap" and row[0] not in shop.BOARD_KINDS.values()]  # test_matrix.py has those
    listed = {(kind, step): set(re.findall(r"`([a-z.]+)`", points)) for kind, step, points, _ in rows}

    assert listed == reached
