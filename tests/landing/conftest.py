from pathlib import Path

import pytest

from tests.landing.landing_zone import LandingZone


@pytest.fixture
def zone(tmp_path: Path) -> LandingZone:
    return LandingZone(tmp_path)
