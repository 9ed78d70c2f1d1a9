"""Files over which their reader ends its process."""

import os
import signal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc

from spark_jobs.bronze import apart, records
from spark_jobs.bronze.apart import try_apart
from spark_jobs.bronze.arrived import UnreadableFile
from tests.bronze.arrive import read, refusal

pytestmark = pytest.mark.system


def end_by(number: int) -> None:
    os.kill(os.getpid(), number)


def test_what_ends_its_process_is_refused_by_the_name_of_the_signal() -> None:
    with pytest.raises(UnreadableFile, match="ends with SIGSEGV"):
        try_apart(lambda: end_by(signal.SIGSEGV))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_somebody_else_ends_says_nothing_of_the_file(number: int) -> None:
    try_apart(lambda: end_by(number))


def test_an_error_is_left_to_whoever_does_it_afterwards() -> None:
    try_apart(lambda: [][1])


def test_it_holds_no_lock_of_the_process_that_it_comes_from(tmp_path: Path) -> None:
    with open(tmp_path / "lease", "wb") as lease:
        try_apart(lambda: (os.fstat(lease.fileno()), os.abort()))


def test_a_wait_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "PATIENCE", 1)
    try_apart(signal.pause)


def test_an_orc_file_over_which_its_reader_dies_concerns_itself_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orc.write_table(pa.table({"id": [1, 2]}), str(tmp_path / "a.orc"))
    assert len(read(tmp_path / "a.orc", "orc")) == 2
    monkeypatch.setattr(records, "_try_reading", lambda *_: end_by(signal.SIGABRT))
    assert "its reader ends with SIGABRT" in refusal(read(tmp_path / "a.orc", "orc"))
