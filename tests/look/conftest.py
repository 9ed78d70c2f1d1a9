from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result

from spark_jobs.cli.app import app
from tests.conftest import Workshop
from tests.look.lake import DEPOT, SHOP, write_orders

Weir = Callable[..., Result]


@pytest.fixture
def shop(idle_workshop: Workshop) -> Workshop:
    """Two versions of shop.silver.orders."""
    idle_workshop.write("conf/pipelines/shop.yml", SHOP)
    idle_workshop.write("conf/pipelines/depot.yml", DEPOT)
    write_orders(idle_workshop, (1, "ann@example.org", "Rome", "3.50"), (2, None, "Oslo", "4.00"))
    write_orders(
        idle_workshop,
        (1, "ann@example.com", "Rome", "3.50"),
        (2, None, "Bern", "4.00"),
        (3, "eve@example.org", "Oslo", "9.99"),
    )
    return idle_workshop


@pytest.fixture
def weir(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Weir:
    monkeypatch.setenv("WEIR_HOME", str(shop.root))
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments, **more: CliRunner().invoke(app, arguments, catch_exceptions=False, **more)
