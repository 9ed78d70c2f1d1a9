"""Lakes to try faults on: copies of one that has the first delivery, with the second landed; and what they must come to."""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from spark_jobs.lake import failpoints
from tests.conftest import ROOT, Workshop
from tests.faults import shop

PAGE = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
MATRIX = re.findall(r"^\| ([^|]+) \| ([^|]+) \| (`[a-z]+\.[^|]+) \| [^|]+ \| ([^|]+) \|$", PAGE, re.MULTILINE)
"""The rows of the matrix: kind of table, step, points, seen outcome."""
Shops = Callable[[], Workshop]
Point = tuple[str, str, str]
"""A failpoint, its table, and the step that the table is in."""


@pytest.fixture(scope="session")
def first_delivery(new_workshop: Callable[[], Workshop]) -> Workshop:
    """A lake with the first delivery loaded. Not to be touched: it is copied."""
    workshop = new_workshop()
    shutil.copy(ROOT / "conf" / "log4j2.properties", workshop.root / "conf")
    (workshop.root / ".envs").symlink_to(ROOT / ".envs")
    shop.write_pipeline(workshop)
    shop.land_first(workshop)
    result = workshop.run("shop")
    assert result.exit_code == 0, result.message
    return workshop


@pytest.fixture(scope="session")
def new_shop(first_delivery: Workshop, tmp_path_factory: pytest.TempPathFactory) -> Shops:
    """Makes lakes with the first delivery loaded and the second landed."""

    def copy() -> Workshop:
        root = tmp_path_factory.mktemp("shop") / "home"
        shutil.copytree(first_delivery.root, root, symlinks=True)
        workshop = Workshop(root, first_delivery.spark)
        shop.land_second(workshop)
        return workshop

    return copy


@pytest.fixture
def damaged_shop(new_shop: Shops) -> Workshop:
    return new_shop()


@dataclass(frozen=True)
class Undisturbed:
    """A lake with both deliveries loaded, each by one run, and the points that the second run reached."""

    workshop: Workshop
    points: frozenset[Point]


@pytest.fixture(scope="session")
def undisturbed(new_shop: Shops) -> Undisturbed:
    points: set[Point] = set()
    workshop = new_shop()
    with failpoints.deciding(lambda point, table, step: points.add((point, table, step))):
        result = workshop.run("shop")
    assert result.exit_code == 0, result.message
    assert shop.missing_rows(workshop) == {}
    return Undisturbed(workshop, frozenset(points))


@pytest.fixture(scope="session")
def expected(undisturbed: Undisturbed) -> dict[str, list[str]]:
    """What every table must hold after both deliveries, whatever happened on the way."""
    return shop.contents(undisturbed.workshop)
