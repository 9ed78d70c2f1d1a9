"""Fetches the jars that Spark needs beside its own, once, and holds them to their checksums: three of Delta always, others by component.

pyspark brings Ivy, so that neither Maven nor an address has to be configured. No dependency trees are taken: the rest of them are older
copies of jars that Spark has itself.
"""

import hashlib
import importlib.util
import subprocess
import tempfile
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from spark_jobs.session.java import Java

TIMEOUT_SECONDS = 600


@dataclass(frozen=True)
class Jar:
    organisation: str
    artifact: str
    version: str
    sha256: str

    @property
    def name(self) -> str:
        return f"{self.artifact}-{self.version}.jar"

    def __str__(self) -> str:
        return f"{self.organisation}:{self.artifact}:{self.version}"


DELTA_JARS = (
    Jar("io.delta", "delta-spark_4.2_2.13", "4.4.0", "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead"),
    Jar("io.delta", "delta-storage", "4.4.0", "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc"),
    Jar("io.delta", "delta-kernel-api", "4.4.0", "ee9b5a14ac3b7efdff4d61a58478fe8eb0e5a3fbca43889dca7290795fe79a11"),
)
COMPONENTS: dict[str, tuple[Jar, ...]] = {
    "kafka": (
        Jar("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0", "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705"),
        # Delegation tokens of Kerberos. Of 4.2.0 none was published; the classes that the source asks for are the same in 4.0.0.
        Jar(
            "org.apache.spark",
            "spark-token-provider-kafka-0-10_2.13",
            "4.0.0",
            "f2be3b76f9e6cbe63379d4e4e0dc14f59dbf056ae2ad16ff15ac108004c86767",
        ),
        Jar("org.apache.kafka", "kafka-clients", "3.9.2", "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8"),
        Jar("org.apache.commons", "commons-pool2", "2.13.1", "f77a5060d6936a9144023584232f9de3f2248f1abfe156e9d31795f18770674f"),
    ),
    "postgres": (Jar("org.postgresql", "postgresql", "42.7.10", "cab1cd67cfa25c25de4348e532298028288a877ba01c77d1619fe45416193387"),),
}
"""What a pipeline may need beside Delta, in the versions that Spark 4.2 is built with. Each has a folder of its own, since the archive of
classes fits only the class path that it was recorded with.
"""


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
            f"could not fetch {jar}. Ivy said:\n  {last_lines}\n"
            f"Without access to a Maven repository, put {jar.name} into {folder} by hand (sha256 {jar.sha256})."
        )


def jar_paths(folder: Path) -> list[Path]:
    """Where Delta's jars are once fetched."""
    return [folder / jar.name for jar in DELTA_JARS]


def component_paths(folder: Path, component: str) -> list[Path]:
    """Where the jars of a component are once fetched."""
    return [folder / component / jar.name for jar in COMPONENTS[component]]


def fetch_jars(folder: Path, java: Java, say: Callable[[str], None], components: Collection[str] = ()) -> list[Path]:
    """Brings what is missing of Delta and these components, verifies everything, and returns the paths."""
    wanted = dict(zip(jar_paths(folder), DELTA_JARS, strict=True))
    for component in components:
        wanted |= dict(zip(component_paths(folder, component), COMPONENTS[component], strict=True))
    for path, jar in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            say(f"fetching {jar.name}")
            _fetch(jar, path.parent, java)
        verify_jar(path, jar.sha256)
    return list(wanted)


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
        command += ["-dependency", jar.organisation, jar.artifact, jar.version, "-retrieve", f"{scratch}/[artifact]-[revision].[ext]"]
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
