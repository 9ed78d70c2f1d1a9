"""The archive of a run's environment, for hosts that have none: Weir's Python packages, Spark among them, and
the jars.

Made once by `weir pack`, into .envs/environment.tar. Where it is unpacked a Python of this version must be on
PATH; all else is inside. Nothing of the project is: neither its files nor its secrets.
"""

import hashlib
import io
import os
import sys
import tarfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path

from spark_jobs.session.install import Installation, NotInstalled

LOCK = Path(__file__).resolve().parents[2] / "requirements" / "spark.txt"
VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
PYTHON = f"""#!/bin/sh
# Python of this host with the packages of this archive, and with the project that stands beside it.
here=$(cd "$(dirname "$0")/.." && pwd)
export PYTHONPATH="$here/packages:$(dirname "$here")/project${{PYTHONPATH:+:$PYTHONPATH}}"
exec "${{WEIR_PYTHON:-{VERSION}}}" "$@"
"""
PACKAGES, SPARK_JARS, JARS, COMMAND = "packages", "packages/pyspark/jars", "jars", "bin/python"


def archive_path(installed: Installation) -> Path:
    return installed.root / ".envs" / "environment.tar"


def make_environment(installed: Installation) -> Path:
    """The archive, re-created unless it has just these packages and jars."""
    installed.check()
    archive = archive_path(installed)
    stamp, wanted = archive.with_suffix(".txt"), _fingerprint(installed)
    if archive.is_file() and stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return archive
    scratch = archive.with_name(f"{archive.name}.{os.getpid()}")
    try:
        with tarfile.open(scratch, "w", dereference=True) as tar:  # jars and libraries hardly get smaller
            _add_text(tar, COMMAND, PYTHON)
            for folder, name in _packages():
                tar.add(folder / name, f"{PACKAGES}/{name}", filter=_without_tests)
            tar.add(installed.jars, JARS)
        scratch.replace(archive)
    finally:
        scratch.unlink(missing_ok=True)
    stamp.write_text(wanted, encoding="utf-8")
    return archive


def known_environment(installed: Installation) -> Path:
    """The archive as `weir pack` has left it; NotInstalled where it is missing, or of other packages and jars
    than this environment.
    """
    archive = archive_path(installed)
    stamp = archive.with_suffix(".txt")
    if not archive.is_file() or not stamp.is_file():
        raise NotInstalled(
            f"{archive} is not there: `weir pack` makes it, once, of what the hosts of a YARN cluster need"
        )
    if stamp.read_text(encoding="utf-8") != _fingerprint(installed):
        raise NotInstalled(
            f"{archive} has other packages or jars than this environment; run `weir pack` again"
        )
    return archive


def _packages() -> Iterator[tuple[Path, str]]:
    """The folders and modules of the locked packages, each with where it stands."""
    seen = set()
    for package in _distributions():
        folder = Path(str(package.locate_file("")))
        for name in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            if name not in seen and not name.endswith(".pth"):
                seen.add(name)
                yield folder, name


def _without_tests(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """A quarter of all files are the tests of numpy, scipy, pandas and others."""
    return None if entry.isdir() and entry.name.endswith("/tests") else entry


def _distributions() -> list[Distribution]:
    """Those of the lock, without tools for tests; all that are installed where there is no lock. Weir itself
    goes with the project.
    """
    if not LOCK.is_file():
        return [package for package in distributions() if package.name != "weir"]
    names = [
        line.partition("==")[0].partition("[")[0]
        for line in LOCK.read_text(encoding="utf-8").splitlines()
        if "==" in line
    ]
    found = []
    for name in names:
        try:
            found.append(distribution(name.strip()))
        except PackageNotFoundError:  # of another platform
            continue
    return found


def _fingerprint(installed: Installation) -> str:
    packages = sorted(f"{package.name}=={package.version}" for package in _distributions())
    jars = sorted(str(path.relative_to(installed.jars)) for path in installed.jars.rglob("*.jar"))
    return hashlib.sha256("\n".join([VERSION, PYTHON, *packages, *jars]).encode()).hexdigest() + "\n"


def _add_text(tar: tarfile.TarFile, name: str, text: str) -> None:
    content = text.encode()
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o755
    tar.addfile(entry, io.BytesIO(content))
