"""Lakes to try faults on: copies of one that has the first delivery, with the second landed; and what they
must come to.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from spark_jobs.lake import failpoints
from tests.conftest import ROOT, Workshop
from tests.faults import kiosk, shop
from tests.faults.deaths import Point

Shops = Callable[[], Workshop]


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
        workshop = first_delivery.copied(tmp_path_factory.mktemp("shop") / "home")
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


@pytest.fixture
def loaded_shop(undisturbed: Undisturbed, tmp_path: Path) -> Workshop:
    """A lake of the test's own with both deliveries loaded."""
    return undisturbed.workshop.copied(tmp_path / "home")


@pytest.fixture(scope="session")
def expected(undisturbed: Undisturbed) -> dict[str, list[str]]:
    """What every table must hold after both deliveries, whatever happened on the way."""
    return shop.contents(undisturbed.workshop)


@pytest.fixture(scope="session")
def expected_sales(new_workshop: Callable[[], Workshop]) -> dict[str, list[str]]:
    """What every table of the kiosk must hold at the end of its story, whatever happened on the way."""
    return kiosk.live_through(new_workshop(), kiosk.undisturbed_by)
