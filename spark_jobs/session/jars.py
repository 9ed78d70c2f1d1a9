"""Fetches the jars that Spark needs beside its own, once, and holds them to their checksums: three of Delta
always, others by component.

pyspark brings Ivy, so that neither Maven nor an address has to be configured. No dependency trees are taken:
the rest of them are older copies of jars that Spark has itself.
"""

import fcntl
import hashlib
import importlib.util
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
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


def _read_pins() -> dict[str, tuple[Jar, ...]]:
    """The jars of each component, as jars.txt lists them."""
    pinned: dict[str, list[Jar]] = {}
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            component, name, sha256 = line.split()
            organisation, artifact, version = name.split(":")
            pinned.setdefault(component, []).append(Jar(organisation, artifact, version, sha256))
    return {component: tuple(jars) for component, jars in pinned.items()}


COMPONENTS = _read_pins()
"""What a pipeline or a lake may need beside Delta. Each has a folder of its own, since the archive of classes
fits only the class path that it was recorded with.
"""
DELTA_JARS = COMPONENTS.pop("delta")


class JarMismatch(Exception):
    """A jar is not the one that Weir was built with; it has been deleted."""

    def __init__(self, path: Path, expected: str, actual: str) -> None:
        self.path, self.expected, self.actual = path, expected, actual
        super().__init__(
            f"{path} has sha256 {actual}, expected {expected}; it was deleted. Check where your jars come"
            " from and try again."
        )


class JarUnavailable(Exception):
    """A jar could not be fetched."""

    def __init__(self, jar: Jar, folder: Path, output: str) -> None:
        self.jar, self.output = jar, output
        last_lines = "\n  ".join(output.strip().splitlines()[-5:])
        super().__init__(
            f"could not fetch {jar}. Ivy said:\n  {last_lines}\nWithout access to a Maven repository, put"
            f" {jar.name} into {folder} by hand (sha256 {jar.sha256})."
        )


def jar_paths(folder: Path) -> list[Path]:
    """Where Delta's jars are once fetched."""
    return [folder / jar.name for jar in DELTA_JARS]


def component_paths(folder: Path, component: str) -> list[Path]:
    """Where the jars of a component are once fetched."""
    return [folder / component / jar.name for jar in COMPONENTS[component]]


def fetch_jars(
    folder: Path, java: Java, say: Callable[[str], None], components: Collection[str] = ()
) -> list[Path]:
    """Brings what is missing of Delta and these components, verifies everything, and returns the paths."""
    wanted = dict(zip(jar_paths(folder), DELTA_JARS, strict=True))
    for component in components:
        wanted |= dict(zip(component_paths(folder, component), COMPONENTS[component], strict=True))
    missing = {path: jar for path, jar in wanted.items() if not path.exists()}
    for path, jar in missing.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        say(f"fetching {jar.name}")
    if missing:
        fetch(missing, folder, java)
    for path, jar in wanted.items():
        verify_jar(path, jar.sha256)
    return list(wanted)


def verify_jar(path: Path, expected: str) -> None:
    """Deletes the file and raises JarMismatch unless its checksum is the expected one."""
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != expected:
        path.unlink()
        raise JarMismatch(path, expected, actual)


def fetch(jars: Mapping[Path, Jar], folder: Path, java: Java) -> None:
    """All by one call. Into a folder of its own first: a half-written jar never stands
    under its final name.
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as scratch:
        order = Path(scratch, "ivy.xml")
        order.write_text(_order(jars.values()), encoding="utf-8")
        command = [
            str(java.command),
            "-jar",
            str(ivy_jar()),
            "-ivy",
            str(order),
            "-confs",
            "default",
            "-types",
            "jar",
        ]
        command += ["-retrieve", f"{scratch}/[artifact]-[revision].[ext]"]
        try:
            with ivy_alone():
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
            raise JarUnavailable(
                next(iter(jars.values())), folder, f"no answer within {TIMEOUT_SECONDS} seconds"
            ) from timeout
        for path, jar in jars.items():
            fetched = Path(scratch, jar.name)
            if not fetched.exists():
                raise JarUnavailable(jar, path.parent, answer.stdout)
            verify_jar(fetched, jar.sha256)
            fetched.replace(path)


@contextmanager
def ivy_alone() -> Iterator[None]:
    """Waits for the set-up of another project of this user: Ivy does not lock the cache that both share, and
    one of two fails.
    """
    lock = Path.home() / ".ivy2" / "weir.lock"
    lock.parent.mkdir(exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _order(jars: Iterable[Jar]) -> str:
    """What Ivy is to fetch: each jar alone, whatever it says that it needs."""
    lines = [
        f'<dependency org="{jar.organisation}" name="{jar.artifact}" rev="{jar.version}" transitive="false"/>'
        for jar in jars
    ]
    about = '<info organisation="weir" module="jars"/>'
    about += '<configurations defaultconfmapping="default->master"><conf name="default"/></configurations>'
    return f'<ivy-module version="2.0">{about}<dependencies>{"".join(lines)}</dependencies></ivy-module>'


def ivy_jar() -> Path:
    """Ivy as pyspark ships it. pyspark is not imported for that: it would take a second."""
    package = importlib.util.find_spec("pyspark")
    if package is None or package.origin is None:
        raise ModuleNotFoundError(
            "pyspark is not installed in this environment; run `make setup` and use .envs/spark/bin/weir"
        )
    return next(Path(package.origin).parent.glob("jars/ivy-*.jar"))
