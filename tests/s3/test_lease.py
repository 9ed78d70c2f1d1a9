"""The lease of a lake on S3, on a real server, with a short term."""

import subprocess
import sys
import threading
import time
from typing import Any

import obstore
import pytest
from obstore.exceptions import GenericError

from spark_jobs.lake import object_lease, storage
from spark_jobs.lake.lease import STREAM, Lease, LeaseHeld, LeaseLost, hold_lease, holder_of, open_lease
from tests.conftest import weir_environ
from tests.s3.server import S3Server

TERM, RENEW = 3.0, 0.2
HOLD = """
import sys
from spark_jobs.lake import object_lease
from spark_jobs.lake.lease import hold_lease
object_lease.RENEW_SECONDS = 0.2
with hold_lease(sys.argv[1], "shop", "weir run"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def short_term(monkeypatch: pytest.MonkeyPatch, s3: S3Server) -> None:
    for name, seconds in {
        "TERM_SECONDS": TERM,
        "RENEW_SECONDS": RENEW,
        "LOOK_SECONDS": 0.05,
        "MARGIN_SECONDS": 0.3,
    }.items():
        monkeypatch.setattr(object_lease, name, seconds)
    monkeypatch.setattr(object_lease, "REQUEST_SECONDS", 0.2)


@pytest.fixture
def place(s3: S3Server) -> str:
    return f"s3a://{s3.new_bucket()}/lake/shop/_weir/lease"


def other_process(place: str, s3: S3Server) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", HOLD, place]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=weir_environ(**s3.environ)
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def check_until(lease: Lease, end: float) -> None:
    while time.monotonic() < end:
        lease.check()
        time.sleep(0.05)


def test_a_second_holder_is_refused_and_told_who_holds_it(place: str, s3: S3Server) -> None:
    process = other_process(place, s3)
    try:
        with (
            pytest.raises(
                LeaseHeld, match=f"process {process.pid} on .* since .*weir run.*wait for it to end"
            ),
            hold_lease(place, "shop", "x"),
        ):
            pass
        assert (holder_of(place) or {})["pid"] == str(process.pid)
    finally:
        process.communicate()

    assert holder_of(place) is None
    with hold_lease(place, "shop", "weir run") as lease:
        lease.check()
    assert holder_of(place) is None


def test_a_killed_holder_is_waited_for_and_no_longer(place: str, s3: S3Server) -> None:
    process = other_process(place, s3)
    process.kill()
    process.communicate()
    started = time.monotonic()

    with hold_lease(place, "shop", "weir run") as lease:
        assert time.monotonic() - started >= TERM - RENEW, "it might have been alive"
        lease.check()


def test_a_holder_that_was_taken_for_dead_writes_nothing_more(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_lease(place, "shop", "weir run") as sleeper:
        with monkeypatch.context() as asleep:
            asleep.setattr(object_lease.ObjectLease, "_renew", lambda self, ending: None)
            sleeper.take()
        sleeper.check()
        with hold_lease(place, "shop", "weir run") as second:
            second.check()
            with pytest.raises(LeaseLost):
                sleeper.check()
            sleeper.give_back()
            second.check()
            assert holder_of(place) is not None, "what the sleeper gives back is no longer its own"


def test_a_holder_that_cannot_reach_the_store_stops_before_its_term_ends(place: str, s3: S3Server) -> None:
    with open_lease(place, "shop", "weir run") as lease:
        lease.take()
        s3.kill()
        started = time.monotonic()
        try:
            with pytest.raises(LeaseLost):
                check_until(lease, started + TERM)
        finally:
            s3.start()


def test_a_short_outage_costs_nobody_the_lease(place: str, s3: S3Server) -> None:
    with open_lease(place, "shop", "weir run") as lease:
        lease.take()
        s3.kill()
        time.sleep(2 * RENEW)
        s3.start()
        time.sleep(TERM)
        lease.check()


def test_whoever_finds_a_stream_waits_for_a_gap(place: str) -> None:
    with open_lease(place, "shop", STREAM) as stream:
        stream.take()
        threading.Timer(0.5, stream.give_back).start()
        with hold_lease(place, "shop", "weir run") as lease:
            lease.check()
            with pytest.raises(LeaseHeld):
                stream.take(patience=0.0)


def test_of_many_who_want_it_at_once_one_has_it(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_lease, "TERM_SECONDS", 60.0)  # none of them dies, however slow this machine is
    held, most, lock = 0, 0, threading.Lock()

    def hold() -> None:
        nonlocal held, most
        with open_lease(place, "shop", STREAM) as lease:
            lease.take()
            with lock:
                held, most = held + 1, max(most, held + 1)
            time.sleep(0.05)
            with lock:
                held -= 1

    threads = [threading.Thread(target=hold) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == 1


def test_a_write_whose_answer_was_lost_is_known_as_ones_own(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_lease(place, "shop", "weir run") as lease:
        lease.take()
        put = obstore.put

        def put_twice(*arguments: Any, **named: Any) -> Any:
            put(*arguments, **named)
            return put(*arguments, **named)

        monkeypatch.setattr(obstore, "put", put_twice)
        time.sleep(TERM)
        lease.check()


def test_a_renewal_whose_answer_was_lost_does_not_end_a_healthy_run(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_lease(place, "shop", "weir run") as lease:
        lease.take()
        put, lost = obstore.put, threading.Event()

        def put_and_lose_the_answer(*arguments: Any, **named: Any) -> Any:
            found = put(*arguments, **named)
            if not lost.is_set():
                lost.set()
                raise GenericError("the connection was reset")
            return found

        monkeypatch.setattr(obstore, "put", put_and_lose_the_answer)
        assert lost.wait(TERM)
        time.sleep(TERM)
        lease.check()
        assert (holder_of(place) or {})["what"] == "weir run"


def test_a_lease_that_was_taken_without_an_answer_is_taken_at_once_by_the_same_process(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = obstore.put

    def put_and_lose_the_answer(*arguments: Any, **named: Any) -> Any:
        put(*arguments, **named)
        raise GenericError("the connection was reset")

    with open_lease(place, "shop", STREAM) as lease:
        with monkeypatch.context() as lossy:
            lossy.setattr(obstore, "put", put_and_lose_the_answer)
            with pytest.raises(storage.StorageFailed):
                lease.take()
        started = time.monotonic()
        lease.take()
        assert time.monotonic() - started < TERM
        lease.check()


def test_a_holder_that_slept_for_longer_than_its_term_writes_nothing(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = time.clock_gettime
    with open_lease(place, "shop", "weir run") as lease:
        with monkeypatch.context() as asleep:
            asleep.setattr(object_lease.ObjectLease, "_renew", lambda self, ending: None)
            lease.take()
        lease.check()
        slept = {time.CLOCK_BOOTTIME: 3600.0}  # CLOCK_MONOTONIC stands still meanwhile
        monkeypatch.setattr(time, "clock_gettime", lambda clock: read(clock) + slept.get(clock, 0.0))
        with pytest.raises(LeaseLost):
            lease.check()


def test_what_a_store_says_is_one_line(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError):
        storage.read_bytes(f"s3a://{s3.new_bucket()}/nothing")
    with pytest.raises(OSError, match="nobucket") as failed:
        storage.read_bytes("s3a://nobucket-at-all/x")
    assert len(str(failed.value).splitlines()) == 1
