"""`up`: Airflow's API server, DAG processor, triggerer and scheduler, each in a session of its own, until all
are healthy.
"""

import re
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from service.environ import HOST, USERS, Settings, airflow_command, service_environ
from service.health import ServiceFailed, wait_until_healthy, wait_until_listening
from service.keys import ensure_keys, ensure_passwords, read_passwords, write_passwords
from service.processes import PROC, Process, boot_id, find_process
from service.state import Component, State, going_down_file, only_one, read_state, write_state
from service.stop import end_service

# Logs are read from the folder that all share: nothing but the API server has to listen. The scheduler comes
# last: tasks that wait since the last `down` talk to the API server, and would lose a try without it.
COMMANDS = {
    "api-server": ("api-server",),
    "dag-processor": ("dag-processor",),
    "triggerer": ("triggerer", "--skip-serve-logs"),
    "scheduler": ("scheduler", "--skip-serve-logs"),
}
PORT = 8080
ROLES = ("viewer", "user", "op", "admin")
START_SECONDS = 180.0


class CannotStart(Exception):
    """Airflow cannot be started here; the message says why and what to do."""


@dataclass(frozen=True)
class Started:
    """A service that runs. `passwords` are those that this start made, by user; `is_new` is false when it ran
    before.
    """

    state: State
    is_new: bool
    passwords: Mapping[str, str] = field(default_factory=dict)


def start_service(
    root: Path,
    environ: Mapping[str, str],
    port: int = PORT,
    database: str | None = None,
    say: Callable[[str], None] = print,
    timeout_seconds: float = START_SECONDS,
) -> Started:
    """Starts Airflow, or returns what is running. Port 0 takes a free one. Nothing is left behind when a part
    does not start.
    """
    if not PROC.joinpath("self", "stat").exists():
        raise CannotStart(
            "`make up` finds its processes in /proc, which only Linux has; elsewhere use docker compose"
            " (docs/airflow.md)"
        )
    if not airflow_command(root).exists():
        raise CannotStart(f"{airflow_command(root)} is not there; run `make setup`")
    with only_one(root):
        before = read_state(root)
        if before and before.is_up():
            return Started(before, is_new=False)
        if before:
            # a reboot or a kill: what it may have left would write beside the new one
            end_service(root, before, say)
        settings = Settings(root, usable_port(port), database, uuid.uuid4().hex)
        return _start(settings, environ, say, timeout_seconds)


def _start(
    settings: Settings, environ: Mapping[str, str], say: Callable[[str], None], timeout_seconds: float
) -> Started:
    keys = ensure_keys(settings.home)
    child_environ = service_environ(settings, keys, environ)
    going_down_file(settings.root).unlink(missing_ok=True)  # of a `down` that was killed
    users = users_of(child_environ[USERS])
    before, passwords = read_passwords(keys), ensure_passwords(keys, users)
    state = State(
        settings.marker, boot_id(), settings.url, datetime.now(UTC).isoformat(timespec="seconds"), ()
    )
    try:
        say("preparing Airflow's database")
        _migrate(settings, child_environ)
        say("starting Airflow")
        deadline = time.monotonic() + timeout_seconds
        for name in COMMANDS:
            if name == "scheduler":
                wait_until_listening(state, deadline)
            state = _with(state, _spawn(name, settings, child_environ))
            write_state(settings.root, state)
        wait_until_healthy(state, deadline)
    except BaseException:  # also Ctrl-C: half a service is none
        end_service(settings.root, state, lambda line: None, grace_seconds=5)
        if passwords:
            write_passwords(keys, before)  # nobody has seen the new ones; the next start makes others
        raise
    return Started(state, is_new=True, passwords=passwords)


def users_of(setting: str) -> list[str]:
    """The names of users in Airflow's setting: name:role, one after another; CannotStart where one is written
    in another way.
    """
    found = [entry.strip().split(":") for entry in setting.split(",")]
    for parts in found:
        if not (2 <= len(parts) <= 3 and re.fullmatch(r"[\w.@-]+", parts[0]) and parts[1] in ROLES):
            given, allowed = ":".join(parts), ", ".join(ROLES)
            raise CannotStart(
                f"WEIR_USERS names {given!r}; write name:role, as in ada:op,bo:viewer; the roles are"
                f" {allowed}"
            )
    return [parts[0] for parts in found]


def usable_port(port: int) -> int:
    """The port itself, or a free one for 0; CannotStart when another program listens on it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            other = port + 1 if port < 65535 else 8080
            raise CannotStart(
                f"port {port} on {HOST} cannot be used: {error.strerror}. Take another one: WEIR_PORT={other}"
                " make up"
            ) from error
        found: int = probe.getsockname()[1]
        return found


def _migrate(settings: Settings, environ: Mapping[str, str]) -> None:
    """Makes Airflow's tables, or brings those of an older Airflow up to date."""
    log = _fresh_log(settings, "db-migrate")
    with log.open("wb") as output:
        command = [str(airflow_command(settings.root)), "db", "migrate"]
        ended = subprocess.run(command, **_plumbing(settings, environ, output.fileno()), check=False)  # type: ignore[call-overload]
    if ended.returncode:
        raise ServiceFailed("database", "could not be prepared", log)


def _spawn(name: str, settings: Settings, environ: Mapping[str, str]) -> Component:
    log = _fresh_log(settings, name)
    with log.open("wb") as output:
        command = [str(airflow_command(settings.root)), *COMMANDS[name]]
        child = subprocess.Popen(command, **_plumbing(settings, environ, output.fileno()))  # type: ignore[call-overload]
    found = find_process(child.pid)
    return Component(name, found.process if found else Process(child.pid, 0), log)


def _plumbing(settings: Settings, environ: Mapping[str, str], output: int) -> dict[str, object]:
    return {
        "cwd": settings.root,
        "env": dict(environ),
        "stdin": subprocess.DEVNULL,
        "stdout": output,
        "stderr": subprocess.STDOUT,
        "start_new_session": True,
    }


def _fresh_log(settings: Settings, name: str) -> Path:
    """An empty log; that of the start before is kept beside it."""
    log = settings.home / "service" / f"{name}.log"
    log.parent.mkdir(exist_ok=True)
    if log.exists():
        log.replace(log.with_suffix(".log.1"))
    log.touch(mode=0o600)
    return log


def _with(state: State, component: Component) -> State:
    return State(state.marker, state.boot, state.url, state.since, (*state.components, component))
