"""A lake and a landing zone on a real S3 server. It is killed and started again, and so are runs: the tables
are those of a disk.
"""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_jobs.lake import failpoints, object_lease, storage
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import hold_lease
from spark_jobs.run.maintain import maintain_pipeline
from spark_jobs.run.rebuild import rebuild_tables
from spark_jobs.run.result import Status
from spark_jobs.session.settings import storage_settings
from spark_jobs.verify.pipeline import verify_pipeline
from tests.conftest import PROFILE, Workshop
from tests.faults import shop
from tests.s3.server import KEY, SECRET, S3Server, upload

pytestmark = pytest.mark.system

OUTAGE_SECONDS, TERM_SECONDS = 2.0, 8.0


@pytest.fixture
def shop_on_s3(first_delivery: Workshop, s3: S3Server, tmp_path: Path) -> Iterator[Workshop]:
    """An empty lake in a bucket of its own. The tests' session is told of the server, as a session of a run's
    own would be.
    """
    root = tmp_path / "home"
    shutil.copytree(
        first_delivery.root, root, symlinks=True, ignore=shutil.ignore_patterns("lake", "landing", "logs")
    )
    bucket = f"s3a://{s3.new_bucket()}"
    workshop = Workshop(root, first_delivery.spark, f"{bucket}/lake")
    workshop.write(
        "conf/lakehouse.yml",
        f"landing: {bucket}/landing\nlake: {bucket}/lake\nprofile: local\nkeep_reports: 1\n",
    )
    assert workshop.spark is not None
    hadoop = workshop.spark.sparkContext._jsc.hadoopConfiguration()
    told = {
        name.removeprefix("spark.hadoop."): value
        for name, value in storage_settings([bucket], s3.environ).items()
    }
    told |= {"fs.s3a.access.key": KEY, "fs.s3a.secret.key": SECRET}
    for name, value in told.items():
        hadoop.set(name, value)
    yield workshop
    for name in told:
        hadoop.unset(name)


def move_landed(workshop: Workshop) -> None:
    """What was landed on the disk goes into the bucket, and leaves the disk."""
    upload(workshop.landing, workshop.project.landing)
    shutil.rmtree(workshop.landing)


def test_tables_are_those_of_a_disk_whatever_is_killed(
    shop_on_s3: Workshop, s3: S3Server, expected: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.land_first(shop_on_s3)
    move_landed(shop_on_s3)
    outages: list[threading.Timer] = []

    def fail(point: str, table: str, step: str) -> None:
        if point == "write.before" and table in ("bronze.orders", "silver.orders", "gold.per_hour"):
            s3.kill()
            outages.append(threading.Timer(OUTAGE_SECONDS, s3.start))
            outages[-1].start()

    with failpoints.deciding(fail):
        first = shop_on_s3.run("shop")
    assert first.exit_code == 0, first.message
    assert len(outages) == 3

    shop.land_second(shop_on_s3)
    move_landed(shop_on_s3)
    code, said = shop.end_weir(
        shop.start_weir(shop_on_s3, "run", "shop", armed="write.after:silver.orders=kill")
    )
    assert code == -9, said
    # the run that was killed is waited for, in this test not for half a minute
    with monkeypatch.context() as patch:
        patch.setattr(object_lease, "TERM_SECONDS", TERM_SECONDS)
        with hold_lease(Lake(shop_on_s3.project.lake, "shop").lease(), "shop", "weir test"):
            pass
    second = shop_on_s3.run("shop")
    assert second.exit_code == 0, second.message
    shop.assert_converged(shop_on_s3, expected)

    project, start = shop_on_s3.project, shop_on_s3._start
    assert maintain_pipeline(project, "shop").status is Status.OK
    assert verify_pipeline(project, "shop", PROFILE, start=lambda: start(None, {})).exit_code == 0  # type: ignore[arg-type]
    assert rebuild_tables(project, "shop", PROFILE, ["silver.lines"], start=start).exit_code == 0
    assert storage.files_below(Lake(project.lake, "shop").stage) == set()
    shop.assert_converged(shop_on_s3, expected)
    written = [
        file
        for folder in ("logs", "reports")
        for file in (shop_on_s3.root / folder).rglob("*")
        if file.is_file()
    ]
    assert written
    assert [
        file.name for file in written if SECRET in file.read_text(encoding="utf-8", errors="replace")
    ] == []


def test_a_store_that_is_gone_fails_the_run_with_its_cause_and_the_next_one_goes_on(
    shop_on_s3: Workshop, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.land_first(shop_on_s3)
    move_landed(shop_on_s3)
    monkeypatch.setattr(storage.locate, "__defaults__", (0.5,))
    s3.kill()
    try:
        failed = shop_on_s3.run_beside_others("shop")
    finally:
        s3.start()

    assert failed.status is Status.FAILED
    assert f"{shop_on_s3.lake}/shop/_weir/" in failed.message
    assert "rerun to resume" in failed.message
    assert len(failed.message.splitlines()) == 1
    assert shop_on_s3.plan("shop").exit_code == 0
