"""`weir stream`: the increments of `weir run`, one after the other in one warm session, until somebody stops
it.

The same tables, checkpoints and ledger as scheduled runs, and the lease only while an increment is at work:
runs, releases, replays and upkeep come in between, and either way can follow the other at any time. A source
that keeps nothing (a socket) is read by a query that stays open (open_queries.py), and so are relays,
which have no increments; a stream with one keeps the lease.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from spark_jobs.config import Project
from spark_jobs.config.errors import Refused
from spark_jobs.config.lakehouse import Profile
from spark_jobs.failure import first_line, keep_trace_outside
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import STREAM, Lease, LeaseHeld, open_lease
from spark_jobs.landing.stirring import Stirring
from spark_jobs.run import stopping
from spark_jobs.run.page import close_killed_runs
from spark_jobs.run.pipeline import RunRequest, run_increment, run_pipeline
from spark_jobs.run.plan import make_plan
from spark_jobs.run.result import RunResult, Start, Status
from spark_jobs.stream.health import Heartbeat, StreamState
from spark_jobs.stream.trigger import ONCE, Trigger

if TYPE_CHECKING:
    from spark_jobs.stream.open_queries import OpenQueries, Relays

GAP, IDLE = 0.2, 1.0
"""Seconds in which others can take the lease after an increment, and after which a stream that found nothing
looks again.
"""
GLANCE = 0.1
"""Seconds after which it looks at the times of folders, where something that has landed shows first."""
FIRST_WAIT, LONGEST_WAIT = 2.0, 300.0
"""Seconds until an increment that failed, or is blocked, is tried again: doubled each time."""
RENEW_AFTER = 2_000
"""Increments of one session: Spark keeps a little of every query that it has run."""
REPORT_EVERY = 300.0
"""Seconds."""
ALL_FILES = 100_000


@dataclass(frozen=True)
class Orders:
    """How to stream: when to look, how many failures in a row are borne (None: all), and whom to tell of an
    increment with work.
    """

    trigger: Trigger
    give_up_after: int | None = None
    on_increment: Callable[[RunResult], None] = lambda result: None


class Session(Protocol):
    """The Spark session of a stream (session.py): `increments` it has served, how one gets it, and how it
    ends.
    """

    increments: int

    @property
    def start(self) -> Start: ...
    def forget_tables(self) -> None: ...
    def end(self) -> None: ...


def stream_pipeline(
    project: Project,
    name: str,
    profile: Profile,
    orders: Orders,
    pulse: Heartbeat,
    session: Session | None = None,
) -> RunResult:
    """Run increments until a stop is asked for: then all is well."""
    if orders.trigger.ends_by_itself:
        files = ALL_FILES if orders.trigger.name == ONCE else None
        return run_pipeline(
            project, name, profile, RunRequest(files_per_batch=files), session.start if session else None
        )
    lake = Lake(project.lake, name)
    try:
        with (
            open_lease(lake.stream_lease(), name, STREAM) as standing,
            open_lease(lake.lease(), name, STREAM) as lease,
        ):
            standing.take(patience=0)
            return _Stream(project, name, profile, orders, pulse, lease, session or _standing()).run()
    except LeaseHeld as held:
        return RunResult(name, Status.LEASED, f"{held}; `weir status {name}` shows how it is doing")


def _standing() -> Session:
    from spark_jobs.stream.session import StreamSession  # pyspark: not for `weir stream --help`

    return StreamSession()


class _Stream:
    def __init__(
        self,
        project: Project,
        name: str,
        profile: Profile,
        orders: Orders,
        pulse: Heartbeat,
        lease: Lease,
        session: Session,
    ) -> None:
        self.project, self.name, self.profile, self.orders, self.pulse, self.lease = (
            project,
            name,
            profile,
            orders,
            pulse,
            lease,
        )
        self.session = session
        self.live: OpenQueries | Relays | None = None
        self.reported: float | None = None
        self.wait = FIRST_WAIT
        self.has_closed = False

    def run(self) -> RunResult:
        try:
            while True:
                began = time.monotonic()
                folders = Stirring(self.project.landing, self.project.pipelines[self.name])
                result = self._look()
                pause = self._weigh(result, time.monotonic() - began)
                if self.live is None:
                    # last: a session that has failed has ended by now, and writes no more
                    self.lease.give_back()
                if stopping.asked_by() or pause is None:
                    break
                if result.status is Status.NOTHING_TO_DO and not self.orders.trigger.pause:
                    _pause_until(folders, pause)
                else:
                    stopping.pause(pause)
        finally:
            self._end_session(Status.OK, "the stream has ended")
        said = (
            result.message
            if pause is None
            else f"stopped by {stopping.asked_by()} after {self.pulse.now.increments} increments"
        )
        self.pulse.tell(mood=StreamState.ENDED, message=said)
        status = result.status if pause is None else Status.OK
        return replace(result, status=status, message=said)

    def _look(self) -> RunResult:
        """One increment, or the finding that there is nothing to do or another command at work."""
        try:
            was_outside = self.lease.take(patience=0)
        except LeaseHeld as held:
            return RunResult(self.name, Status.LEASED, str(held))
        try:
            if was_outside:
                self.session.forget_tables()
            self.pulse.tell(mood=StreamState.WORKING)
            if not self.has_closed:
                close_killed_runs(self.project, self.name, self.lease)
                self.has_closed = True
            self._keep_live()
            if relays := self.project.pipelines[self.name].relays:
                return RunResult(self.name, Status.NOTHING_TO_DO, f"relays are open: {', '.join(relays)}")
            project = self.project if self._wants_report() else _without_reports(self.project)
            return run_increment(project, self.name, self.profile, self.lease, start=self.session.start)
        except Refused as error:
            return RunResult(self.name, Status(error.status), str(error))
        except Exception as error:  # noqa: BLE001 - of a query that stays open: it fails like an increment, and is opened again
            log_file = keep_trace_outside(self.project.root, self.name, "the stream", error)
            return RunResult(self.name, Status.FAILED, f"{first_line(error)}; log: {log_file}")

    def _keep_live(self) -> None:
        """Open the queries that stay open, or raise what has ended one of them."""
        pipeline = self.project.pipelines[self.name]
        if self.live is not None:
            self.live.check()
        elif pipeline.relays:
            from spark_jobs.stream.open_queries import Relays

            plan = make_plan(pipeline, self.project.conf, Lake(self.project.lake, self.name))
            self.live = Relays(
                self.project, self.profile, plan, self.lease, self.session.start, self.orders.trigger.every
            )
        elif pipeline.live_sources:
            from spark_jobs.stream.open_queries import OpenQueries

            plan = make_plan(pipeline, self.project.conf, Lake(self.project.lake, self.name))
            self.live = OpenQueries(self.project, self.profile, plan, self.lease, self.session.start)

    def _end_session(self, status: Status, message: str) -> None:
        live, self.live = self.live, None
        try:
            if live is not None:
                live.end(status, message)
        except Exception as error:  # noqa: BLE001 - the JVM is gone, and its queries with it
            keep_trace_outside(self.project.root, self.name, "the stream", error)
        self.session.end()

    def _wants_report(self) -> bool:
        """A page tells of a run, and takes a second: one in a while is enough."""
        return self.reported is None or time.monotonic() - self.reported >= REPORT_EVERY

    def _weigh(self, result: RunResult, seconds: float) -> float | None:
        """Say how it went, and how many seconds to wait; None where there is no use in going on."""
        if result.report:
            self.reported = time.monotonic()
        if result.run_id:
            self.orders.on_increment(result)
        if self.session.increments >= RENEW_AFTER:
            self._end_session(Status.OK, "the session is renewed")
        match result.status:
            case Status.OK | Status.NOTHING_TO_DO | Status.STOPPED:
                return self._go_on(result, seconds)
            case Status.LEASED:
                self.pulse.tell(mood=StreamState.OUTSIDE, message=result.message)
                return IDLE
            case Status.BLOCKED:
                self.pulse.tell(mood=StreamState.BLOCKED, message=result.message, failures=0)
                return self._longer_wait()
            case Status.CONFIG_ERROR | Status.USAGE_ERROR:
                return None
            case _:
                return self._after_failure(result)

    def _go_on(self, result: RunResult, seconds: float) -> float:
        self.wait = FIRST_WAIT
        worked = result.status is Status.OK
        known = self.pulse.now
        last = datetime.now(UTC) if worked else known.last_increment_at
        self.pulse.tell(
            mood=StreamState.WAITING,
            message=result.message,
            failures=0,
            increments=known.increments + worked,
            last_increment_at=last,
        )
        return max(GAP if worked else IDLE, self.orders.trigger.pause.total_seconds() - seconds)

    def _after_failure(self, result: RunResult) -> float | None:
        """A new session next time: whatever has failed may have taken this one with it."""
        self._end_session(result.status, result.message)
        failures = self.pulse.now.failures + 1
        self.pulse.tell(mood=StreamState.FAILING, message=result.message, failures=failures)
        if self.orders.give_up_after is not None and failures >= self.orders.give_up_after:
            return None
        return self._longer_wait()

    def _longer_wait(self) -> float:
        pause, self.wait = self.wait, min(self.wait * 2, LONGEST_WAIT)
        return pause


def _pause_until(folders: Stirring, seconds: float) -> None:
    """Wait, but no longer than until something lands or a stop is asked for."""
    for _ in range(round(seconds / GLANCE)):
        if stopping.asked_by() or folders.has_landed():
            return
        stopping.pause(GLANCE)


def _without_reports(project: Project) -> Project:
    return replace(project, lakehouse=project.lakehouse.model_copy(update={"keep_reports": 0}))
