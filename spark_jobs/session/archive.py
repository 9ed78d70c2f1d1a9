"""The archive of classes that a run loads (AppCDS). Loading them is much of what a small run does; bench/README.md has the gain.

The JVM ignores an archive that does not fit it, so a stale one costs speed and nothing else.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from spark_jobs.session.install import Installation
from spark_jobs.session.java import Java

RECORD = "WEIR_RECORD_CLASSES"
"""Names the file into which a run's JVM writes its classes when it ends."""


def make_archive(installed: Installation, java: Java, say: Callable[[str], None]) -> None:
    """Run the sample twice in a lake of its own: the second run updates, merges and corrects, and so loads what increments load."""
    stamp = installed.archive.with_suffix(".txt")
    wanted = _fingerprint(java)
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    say("recording the classes that Spark loads, so that runs start faster (about a minute, once)")
    installed.archive.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="weir-setup-") as scratch:
        environ = {**os.environ, "WEIR_HOME": str(installed.root), "WEIR_LAKE": f"{scratch}/lake", "WEIR_LANDING": f"{scratch}/landing"}
        recorded = Path(scratch, "classes.jsa")
        for increment, extra in enumerate(({}, {RECORD: str(recorded)})):
            _weir({**environ, **extra}, "sample", "--increment", str(increment))
            _weir({**environ, **extra}, "run", "retail")
        if recorded.is_file():
            shutil.copyfile(recorded, installed.archive)
        else:
            say("this Java writes no archive of classes: runs start a little slower")
    stamp.write_text(wanted)


def _weir(environ: dict[str, str], *arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", "spark_jobs.cli", *arguments], env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SetupFailed(arguments, done.stderr)


class SetupFailed(Exception):
    def __init__(self, arguments: tuple[str, ...], said: str) -> None:
        self.arguments, self.said = arguments, said
        super().__init__(f"`weir {' '.join(arguments)}` failed while Spark was being prepared:\n{said}")


def _fingerprint(java: Java) -> str:
    return f"{java.home} {java.major} pyspark {version('pyspark')} delta {version('delta-spark')}\n"
