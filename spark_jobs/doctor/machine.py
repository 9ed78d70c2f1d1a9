"""What a run needs of this machine: Java, jars, the archive of classes, the packages of both environments."""

import hashlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from importlib.metadata import distributions
from pathlib import Path

from spark_jobs.config.text import count
from spark_jobs.doctor.finding import BAD, OK, WARNING, Finding, Fix, ok
from spark_jobs.session.install import Installation, fingerprint_of
from spark_jobs.session.jars import (
    COMPONENTS,
    DELTA_JARS,
    Jar,
    JarMismatch,
    JarUnavailable,
    component_paths,
    fetch_jars,
    jar_paths,
)
from spark_jobs.session.java import JavaMissing

MACHINE = "machine"
OLDEST_PYTHON = (3, 11)
NAMED = 3
PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]++)(?! *;)", re.MULTILINE)
"""A line of a lock; not one that is for some systems only."""


def look_at_java(installed: Installation) -> Iterator[Finding]:
    try:
        found = installed.java()
    except JavaMissing as missing:
        yield Finding(MACHINE, "java", BAD, str(missing), "`make setup` takes a JRE from PyPI")
        return
    yield ok(MACHINE, "java", str(found))


def look_at_jars(installed: Installation, components: Iterable[str]) -> Iterator[Finding]:
    """Those of Delta, of what the project needs, and of what is there anyway."""
    wanted = {*components, *installed.installed_components()}
    for component in ("delta", *(name for name in COMPONENTS if name in wanted)):
        paths = (
            dict(zip(jar_paths(installed.jars), DELTA_JARS, strict=True))
            if component == "delta"
            else dict(zip(component_paths(installed.jars, component), COMPONENTS[component], strict=True))
        )
        yield _jars_of(installed, component, paths)


def _jars_of(installed: Installation, component: str, paths: Mapping[Path, Jar]) -> Finding:
    about = f"jars of {component}"
    missing = [path for path in paths if not path.is_file()]
    spoiled = [path for path, jar in paths.items() if path not in missing and _sha256(path) != jar.sha256]
    if not missing and not spoiled:
        return ok(MACHINE, about, f"{count(len(paths), 'jar')} in {installed.jars}, as pinned")
    said = [
        *(f"{path.name} is missing" for path in missing),
        *(f"{path.name} has another checksum than the pinned one" for path in spoiled),
    ]
    command = "weir setup --jars-only" + ("" if component == "delta" else f" --with {component}")
    fix = Fix(f"fetched the jars of {component}", partial(_fetch, installed, component, spoiled))
    return Finding(MACHINE, about, BAD, f"{'; '.join(said)} ({installed.jars})", f"`{command}`", fix)


def _fetch(installed: Installation, component: str, spoiled: Iterable[Path]) -> str | None:
    for path in spoiled:
        path.unlink(missing_ok=True)
    installed.jars.mkdir(parents=True, exist_ok=True)
    more = () if component == "delta" else (component,)
    try:
        fetch_jars(installed.jars, installed.java(), lambda line: None, more)
    except (JarUnavailable, JarMismatch, JavaMissing) as failed:
        return str(failed)
    return None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def look_at_archive(installed: Installation) -> Iterator[Finding]:
    about, stamp = "archive of classes", installed.archive.with_suffix(".txt")
    if not installed.archive.is_file():
        message = f"{installed.archive} is not there: each run starts about two seconds later"
        yield Finding(MACHINE, about, WARNING, message, "`weir setup` records it, in a minute")
        return
    try:
        wanted = fingerprint_of(installed.java())
    except JavaMissing:
        return  # said already
    if stamp.is_file() and stamp.read_text(encoding="utf-8") != wanted:
        message = "it is of another Java, Spark or Delta: runs do not use it, and start later"
        yield Finding(MACHINE, about, WARNING, message, "`weir setup` records it again, in a minute")
        return
    yield ok(MACHINE, about, f"{installed.archive.stat().st_size / 1e6:,.0f} MB")


def look_at_packages(root: Path) -> Iterator[Finding]:
    """Against the locks, where the project has them."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST_PYTHON:
        yield Finding(
            MACHINE, "python", BAD, f"Python {version}", "Weir needs 3.11 or newer: `make clean setup`"
        )
    else:
        yield ok(MACHINE, "python", f"Python {version} in {sys.prefix}")
    lock = root / "requirements" / "spark.txt"
    if lock.is_file():
        yield _packages("Spark's environment", lock, installed_packages(sys.path), BAD)


def look_at_airflow_packages(root: Path) -> Iterator[Finding]:
    folder, lock = root / ".envs" / "airflow", root / "requirements" / "airflow.txt"
    if not folder.is_dir():
        yield ok("airflow", "environment", f"{folder} is not there: Airflow is not used from here")
    elif lock.is_file():
        found = installed_packages(map(str, folder.glob("lib/python3*/site-packages")))
        yield _packages("environment", lock, found, WARNING, "airflow")


def installed_packages(path: Iterable[str]) -> dict[str, str]:
    """By their names as PyPI has them; of several copies the first counts, as for an import."""
    found: dict[str, str] = {}
    for package in distributions(path=list(path)):
        found.setdefault(_plain(package.name), package.version)
    return found


def _packages(about: str, lock: Path, found: Mapping[str, str], state: str, area: str = MACHINE) -> Finding:
    pins = {_plain(name): version for name, version in PIN.findall(lock.read_text(encoding="utf-8"))}
    wrong = [
        f"{name} is {found.get(name) or 'missing'}, locked is {version}"
        for name, version in sorted(pins.items())
        if found.get(name) != version
    ]
    if not wrong:
        return Finding(area, about, OK, f"{count(len(pins), 'package')}, as locked")
    more = f" and {len(wrong) - NAMED:,} more" if len(wrong) > NAMED else ""
    return Finding(area, about, state, f"{'; '.join(wrong[:NAMED])}{more}", "`make setup`")


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
