"""The doctor at a lake on S3, on a real server."""

import json

import pytest
from typer.testing import CliRunner

from spark_jobs.cli.app import app
from spark_jobs.doctor.finding import BAD, OK
from spark_jobs.doctor.places import PROBE, look_at_places
from spark_jobs.lake import storage
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import hold_lease
from tests.cli.test_usage import PIPELINE
from tests.conftest import ROOT, Workshop
from tests.s3.server import S3Server


@pytest.fixture
def store(s3: S3Server, idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> str:
    """The root of a lake on S3, in a project with one pipeline."""
    lake = f"s3a://{s3.new_bucket()}/lake"
    idle_workshop.write("conf/lakehouse.yml", f"landing: landing\nlake: {lake}\nprofile: local\n")
    idle_workshop.write("conf/pipelines/shop.yml", PIPELINE)
    idle_workshop.write("conf/totals.sql", "SELECT count(*) AS orders FROM silver.orders\n")
    idle_workshop.landing.mkdir()
    (idle_workshop.root / ".envs").symlink_to(ROOT / ".envs")
    monkeypatch.setenv("WEIR_HOME", str(idle_workshop.root))
    return lake


def test_a_lake_that_can_be_written_to_is_well_and_nothing_is_left_there(
    store: str, idle_workshop: Workshop
) -> None:
    found = {finding.about: finding for finding in look_at_places(idle_workshop.project)}

    assert found["lake"].state == found["clock"].state == OK
    assert found["lake"].message == f"{store} can be written to"
    assert not [name for name in storage.names_in(store) if name.startswith(PROBE)]


def test_a_bucket_that_is_not_there_is_named(idle_workshop: Workshop, store: str) -> None:
    elsewhere = store.replace("/lake", "x/lake")
    idle_workshop.write("conf/lakehouse.yml", f"landing: landing\nlake: {elsewhere}\nprofile: local\n")

    found = {finding.about: finding for finding in look_at_places(idle_workshop.project)}

    assert found["lake"].state == BAD
    assert f"nothing can be written to {elsewhere}" in found["lake"].message
    assert "address and keys" in found["lake"].remedy


def test_the_command_knows_the_jars_and_the_lease_of_such_a_lake(store: str) -> None:
    with hold_lease(Lake(store, "shop").lease(), "shop", "weir run"):
        done = CliRunner().invoke(app, ["doctor", "shop", "--json"], catch_exceptions=False)

    found = {(one["area"], one["about"]): one for one in json.loads(done.stdout)["findings"]}
    assert ("machine", "jars of s3") in found
    assert found[("shop", "lease")]["message"].startswith("held by weir run, process ")
    assert found[("shop", "tables")]["state"] == "ok"
