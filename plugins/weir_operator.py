"""The base of Weir's Airflow tasks: runs one `weir` command in the Spark environment, shows its progress and
returns its JSON result.

Exit codes decide what Airflow does next. 0 (done), 3 (nothing to do) and, for runs, 4 (a batch is blocked)
are results. 2 (configuration), 4 and 6 (stopped) fail at once, because a retry would meet the same files, or
go against the person who stopped it; but what `make down` has stopped goes on after the next start, in the
same try, and so does a command without a batch to finish, which ends by the signal. 1 (engine failure) and 5
(another run holds the pipeline) are worth a retry.
"""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowRescheduleException
from weir_assets import announce_nothing
from weir_process import Finished, end_group, follow, start

Result = dict[str, Any]

DONE, BLOCKED, LEASED, STOPPED = (0, 3), 4, 5, 6
# A command that has no batch to finish (plan, maintain, report), or does not listen yet, ends by the signal.
ASKED_TO_END = (STOPPED, -signal.SIGTERM)
FINAL = {2: "configuration error", BLOCKED: "data blocked by quality", STOPPED: "stopped"}
PASSING = {1: "engine failure", LEASED: "another run holds the lease"}
# Airflow kills a task that it has asked to end after 5: what is left by then is ended before, and the next
# run goes on
GRACE_SECONDS = 4.0
GOING_DOWN = "Airflow is going down, and this task goes on after its next start"
TABLE_ENDED = re.compile(r"[a-z]+\.\S+ +(failed|blocked)\b")
LEASE_WAIT_SECONDS = 300.0
LEASE_POLLS = 60


class WeirFailed(AirflowException):
    """A command failed in a way that a retry may fix. `result` is what it said of itself."""

    def __init__(self, message: str, result: Result | None = None) -> None:
        super().__init__(message)
        self.result = result or {}


class WeirFailedForGood(AirflowFailException, WeirFailed):
    """A command failed, and would fail again: Airflow does not retry."""


class WeirOperator(BaseOperator):
    """One task of a pipeline. What a person typed into the form reaches the command as single arguments,
    never through a shell.
    """

    ui_color = "#cfe8ef"

    def __init__(
        self,
        *,
        pipeline: str,
        root: str,
        grace_seconds: float = GRACE_SECONDS,
        lease_wait_seconds: float = LEASE_WAIT_SECONDS,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline
        self.root = root
        self.grace_seconds = grace_seconds
        self.lease_wait_seconds = lease_wait_seconds
        self._child: subprocess.Popen[str] | None = None

    def pre_execute(self, context: Context) -> None:
        announce_nothing(context)

    def weir(self, context: Context, arguments: Sequence[str], also: Collection[int] = ()) -> Result:
        """The result of the command; WeirFailed where it failed. `also` are exit codes that are results here
        beside 0 and 3.

        A pipeline that another process holds is waited for: what a killed task has left behind ends by
        itself, when its batch is done.
        """
        argv = [weir_command(Path(self.root)), *arguments, "--json"]
        waited_until = time.monotonic() + self.lease_wait_seconds
        while True:
            if is_going_down():
                self._go_on_later(f"{' '.join(argv[1:])} was not started")
            finished = self._call(context, argv)
            if finished.exit_code in ASKED_TO_END and is_going_down():
                self._go_on_later(f"{' '.join(argv[1:])}: {_said(finished)}")
            if finished.exit_code < 0 and arguments[0] == "run" and not is_going_down():
                self._list_killed(context)
            if finished.exit_code != LEASED or time.monotonic() >= waited_until:
                return judge(argv, finished, also)
            pause = self.lease_wait_seconds / LEASE_POLLS
            self.log.info("%s; trying again in %.0f s", _said(finished), pause)
            time.sleep(pause)

    def _go_on_later(self, why: str) -> NoReturn:
        """Ends the task without a failure: a retry would be one less for what fails, and a pipeline may have
        none.
        """
        self.log.warning("%s: %s", why, GOING_DOWN)
        raise AirflowRescheduleException(datetime.now(UTC))  # type: ignore[no-untyped-call]

    def _call(self, context: Context, argv: Sequence[str]) -> Finished:
        try:
            self._child = start(argv, Path(self.root), {"WEIR_ORIGIN": origin(context)})
        except OSError as error:
            message = (
                f"cannot start {argv[0]}: {error}. Run `make setup`, or name the command in WEIR_COMMAND."
            )
            raise WeirFailedForGood(message) from error
        try:
            return follow(self._child, by_level(self.log), self.grace_seconds)
        finally:
            end_group(self._child, self.grace_seconds)

    def _list_killed(self, context: Context) -> None:
        """A run that was killed, by the system perhaps, could not write its page: it is made here, so that
        the list of runs has it.
        """
        finished = self._call(context, [weir_command(Path(self.root)), "report", self.pipeline, "--json"])
        if finished.exit_code:
            self.log.warning(
                "the report of the run that was killed could not be written: %s", _said(finished)
            )

    def on_kill(self) -> None:
        """Says nothing: Airflow calls it in a signal handler, and the line being logged at that moment holds
        the logger's lock.
        """
        if self._child is not None:
            end_group(self._child, self.grace_seconds)


def by_level(log: Any) -> Callable[[str], None]:
    """Logs the lines of a command at the level that they have: Airflow's filter of levels finds warnings and
    errors. What follows an error explains it.
    """
    has_failed = False

    def say(line: str) -> None:
        nonlocal has_failed
        has_failed = has_failed or line.startswith("error: ")
        ended = TABLE_ENDED.match(line)
        if has_failed or (ended and ended[1] == "failed"):
            log.error("%s", line)
        elif line.startswith("warning: ") or ended:
            log.warning("%s", line)
        else:
            log.info("%s", line)

    return say


def is_going_down() -> bool:
    """Whether `make down` is at work, which asks loads to stop: not a person's will to end this run, but a
    pause of it.
    """
    home = os.environ.get("AIRFLOW_HOME")
    return home is not None and Path(home, "going_down.json").exists()


def weir_command(root: Path) -> str:
    """The command of the Spark environment, or the one that WEIR_COMMAND names."""
    return os.environ.get("WEIR_COMMAND") or str(root / ".envs" / "spark" / "bin" / "weir")


def origin(context: Context) -> str:
    """By what a run was started, for the ledger and the quality tab."""
    instance: Any = context.get("ti")
    if instance is None:
        return ""
    return json.dumps(
        {
            "dag": instance.dag_id,
            "run": instance.run_id,
            "task": instance.task_id,
            "try": instance.try_number,
        },
        separators=(",", ":"),
    )


def judge(argv: Sequence[str], finished: Finished, also: Collection[int] = ()) -> Result:
    """The result of a command that went well; otherwise the exception that tells Airflow whether to try
    again.
    """
    result = read_result(finished.last_line)
    code = finished.exit_code
    if result is not None and (code in DONE or code in also):
        return result
    reason = (
        f"was ended by signal {-code}"
        if code < 0
        else f"ended with {code} ({FINAL.get(code) or PASSING.get(code) or 'no result'})"
    )
    message = f"{' '.join(argv[1:])} {reason}: {_said(finished)}"
    raise WeirFailedForGood(message, result) if code in FINAL else WeirFailed(message, result)


def read_result(line: str) -> Result | None:
    try:
        result = json.loads(line)
    except ValueError:
        return None
    return result if isinstance(result, dict) else None


def _said(finished: Finished) -> str:
    return (read_result(finished.last_line) or {}).get("message") or "see the lines above"
