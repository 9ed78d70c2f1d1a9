"""`weir stream`: an always-on stream, told of in lines, by a heartbeat file and over HTTP."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TypeVar

from spark_jobs.cli.cluster import RunsOnCluster
from spark_jobs.cli.ending import result_alone
from spark_jobs.cli.loading import load_checked
from spark_jobs.cli.run import end_run, known_profile, until_stopped
from spark_jobs.config.errors import UsageError
from spark_jobs.config.lakehouse import Profile
from spark_jobs.config.loading import Project
from spark_jobs.config.names import parse_duration
from spark_jobs.config.text import plain
from spark_jobs.operations.metrics import CONTENT_TYPE, exporter, prometheus_text, samples_of
from spark_jobs.operations.status import status_of
from spark_jobs.run.result import RunResult, Status
from spark_jobs.stream.always_on import Orders, stream_pipeline
from spark_jobs.stream.health import Health, Heartbeat
from spark_jobs.stream.trigger import (
    AVAILABLE_NOW,
    ONCE,
    Trigger,
    UnknownTrigger,
    check_trigger,
    parse_trigger,
)

T = TypeVar("T")

Address = tuple[str, int]
REQUEST_SECONDS = 10


def stream_command(
    name: str,
    trigger: str,
    profile: str | None,
    listen: str | None,
    heartbeat: Path | None,
    stale_after: str,
    give_up_after: int | None,
    as_json: bool,
) -> int:
    with result_alone(as_json), until_stopped(name) as ended:
        project, wanted, patience = (
            load_checked(name),
            _known_trigger(trigger),
            _known("stale-after", stale_after, parse_duration),
        )
        address = None if listen is None else _known("listen", listen, parse_address)
        check_trigger(project.pipelines[name], wanted)
        pulse = Heartbeat(Health(name, str(wanted), datetime.now(UTC)), heartbeat)
        with ExitStack() as stack:

            def metrics() -> str:
                return prometheus_text(samples_of(status_of(project, name, datetime.now(UTC))))

            if address is not None:
                host, port = _listen(stack, address, serving(address, pulse, patience, metrics))
                print(f"{name}: health and metrics at http://{host}:{port}", file=sys.stderr, flush=True)
            export = stack.enter_context(exporter(name))

            def tell(result: RunResult) -> None:
                print(
                    plain(f"{name}: {result.status.value}: {result.message} in {result.seconds:.1f} s"),
                    file=sys.stderr,
                    flush=True,
                )
                export(lambda: samples_of(status_of(project, name, datetime.now(UTC))))

            chosen = _driver_here(project, profile)
            print(
                f"{name}: streaming, {wanted}; Ctrl-C or SIGTERM ends it after the batch at work",
                file=sys.stderr,
                flush=True,
            )
            ended.result = stream_pipeline(project, name, chosen, Orders(wanted, give_up_after, tell), pulse)
    result = ended.result
    # before its first increment
    if result.status is Status.STOPPED and trigger.strip() not in (AVAILABLE_NOW, ONCE):
        result = replace(result, status=Status.OK)
    return end_run(result, as_json)


def _driver_here(project: Project, profile: str | None) -> Profile:
    try:
        return known_profile(project, profile)
    except RunsOnCluster as elsewhere:
        said = (
            "a stream has its driver where it is started, and this profile has it in the cluster; choose one"
            " with deploy: client"
        )
        raise _wrong("profile", profile or project.lakehouse.profile, said) from elsewhere


def _known_trigger(text: str) -> Trigger:
    try:
        return parse_trigger(text)
    except UnknownTrigger as unknown:
        raise _wrong("trigger", text, str(unknown)) from unknown


def _listen(stack: ExitStack, address: Address, served: AbstractContextManager[Address]) -> Address:
    try:
        return stack.enter_context(served)
    except OSError as error:
        place = f"{address[0]}:{address[1]}"
        said = f"nothing can listen at {place}: {error.strerror or error}"
        raise UsageError("--listen", place, said, "choose another port, or 0 for one that is free") from error


def _known(option: str, text: str, parse: Callable[[str], T]) -> T:
    try:
        return parse(text)
    except ValueError as error:
        raise _wrong(option, text, str(error)) from error


def _wrong(option: str, value: str, message: str) -> UsageError:
    return UsageError(f"--{option}", value, message)


# What an always-on stream answers over HTTP: /health for a watchdog, /metrics for Prometheus. On loopback
# unless told otherwise.


def parse_address(text: str) -> Address:
    """host:port, or a port on loopback. ValueError says what is wrong."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise ValueError(
            f"{text!r} is not an address; write a port, as in 9464, or host:port, as in 127.0.0.1:9464"
        )
    return host.strip("[]") or "127.0.0.1", int(port)


@contextmanager
def serving(
    address: Address, pulse: Heartbeat, stale_after: timedelta, metrics: Callable[[], str]
) -> Iterator[Address]:
    """Answer for the block; gives the address, of which port 0 stands for a free one. OSError where it cannot
    be had.
    """

    class Handler(BaseHTTPRequestHandler):
        timeout = REQUEST_SECONDS
        server_version, sys_version = "weir", ""

        def do_GET(self) -> None:
            if self.path == "/health":
                health = pulse.now
                is_well = health.is_well(datetime.now(UTC), stale_after)
                self._answer(
                    HTTPStatus.OK if is_well else HTTPStatus.SERVICE_UNAVAILABLE,
                    "application/json",
                    json.dumps(health.as_dict()),
                )
            elif self.path == "/metrics":
                self._answer(HTTPStatus.OK, CONTENT_TYPE, metrics())
            else:
                self._answer(HTTPStatus.NOT_FOUND, "text/plain", "there are /health and /metrics\n")

        def _answer(self, status: HTTPStatus, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *values: object) -> None:
            """Watchdogs ask every few seconds: not a line each."""

    server = ThreadingHTTPServer(address, Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="health endpoint", daemon=True).start()
    try:
        yield (str(server.server_address[0]), int(server.server_address[1]))
    finally:
        server.shutdown()
        server.server_close()
