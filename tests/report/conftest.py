"""The shop of the report's tests."""

from pathlib import Path

import pytest

from tests.report.lake_of_runs import LakeOfRuns


@pytest.fixture
def shop(tmp_path: Path) -> LakeOfRuns:
    """Set up, and nothing has run yet."""
    shop = LakeOfRuns(tmp_path)
    shop.set_up()
    return shop
