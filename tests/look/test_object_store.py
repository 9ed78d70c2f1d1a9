"""The same commands over a lake on S3, on a real server: read by delta-rs with the profile's root."""

import json

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from typer.testing import CliRunner

from spark_jobs.cli.app import app
from spark_jobs.lake.delta_table import options_of
from tests.conftest import Workshop
from tests.look.lake import SHOP
from tests.s3.server import S3Server


def test_tables_of_an_object_store_are_looked_at_by_the_profile_that_names_it(
    s3: S3Server, idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = f"s3a://{s3.new_bucket()}/lake"
    idle_workshop.write("conf/pipelines/shop.yml", SHOP)
    idle_workshop.write("conf/profiles/store.yml", f"master: local[2]\nlake: {lake}\n")
    for city in ("Rome", "Oslo"):
        rows = pa.table({"id": [1], "email": ["ann@example.org"], "city": [city]})
        path = f"{lake}/shop/silver/orders"
        write_deltalake(path, rows, mode="overwrite", storage_options=options_of(path))
    monkeypatch.setenv("WEIR_HOME", str(idle_workshop.root))

    def weir(*arguments: str) -> dict[str, object]:
        done = CliRunner().invoke(app, [*arguments, "--profile", "store", "--json"], catch_exceptions=False)
        assert done.exit_code == 0, done.stderr
        found: dict[str, object] = json.loads(done.stdout)
        return found

    sql = "select email, city from shop.silver.orders@v0"
    assert weir("query", sql)["rows"] == [{"email": "•••", "city": "Rome"}]
    assert weir("show", "shop.silver.orders")["version"] == 1
    assert weir("diff", "shop.silver.orders", "--from", "v0")["columns"] == {"city": 1}
    assert CliRunner().invoke(app, ["query", sql, "--json"]).exit_code == 3, (
        "without it, the lake of this machine"
    )
