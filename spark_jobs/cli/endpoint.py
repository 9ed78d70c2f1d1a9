"""What an always-on stream answers over HTTP: /health for a watchdog, /metrics for Prometheus. On loopback
unless told otherwise.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from spark_jobs.operations.metrics import CONTENT_TYPE
from spark_jobs.stream.health import Pulse

Address = tuple[str, int]
REQUEST_SECONDS = 10


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
    address: Address, pulse: Pulse, stale_after: timedelta, metrics: Callable[[], str]
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
