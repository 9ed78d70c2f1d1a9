"""The shop of the report's tests, and a browser to look at its pages with."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.report.lake_of_runs import LakeOfRuns

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox", "--headless=new", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-quic",
]  # fmt: skip


@pytest.fixture
def shop(tmp_path: Path) -> LakeOfRuns:
    """Set up, and nothing has run yet."""
    shop = LakeOfRuns(tmp_path)
    shop.set_up()
    return shop


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine; Debian has it as `chromium`")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()
