"""What `weir setup` puts beside the environments: jars, and the archive of classes that a run loads
(AppCDS). Loading them is much of what a small run does; bench/README.md has the gain.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from spark_jobs.session.jars import COMPONENTS, component_paths, jar_paths
from spark_jobs.session.java import Java, find_java

RECORD = "WEIR_RECORD_CLASSES"
"""Names the file into which a run's JVM writes its classes when it ends."""
SAMPLE, PROFILE = Path("conf", "pipelines", "retail.yml"), Path("conf", "profiles", "local.yml")
LAKEHOUSE = "landing: landing\nlake: lake\nprofile: local\n"
CONFIG_ERROR = 2


class NotInstalled(Exception):
    """What a run needs beside Python is not there yet."""


@dataclass(frozen=True)
class Installation:
    """The places of what a run needs beside Python, below the project's .envs folder."""

    root: Path

    @property
    def jars(self) -> Path:
        return self.root / ".envs" / "jars"

    @property
    def archive(self) -> Path:
        return self.root / ".envs" / "classes.jsa"

    def check(self) -> None:
        """NotInstalled unless the jars are there."""
        missing = [path.name for path in jar_paths(self.jars) if not path.is_file()]
        if missing:
            raise NotInstalled(
                f"{', '.join(missing)} missing in {self.jars}; run `make setup`, or `weir setup`, once"
            )

    def component_jars(self, components: Collection[str]) -> list[Path]:
        """The jars of these components. NotInstalled where one is not there."""
        found = {component: component_paths(self.jars, component) for component in sorted(components)}
        lacking = [
            component for component, paths in found.items() if not all(path.is_file() for path in paths)
        ]
        if lacking:
            command = " ".join(["weir setup", *(f"--with {component}" for component in lacking)])
            raise NotInstalled(
                f"the pipeline needs the jars of {' and '.join(lacking)}; run `{command}`, once"
            )
        return [path for paths in found.values() for path in paths]

    def installed_components(self) -> list[str]:
        return [
            component
            for component in COMPONENTS
            if all(path.is_file() for path in component_paths(self.jars, component))
        ]

    def java(self) -> Java:
        return find_java(os.environ, self.root / ".envs" / "jre")


def make_archive(installed: Installation, java: Java, say: Callable[[str], None]) -> None:
    """Run the sample twice in a project of its own: the second run updates, merges and corrects, and so loads
    what increments load.
    """
    stamp = installed.archive.with_suffix(".txt")
    wanted = fingerprint_of(java)
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    installed.archive.unlink(missing_ok=True)
    if (installed.root / SAMPLE).is_file():
        say("recording the classes that Spark loads, so that runs start faster (about a minute, once)")
        _record(installed, say)
    else:
        say(f"there is no {SAMPLE}, so that no classes are recorded: runs start a little slower")
    stamp.write_text(wanted)


def _record(installed: Installation, say: Callable[[str], None]) -> None:
    with tempfile.TemporaryDirectory(prefix="weir-setup-") as scratch:
        home, recorded = Path(scratch, "project"), Path(scratch, "classes.jsa")
        copy_project(installed.root, home)
        environ = recording_environ(home, os.environ)
        for increment, extra in enumerate(({}, {RECORD: str(recorded)})):
            _weir({**environ, **extra}, "sample", "--increment", str(increment))
            if _weir({**environ, **extra}, "run", "retail") == CONFIG_ERROR:
                say(
                    f"{SAMPLE} cannot be used (`weir check` says why), so that no classes are recorded: runs"
                    " start a little slower"
                )
                return
        if recorded.is_file():
            shutil.copyfile(recorded, installed.archive)
        else:
            say("this Java writes no archive of classes: runs start a little slower")


def copy_project(root: Path, home: Path) -> None:
    """Write a project beside the real one: its reports, logs and tables are no one's, and go with it."""
    for folder in ("conf", "expectations"):
        if (root / folder).is_dir():
            shutil.copytree(root / folder, home / folder)
    (home / "conf" / "lakehouse.yml").write_text(LAKEHOUSE, encoding="utf-8")
    if not (home / PROFILE).is_file():
        (home / PROFILE).parent.mkdir(exist_ok=True)
        (home / PROFILE).write_text("master: local[*]\n", encoding="utf-8")
    (home / ".envs").symlink_to(root / ".envs")


def recording_environ(home: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without what it says of the caller's own project, as in WEIR_PROFILE or
    WEIR_REPORTS.
    """
    return {name: value for name, value in environ.items() if not name.startswith("WEIR_")} | {
        "WEIR_HOME": str(home)
    }


def _weir(environ: dict[str, str], *arguments: str) -> int:
    """0, or 2 where the configuration cannot be used. SetupFailed for any other end."""
    done = subprocess.run(
        [sys.executable, "-m", "spark_jobs.cli", *arguments],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, CONFIG_ERROR):
        raise SetupFailed(arguments, done.stderr)
    return done.returncode


class SetupFailed(Exception):
    def __init__(self, arguments: tuple[str, ...], said: str) -> None:
        self.arguments, self.said = arguments, said
        super().__init__(f"`weir {' '.join(arguments)}` failed while Spark was being prepared:\n{said}")


def fingerprint_of(java: Java) -> str:
    return f"{java.home} {java.major} pyspark {version('pyspark')} delta {version('delta-spark')}\n"
