"""The archive of classes that a run loads (AppCDS). Loading them is much of what a small run does;
bench/README.md has the gain.

The JVM ignores an archive that does not fit it, so a stale one costs speed and nothing else.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

from spark_jobs.session.install import Installation
from spark_jobs.session.java import Java

RECORD = "WEIR_RECORD_CLASSES"
"""Names the file into which a run's JVM writes its classes when it ends."""
SAMPLE, PROFILE = Path("conf", "pipelines", "retail.yml"), Path("conf", "profiles", "local.yml")
LAKEHOUSE = "landing: landing\nlake: lake\nprofile: local\n"
CONFIG_ERROR = 2


def make_archive(installed: Installation, java: Java, say: Callable[[str], None]) -> None:
    """Run the sample twice in a project of its own: the second run updates, merges and corrects, and so loads
    what increments load.
    """
    stamp = installed.archive.with_suffix(".txt")
    wanted = _fingerprint(java)
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


def _fingerprint(java: Java) -> str:
    return f"{java.home} {java.major} pyspark {version('pyspark')} delta {version('delta-spark')}\n"
