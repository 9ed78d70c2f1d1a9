"""What tests share: one Spark session and one browser for all, and small projects in a temporary folder, run
as `weir run` runs them.

Marks follow from what a test uses: `spark` from the shared session, `system` from a service of its own. Who
starts a process marks the test as `system`: one that does so without the mark fails, so that `make test`
stays quick.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from spark_jobs.config import Project, load_project
from spark_jobs.config.errors import ConfigError
from spark_jobs.config.lakehouse import Profile
from spark_jobs.run import register
from spark_jobs.run.order import RunOrder
from spark_jobs.run.pipeline import RunRequest, run_pipeline
from spark_jobs.run.preview import RunPreview, preview_run
from spark_jobs.run.result import RunResult, Status
from spark_jobs.session.install import Installation
from spark_jobs.session.settings import Workload, spark_settings
from spark_jobs.session.start import spark_session
from tests.airflow.postgres import PostgresMissing, find_binaries, postgres
from tests.processes import WATCH, pytest_runtest_call, pytest_runtest_protocol  # noqa: F401 - hooks

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.kafka.broker import Broker
    from tests.s3.server import S3Server

ROOT = Path(__file__).resolve().parents[1]
PROFILE = Profile.model_validate({"master": "local[2]", "parallel_tables": 2})


def unguarded() -> None:
    """The guard of a test that writes to a ledger or to arrivals of its own, without a lease."""


LONGEST_FIRST = (
    "end_to_end",
    "faults",
    "engines",
    "run",
    "sinks",
    "verify",
    "stateful",
    "kafka",
    "examples",
    "airflow",
    "service",
)
"""Folders in the order in which processes take their files; files that start neither Spark nor Airflow come
last, so that nobody is left alone with a long one at the end.
"""


MARKS = {"spark": ("spark",), "chromium": ("browser", "system")}
MARKS |= dict.fromkeys(("kafka", "s3_server", "database_server", "live", "real_project"), ("system",))
MARKS |= {"first_delivery": ("system",)}  # the shop of the faults: nine tables, for the whole matrix
"""The marks that come with a fixture."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("airflow"):
            item.add_marker("system")
        for name in getattr(item, "fixturenames", ()):
            for mark in MARKS.get(name, ()):
                item.add_marker(mark)
    long = {
        item.path for item in items if item.get_closest_marker("spark") or item.get_closest_marker("airflow")
    }
    folders = {item.path: item.path.parent.name for item in items}
    items.sort(
        key=lambda item: (
            item.path not in long,
            (*LONGEST_FIRST, folders[item.path]).index(folders[item.path]),
        )
    )


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
CHROMIUM_FLAGS = [
    "--no-sandbox", "--headless=new", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-quic",
]  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """In a worker of xdist, a `python -c`: GX imports Spark Connect, which takes that for its own doctests
    and ends the process.
    """
    if hasattr(config, "workerinput"):
        main = sys.modules["__main__"]
        main.__file__ = "-c"
        import great_expectations  # noqa: F401

        del main.__file__  # else the processes that tests start would run it


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session of an always-on stream, shared: starting one takes longer than most tests. It has its whole
    heap at once, and the quick compiler alone: nothing here runs long enough to earn back what the better one
    costs, a fifth of the CPU time.
    """
    installed, log = Installation(ROOT), tmp_path_factory.mktemp("spark") / "spark.log"
    more_jars = installed.component_jars(installed.installed_components())
    log4j = ROOT / "conf" / "log4j2.properties"
    settings = spark_settings(
        PROFILE, Workload.STANDING, 2, installed.jars, installed.archive, log4j, log, more_jars=more_jars
    )
    settings["spark.driver.extraJavaOptions"] += f' "-Xms{PROFILE.driver_memory}" "-XX:TieredStopAtLevel=1"'
    with ExitStack() as stack:
        with WATCH.aside():
            session = stack.enter_context(spark_session("weir tests", settings, installed.java(), log))
        yield session


@pytest.fixture(autouse=True)
def forgotten_tables(request: pytest.FixtureRequest) -> Iterator[None]:
    """Delta remembers every table of the last hour, a megabyte each: a few hundred of the tests' fill the
    session's heap.
    """
    yield
    if "spark" in request.fixturenames:
        spark: SparkSession = request.getfixturevalue("spark")
        spark.sparkContext._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]


@pytest.fixture(scope="session")
def kafka() -> Iterator["Broker"]:
    """A Kafka broker, shared: it starts in seconds, but not in none."""
    from tests.kafka.broker import broker

    with broker() as node:
        yield node


@pytest.fixture(scope="session")
def s3_server() -> Iterator["S3Server"]:
    from tests.s3.server import PROGRAM, s3_server

    if not PROGRAM.is_file():
        pytest.skip(
            "skipped, because there is no S3 server: `make test` builds it, and needs Go or the network for"
            " that"
        )
    with s3_server() as server:
        yield server


@pytest.fixture
def s3(s3_server: "S3Server", monkeypatch: pytest.MonkeyPatch) -> "S3Server":
    """An S3 server, shared, that this process finds."""
    for name, value in s3_server.environ.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture(scope="session")
def chromium() -> Iterator["Browser"]:
    from playwright.sync_api import sync_playwright  # half a second, for few tests

    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine; Debian has it as `chromium`")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def browser(chromium: "Browser") -> Iterator["Browser"]:
    """Pages go with their test: one of Airflow's asks for news as long as it is open, and
    paints what moves.
    """
    yield chromium
    for context in chromium.contexts:
        context.close()


@pytest.fixture(scope="session")
def database_server() -> Iterator[str]:
    """host:port of a PostgreSQL in which everybody on this machine is `weir`."""
    try:
        find_binaries()
    except PostgresMissing as missing:
        pytest.skip(f"skipped, because {missing}")
    with postgres() as url:
        yield url.partition("@")[2].partition("/")[0]


@pytest.fixture(scope="module")
def database(database_server: str, request: pytest.FixtureRequest) -> str:
    """host:port/name of a database of this module's own: what another one leaves behind, a cut batch for
    instance, is not in it.
    """
    host, _, port = database_server.partition(":")
    name = request.module.__name__.rpartition(".")[2]
    subprocess.run(
        [find_binaries() / "createdb", "--host", host, "--port", port, "--username", "weir", name], check=True
    )
    return f"{database_server}/{name}"


@dataclass(frozen=True)
class Workshop:
    """A project in a temporary folder whose runs share the tests' session."""

    root: Path
    spark: SparkSession | None
    lake: str | None = None
    """Where the tables are, if not in the project's folder."""

    @property
    def landing(self) -> Path:
        return self.root / "landing"

    @property
    def project(self) -> Project:
        return load_project(self.root, {})

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def land(self, path: str, text: str | bytes) -> Path:
        return self.write(f"landing/{path}", text)

    def copied(self, root: Path) -> "Workshop":
        """This project in another folder, with its lake and what has landed: for a test that changes what
        others look at as well.
        """
        shutil.copytree(self.root, root, symlinks=True)
        return replace(self, root=root)

    def run(
        self, pipeline: str, *select: str, layer: str | None = None, files_per_batch: int | None = None
    ) -> RunResult:
        """As `weir run`. Whatever a test is about, `weir plan` must have seen whether there is work."""
        has_work = self._has_work(pipeline) if not select and layer is None else None
        result = self.run_beside_others(pipeline, *select, layer=layer, files_per_batch=files_per_batch)
        assert has_work in (
            None,
            result.status is not Status.NOTHING_TO_DO,
        ), f"the plan said {has_work}, the run {result.status}"
        return result

    def run_beside_others(
        self, pipeline: str, *select: str, layer: str | None = None, files_per_batch: int | None = None
    ) -> RunResult:
        """The same where another run may do the work between the question and the run."""
        return run_pipeline(
            self.project,
            pipeline,
            PROFILE,
            RunRequest(select, layer, files_per_batch=files_per_batch),
            self._start,
        )

    def plan(self, pipeline: str) -> RunPreview:
        """As `weir plan`, by the clock that the test gives its runs."""
        return preview_run(self.project, pipeline, vars(register)["datetime"].now(UTC))

    def _has_work(self, pipeline: str) -> bool | None:
        """None where the configuration is refused: the run refuses it as well."""
        try:
            return self.plan(pipeline).exit_code == 0
        except ConfigError:
            return None

    def rows(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """The rows of a table, as a reader outside Spark sees them, in a fixed order."""
        pipeline, layer, name = table.split(".", 2)
        found = DeltaTable(f"{self.lake or self.root / 'lake'}/{pipeline}/{layer}/{name}").to_pyarrow_table(
            columns=list(columns) or None
        )
        return sorted((tuple(row.values()) for row in found.to_pylist()), key=repr)

    def versions(self) -> dict[str, int]:
        """Every table below the lake, the ledger's too, with its version."""
        logs = (self.root / "lake").rglob("_delta_log")
        return {str(log.parent.relative_to(self.root)): DeltaTable(log.parent).version() for log in logs}

    @contextmanager
    def _start(self, order: RunOrder, consumed: dict[str, dict[str, Any]]) -> Iterator[SparkSession]:
        assert self.spark is not None, "this test must not start Spark"
        yield self.spark


class SharedSession:
    """The tests' session for an always-on stream, which it outlives."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark, self.increments = spark, 0

    @contextmanager
    def start(self, order: RunOrder, consumed: dict[str, dict[str, Any]]) -> Iterator[SparkSession]:
        yield self.spark

    def forget_tables(self) -> None: ...
    def end(self) -> None: ...


@pytest.fixture
def idle_workshop(tmp_path: Path) -> Workshop:
    """A project without a Spark session: a run that needs one fails."""
    return _empty_workshop(tmp_path, None)


@pytest.fixture(scope="session")
def new_workshop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Workshop]:
    """Makes workshops that several tests look at."""
    return lambda: _empty_workshop(tmp_path_factory.mktemp("workshop"), spark)


def _empty_workshop(root: Path, spark: SparkSession | None) -> Workshop:
    shutil.copytree(ROOT / "conf" / "profiles", root / "conf" / "profiles")
    workshop = Workshop(root, spark)
    # a second for each run
    workshop.write("conf/lakehouse.yml", "landing: landing\nlake: lake\nprofile: local\nkeep_reports: 0\n")
    return workshop


@pytest.fixture
def workshop(idle_workshop: Workshop, spark: SparkSession) -> Workshop:
    return Workshop(idle_workshop.root, spark)


@pytest.fixture
def shipped(tmp_path: Path, spark: SparkSession) -> Workshop:
    """The shipped configuration over a lake and a landing zone of the test's own."""
    for folder in ("conf", "expectations"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return Workshop(tmp_path, spark)


def weir_environ(**extra: str) -> dict[str, str]:
    """The environment of a `weir` subprocess: nothing of the caller's own Weir."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}, **extra}
