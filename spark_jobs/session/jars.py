"""Fetches the three Delta jars that Spark needs, once, and holds them to their checksums.

pyspark brings Ivy, so that neither Maven nor an address has to be configured. Nothing else of Delta's dependency tree is taken: the rest
are older copies of jars that Spark has itself.
"""

import hashlib
import importlib.util
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from spark_jobs.session.java import Java

DELTA_VERSION = "4.4.0"
TIMEOUT_SECONDS = 600


@dataclass(frozen=True)
class Jar:
    """A jar of the organisation io.delta."""

    artifact: str
    sha256: str

    @property
    def name(self) -> str:
        return f"{self.artifact}-{DELTA_VERSION}.jar"


DELTA_JARS = (
    Jar("delta-spark_4.2_2.13", "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead"),
    Jar("delta-storage", "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc"),
    Jar("delta-kernel-api", "ee9b5a14ac3b7efdff4d61a58478fe8eb0e5a3fbca43889dca7290795fe79a11"),
)


class JarMismatch(Exception):
    """A jar is not the one that Weir was built with; it has been deleted."""

    def __init__(self, path: Path, expected: str, actual: str) -> None:
        self.path, self.expected, self.actual = path, expected, actual
        super().__init__(f"{path} has sha256 {actual}, expected {expected}; it was deleted. Check where your jars come from and try again.")


class JarUnavailable(Exception):
    """A jar could not be fetched."""

    def __init__(self, jar: Jar, folder: Path, output: str) -> None:
        self.jar, self.output = jar, output
        last_lines = "\n  ".join(output.strip().splitlines()[-5:])
        super().__init__(
            f"could not fetch io.delta:{jar.artifact}:{DELTA_VERSION}. Ivy said:\n  {last_lines}\n"
            f"Without access to a Maven repository, put {jar.name} into {folder} by hand (sha256 {jar.sha256})."
        )


def jar_paths(folder: Path) -> list[Path]:
    """Where the jars are once fetched."""
    return [folder / jar.name for jar in DELTA_JARS]


def fetch_jars(folder: Path, java: Java, say: Callable[[str], None]) -> list[Path]:
    """Brings what is missing, verifies everything, and returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for jar in DELTA_JARS:
        if not (folder / jar.name).exists():
            say(f"fetching {jar.name}")
            _fetch(jar, folder, java)
        verify_jar(folder / jar.name, jar.sha256)
    return jar_paths(folder)


def verify_jar(path: Path, expected: str) -> None:
    """Deletes the file and raises JarMismatch unless its checksum is the expected one."""
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != expected:
        path.unlink()
        raise JarMismatch(path, expected, actual)


def _fetch(jar: Jar, folder: Path, java: Java) -> None:
    """Into a folder of its own first: a half-written jar never stands under its final name."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as scratch:
        fetched = Path(scratch, jar.name)
        command = [str(java.command), "-jar", str(ivy_jar()), "-notransitive", "-confs", "default", "-types", "jar"]
        command += ["-dependency", "io.delta", jar.artifact, DELTA_VERSION, "-retrieve", f"{scratch}/[artifact]-[revision].[ext]"]
        try:
            answer = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as timeout:
            raise JarUnavailable(jar, folder, f"no answer within {TIMEOUT_SECONDS} seconds") from timeout
        if not fetched.exists():
            raise JarUnavailable(jar, folder, answer.stdout)
        verify_jar(fetched, jar.sha256)
        fetched.replace(folder / jar.name)


def ivy_jar() -> Path:
    """Ivy as pyspark ships it. pyspark is not imported for that: it would take a second."""
    package = importlib.util.find_spec("pyspark")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("pyspark is not installed in this environment; run `make setup` and use .envs/spark/bin/weir")
    return next(Path(package.origin).parent.glob("jars/ivy-*.jar"))
