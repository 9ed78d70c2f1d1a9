"""The shop's files, once through the local profile: what every other engine and storage has to come to."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from spark_jobs.sample.write import write_sample
from tests.conftest import ROOT, Workshop, weir_environ

WEIR = str(Path(sys.executable).with_name("weir"))
ORDERS, INCREMENTS, BLANKS = 1_000, 2, 4 * 1024
"""Orders of the first delivery, deliveries, and blanks behind every order: a driver reads no file of more
than 4 MB by itself, so that Python on the executors reads this one.
"""
CLOCKS_AND_RUNS = {
    "_file_modified_at",
    "file_modified_at",
    "_arrived_at",
    "_processed_at",
    "arrived_at",
    "set_aside_at",
    "first_seen_at",
    "run_id",
}
"""What no two loads of the same files have in common: when a file was put where it lies and registered, and a
row was written, and by which run.
"""

PATIENCE_SECONDS = 600

Tables = dict[str, list[str]]


@dataclass(frozen=True)
class Shop:
    """The shipped configuration with landed files, and the tables that the local profile makes of them."""

    workshop: Workshop
    made: dict[str, Tables]

    def tables(self, pipeline: str) -> Tables:
        if pipeline not in self.made:
            result = self.workshop.run(pipeline)
            assert result.exit_code == 0, result.message
            self.made[pipeline] = tables_below(str(self.workshop.root / "lake"), pipeline)
        return self.made[pipeline]

    def project(self, folder: Path) -> Path:
        """A project with a lake of its own over the same landed files."""
        for name in ("conf", "expectations"):
            shutil.copytree(ROOT / name, folder / name)
        (folder / ".envs").symlink_to(ROOT / ".envs")
        (folder / "landing").symlink_to(self.workshop.landing)
        return folder


@pytest.fixture(scope="session")
def shop(new_workshop: Callable[[], Workshop]) -> Shop:
    workshop = new_workshop()
    for folder in ("conf", "expectations"):
        shutil.copytree(ROOT / folder, workshop.root / folder, dirs_exist_ok=True)
    for increment in range(INCREMENTS):
        write_sample(workshop.landing, orders=ORDERS, increment=increment)
    for file in (workshop.landing / "retail" / "orders").iterdir():
        file.write_text(
            "".join(f"{line}{' ' * BLANKS}\n" for line in file.read_text(encoding="utf-8").splitlines()),
            encoding="utf-8",
        )
    said = ((2, '"cat", "dog"'), (3, '"dog", "dog"'), (40, '"owl"'), (4, '"cat"'))
    lines = [f'{{"at": "2024-05-01T12:{minute:02}:00Z", "words": [{words}]}}' for minute, words in said]
    workshop.land(
        "word_count/words/words.json", "".join(f"{line}{' ' * BLANKS * ORDERS}\n" for line in lines)
    )
    return Shop(workshop, {})


def tables_below(lake: str, pipeline: str, names: list[str] | None = None) -> Tables:
    """The rows of every table, those of set-aside rows included, in a fixed order. Where the lake is no
    folder, `names` are its tables.
    """
    folder = Path(lake, pipeline)
    found = names or [str(log.parent.relative_to(folder)) for log in folder.glob("[!_]*/*/_delta_log")]
    rows = {name: DeltaTable(f"{lake}/{pipeline}/{name}").to_pyarrow_table().to_pylist() for name in found}
    return {name: sorted(repr(_without_clocks(row)) for row in rows[name]) for name in sorted(rows)}


def assert_same_tables(found: Tables, expected: Tables) -> None:
    """Row for row, but for the columns of CLOCKS_AND_RUNS, in structs as well."""
    assert list(found) == list(expected)
    assert len(expected) > 3
    for name, rows in expected.items():
        assert len(found[name]) == len(rows), name
        assert found[name] == rows, name


def _without_clocks(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_clocks(part) for name, part in value.items() if name not in CLOCKS_AND_RUNS}
    return [_without_clocks(part) for part in value] if isinstance(value, list) else value


@dataclass
class Watched:
    """A `weir` command at work, and the command lines that any process has had meanwhile."""

    process: subprocess.Popen[str]
    command_lines: set[str]

    def until(self, happens: Callable[[], Any]) -> Any:
        """What comes of it. The command must not end before, and not take for ever."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            self.command_lines |= command_lines()
            if found := happens():
                return found
            assert self.process.poll() is None, self.process.communicate()
            if time.monotonic() > deadline:
                self.process.kill()
                pytest.fail(f"it did not happen within {PATIENCE_SECONDS} seconds")
            time.sleep(0.1)

    def end(self) -> tuple[int, str]:
        """Its exit code and all that it said."""
        while self.process.poll() is None:
            self.command_lines |= command_lines()
            time.sleep(0.5)
        assert self.process.stdout is not None
        return self.process.returncode, self.process.stdout.read()


def start_weir(environ: Mapping[str, str], *arguments: str) -> Watched:
    process = subprocess.Popen(
        [WEIR, *arguments], env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return Watched(process, set())


def command_lines() -> set[str]:
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found.add((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def environ_of(project: Path, profile: str, **extra: str) -> dict[str, str]:
    return {**weir_environ(WEIR_HOME=str(project), WEIR_PROFILE=profile, **extra), "PATH": os.environ["PATH"]}
