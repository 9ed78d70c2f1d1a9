"""What is said of a JVM that has ended: once, with the cause and what was at work."""

import subprocess
import sys
from pathlib import Path

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from spark_jobs.config.lakehouse import Profile
from spark_jobs.failure import first_line
from spark_jobs.session import jvm_end
from spark_jobs.session.install import Installation
from spark_jobs.session.settings import Workload, spark_settings
from spark_jobs.session.start import JavaNotStarted, spark_session

pytestmark = pytest.mark.system
ROOT = Path(__file__).resolve().parents[2]
GONE = ConnectionRefusedError(111, "Connection refused")


@pytest.fixture(autouse=True)
def no_other_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' own session, if there is one, is not what these are about."""
    monkeypatch.setattr(jvm_end, "_current", None)


@pytest.fixture
def log_file(tmp_path: Path) -> Path:
    file = tmp_path / "run.log"
    file.write_text("java.lang.OutOfMemoryError: of a run before\n")
    return file


def ended(how: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", how])
    process.wait()
    return process


KILL = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"


def test_an_end_is_told_with_what_was_at_work_to_every_table_alike(log_file: Path) -> None:
    jvm_end.watch(ended(KILL), log_file, log_file.stat().st_size)
    jvm_end.note_work("bronze.orders", "batch 0: 'orders/1.json'")
    jvm_end.note_work("silver.orders", "batch 3")
    jvm_end.note_done("bronze.orders")
    jvm_end.note_work("silver.lines", "batch 1, judging total_in_range")

    told = first_line(GONE)
    jvm_end.note_done("silver.orders")

    assert (
        told
        == "Spark's process has ended while at work on silver.orders (batch 3) and silver.lines (batch 1,"
        " judging total_in_range): it was killed (SIGKILL), as the system does when memory runs out"
    )
    assert first_line(GONE) == told


@pytest.mark.parametrize(
    ("how", "log", "cause"),
    [
        (
            "raise SystemExit(52)",
            "ERROR: java.lang.OutOfMemoryError: Java heap space",
            "its memory ran out (OutOfMemoryError)",
        ),
        (
            "raise SystemExit(50)",
            "Uncaught: java.lang.StackOverflowError",
            "its stack ran out (StackOverflowError)",
        ),
        ("raise SystemExit(7)", "WARN: nothing to see", "with exit code 7"),
        ("import os; os.abort()", "", "by SIGABRT"),
    ],
)
def test_the_cause_is_found_in_its_last_words_and_its_exit_code(
    how: str, log: str, cause: str, log_file: Path
) -> None:
    start = log_file.stat().st_size
    log_file.write_text(f"{log_file.read_text()}{log}\n")
    jvm_end.watch(ended(how), log_file, start)

    assert first_line(GONE).startswith(f"Spark's process has ended: {cause}")


def test_an_error_of_a_jvm_that_is_well_is_told_as_it_is(log_file: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    jvm_end.watch(process, log_file, 0)

    told = first_line(KeyError("no such thing"))
    jvm_end.end_watch()
    process.communicate(b"\n")

    assert told == "KeyError: 'no such thing'"
    assert first_line(KeyError("later")) == "KeyError: 'later'"


def test_a_jvm_that_is_still_ending_is_waited_for(log_file: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", f"input(); {KILL}"], stdin=subprocess.PIPE)
    jvm_end.watch(process, log_file, log_file.stat().st_size)
    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.flush()

    assert first_line(Py4JError("functions does not exist in the JVM")).startswith(
        "Spark's process has ended: it was killed"
    )
    process.stdin.close()


@pytest.mark.spark
def test_a_java_that_cannot_start_is_told_in_its_own_words(tmp_path: Path) -> None:
    installed, log_file = Installation(ROOT), tmp_path / "logs" / "run.log"
    profile = Profile.model_validate({"master": "local[1]", "driver_memory": "999999g"})
    settings = spark_settings(
        profile,
        Workload.SMALL,
        1,
        installed.jars,
        installed.archive,
        ROOT / "conf/log4j2.properties",
        log_file,
    )

    told = (
        r"could not be started: Error occurred during initialization of VM: .*; see driver_memory .* log:"
        r" .*run\.log"
    )
    with (
        pytest.raises(JavaNotStarted, match=told),
        spark_session("never", settings, installed.java(), log_file),
    ):
        pass
