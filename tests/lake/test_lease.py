import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from spark_jobs.lake.lease import LeaseHeld, LeaseLost, hold_lease, holder_of

HOLD = """
import sys
from spark_jobs.lake.lease import hold_lease
with hold_lease(sys.argv[1], "shop", "weir run"):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(path: Path) -> "subprocess.Popen[str]":
    """A process that holds the lease until its input closes."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.system
def test_a_second_holder_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    process = holder(tmp_path / "lease")
    try:
        told = f"process {process.pid} on .* since .*weir run.*wait for it to end"
        with (
            pytest.raises(LeaseHeld, match=told) as refused,
            hold_lease(str(tmp_path / "lease"), "shop", "weir run"),
        ):
            pass
        assert refused.value.holder["pid"] == str(process.pid)
    finally:
        process.communicate()


@pytest.mark.system
def test_a_killed_holder_leaves_the_lease_free(tmp_path: Path) -> None:
    process = holder(tmp_path / "lease")
    process.kill()
    process.communicate()
    with hold_lease(str(tmp_path / "lease"), "shop", "weir run") as lease:
        lease.check()


def test_a_holder_whose_file_was_removed_notices_before_it_writes(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    with hold_lease(str(path), "shop", "weir run") as lease:
        path.unlink()
        with pytest.raises(LeaseLost, match="was removed while this run held it"):
            lease.check()
        with hold_lease(str(path), "shop", "weir run") as second:
            second.check()
            with pytest.raises(LeaseLost):
                lease.check()


LEAVE_CHILD = """
import subprocess, sys
from spark_jobs.lake.lease import hold_lease
with hold_lease(sys.argv[1], "shop", "weir run") as lease:
    subprocess.Popen([sys.executable, "-c", "import sys; print('up', flush=True); sys.stdin.read()"], pass_fds=(lease.descriptor,))
"""


@pytest.mark.system
def test_a_child_that_inherited_the_lease_keeps_it_when_its_parent_is_gone(tmp_path: Path) -> None:
    path = str(tmp_path / "lease")
    left_behind, until_closed = os.pipe()
    parent = subprocess.Popen(
        [sys.executable, "-c", LEAVE_CHILD, path], stdin=left_behind, stdout=subprocess.PIPE, text=True
    )
    os.close(left_behind)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "up\n"
    parent.wait()

    with (
        pytest.raises(LeaseHeld, match="its JVM is ending, try again in a moment"),
        hold_lease(path, "shop", "weir run"),
    ):
        pass
    os.close(until_closed)
    parent.stdout.read()  # ends when the child has ended
    with hold_lease(path, "shop", "weir run"):
        assert os.path.exists(path)


def test_somebody_who_only_asks_who_holds_a_lease_is_not_taken_for_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    with hold_lease(str(path), "shop", "weir run"):
        pass
    asking = os.open(path, os.O_RDONLY)
    fcntl.flock(asking, fcntl.LOCK_SH)  # as holder_of does, for an instant
    threading.Timer(0.05, os.close, [asking]).start()

    with hold_lease(str(path), "shop", "weir run"):
        assert holder_of(str(path)) is not None
    assert holder_of(str(path)) is None
