"""docs/faults.md explains every failpoint, and names tests that are there. Its matrices are made by
test_matrix.py and test_kill.py.
"""

import re

from spark_jobs.lake.failpoints import POINTS
from tests.conftest import ROOT
from tests.faults.page import FILE

PAGE = FILE.read_text(encoding="utf-8")


def test_every_point_is_explained() -> None:
    assert re.findall(r"^\| `(\w+\.\w+)` \|", PAGE, re.MULTILINE) == list(POINTS)


def test_tests_that_the_page_names_are_there() -> None:
    sources = "".join(
        file.read_text(encoding="utf-8") for file in sorted((ROOT / "tests").rglob("test_*.py"))
    )
    named = re.findall(r"`(test_\w+)`", PAGE)

    assert len(named) > 10
    assert [name for name in named if f"def {name}(" not in sources] == []
