"""`deploy: cluster`: hands the command to Spark's own spark-submit, waits for the driver in the cluster, and
gives back its result.

The driver leaves what it has printed and its exit code beside the pipeline's ledger. A signal for a graceful
stop becomes a note there.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spark_jobs.config import Project
from spark_jobs.config.lakehouse import Profile
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.storage import read_bytes, remove, write_bytes
from spark_jobs.run import stopping
from spark_jobs.run.result import ORIGIN
from spark_jobs.session.hosts import DRIVER, SUBMITTED, TYPED_BY, Hosts, hosts_of
from spark_jobs.session.install import Installation
from spark_jobs.session.settings import WHERE_THE_STORE_IS, Workload, spark_settings, storage_settings

APPLICATION = re.compile(r"\b(application_\d+_\d+|spark-[0-9a-f]{32}|weir-[\w-]+-driver)\b")
PASSED_ON = (ORIGIN, *WHERE_THE_STORE_IS)
"""What the driver gets of this environment."""
LOOK_SECONDS = 0.5


class DriverLost(Exception):
    """The driver in the cluster has ended, or was never started, without a result."""

    def __init__(self, master: str, application: str | None, log_file: Path) -> None:
        self.master, self.application, self.log_file = master, application, log_file
        who = (
            f"the driver of {application} on {master} has ended without a result"
            if application
            else f"{master} did not take the run"
        )
        todo = (
            f"`yarn logs -applicationId {application}` has its own words"
            if application and master == "yarn"
            else "see its log there"
        )
        super().__init__(
            f"{who}: {todo if application else 'see that it is up'}; {log_file} has those of spark-submit"
        )


@dataclass(frozen=True)
class Submitted:
    """What a driver in the cluster has left: what it printed, its exit code, and the ids of the runs that
    have a report.
    """

    exit_code: int
    stdout: str
    stderr: str
    runs: list[str]


def submit(
    project: Project,
    pipeline: str,
    profile: Profile,
    arguments: list[str],
    typed_by: str,
    say: Callable[[str], None],
) -> Submitted:
    """Run this command of `weir` in the cluster. DriverLost where it leaves no result."""
    installed = Installation(project.root)
    installed.check()
    ticket = f"{Lake(project.lake, pipeline).submitted}/{uuid.uuid4().hex}"
    log_file = project.root / "logs" / pipeline / f"submitted-{Path(ticket).name[:8]}.log"
    log_file.parent.mkdir(parents=True, exist_ok=True)
    with (
        hosts_of(profile, installed, project.root) as hosts,
        tempfile.TemporaryDirectory(prefix="weir-submit-") as scratch,
    ):
        assert hosts is not None
        properties = Path(scratch, "spark.properties")
        properties.touch(mode=0o600)
        settings = driver_settings(
            project, pipeline, profile, installed, hosts, {SUBMITTED: ticket, TYPED_BY: typed_by}
        )
        properties.write_text(
            "".join(f"{name} {_escape(value)}\n" for name, value in settings.items()), encoding="utf-8"
        )
        command = [_spark_submit(), "--deploy-mode", "cluster", "--properties-file", str(properties)]
        environ = {
            **os.environ,
            "JAVA_HOME": str(installed.java().home),
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        }
        if profile.is_yarn:
            command += ["--load-spark-defaults", str(Path(__file__).resolve().parents[2] / DRIVER)]
        else:  # spark-defaults.conf may hold secrets, and Spark would write all of it into a ConfigMap
            environ["SPARK_CONF_DIR"] = scratch
            command += [main_file(hosts)]
        with _spark_submitted([*command, *arguments], environ, log_file) as process:
            _wait(process, profile.master, ticket, log_file, say)
    try:
        return Submitted(**_take_result(f"{ticket}.json"))
    except FileNotFoundError:
        raise DriverLost(profile.master, _application(log_file), log_file) from None


def main_file(hosts: Hosts) -> str:
    """The driver's file where it is in the image."""
    return f"local://{hosts.code}/{DRIVER}"


def driver_settings(
    project: Project,
    pipeline: str,
    profile: Profile,
    installed: Installation,
    hosts: Hosts,
    about: Mapping[str, str],
) -> dict[str, str]:
    """How much there is to do is known only to the driver, when the JVMs have long been started: theirs are
    good for much and little.
    """
    more_jars = installed.component_jars(project.pipelines[pipeline].components | project.components)
    nowhere = Path("/nonexistent")
    settings = spark_settings(
        profile, Workload.STANDING, os.cpu_count() or 1, Path(hosts.jars), nowhere, Path(hosts.log4j),
        Path(hosts.log), more_jars=more_jars, storage=storage_settings(project.roots), hosts=hosts,
    )  # fmt: skip
    environ = {name: os.environ[name] for name in PASSED_ON if os.environ.get(name)}
    environ |= {
        "WEIR_LAKE": project.lake,
        "WEIR_LANDING": project.landing,
        "WEIR_EXPORTS": str(project.exports),
    }
    environ |= {"WEIR_PROFILE": project.lakehouse.profile, **about}
    prefix = "spark.yarn.appMasterEnv." if profile.is_yarn else "spark.kubernetes.driverEnv."
    settings |= {f"{prefix}{name}": value for name, value in environ.items()}
    if more_jars and profile.is_kubernetes:
        settings["spark.jars"] = ",".join(
            f"local://{hosts.jars}/{jar.relative_to(installed.jars)}" for jar in more_jars
        )
    # A second try would be a second run, and the first may take as long as it likes to look for work before
    # it needs Spark.
    if profile.is_yarn:
        settings |= {"spark.yarn.maxAppAttempts": "1", "spark.yarn.am.waitTime": "1h"}
    return {"spark.app.name": f"weir {pipeline}", **settings}


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")


def _spark_submit() -> str:
    package = importlib.util.find_spec("pyspark")
    assert package is not None
    assert package.origin is not None
    return str(Path(package.origin).parent / "bin" / "spark-submit")


@contextmanager
def _spark_submitted(
    command: list[str], environ: dict[str, str], log_file: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Spark's command at work, in a process group of its own: Ctrl-C is for the driver, and comes to it by a
    note.
    """
    with open(log_file, "ab") as log:
        process = subprocess.Popen(
            command, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait()


def _wait(
    process: subprocess.Popen[bytes], master: str, ticket: str, log_file: Path, say: Callable[[str], None]
) -> None:
    application, is_told = None, False
    stopping.begin_work()
    stopping.tell_by(say)
    while process.poll() is None:
        if application is None and (application := _application(log_file)):
            say(
                f"submitted to {master}: {application}; its messages come when it has ended, `weir status`"
                " shows how far it is"
            )
        if stopping.asked_by() and not is_told:
            write_bytes(f"{ticket}.stop", b"")
            is_told = True
        time.sleep(LOOK_SECONDS)
    remove(f"{ticket}.stop")


def _application(log_file: Path) -> str | None:
    found = APPLICATION.search(log_file.read_text(encoding="utf-8", errors="replace"))
    return found[0] if found else None


def _take_result(place: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(read_bytes(place))
    remove(place)
    return result
