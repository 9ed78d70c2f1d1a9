"""A web server for tests that keeps what is posted to it, on a free port of the loopback address."""

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Webhook:
    url: str
    posted: list[dict[str, Any]]


class _Keeper(BaseHTTPRequestHandler):
    """Keeps the JSON that is posted."""

    posted: list[dict[str, Any]]

    def do_POST(self) -> None:
        self.posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


@contextmanager
def webhook() -> Iterator[Webhook]:
    posted: list[dict[str, Any]] = []
    with serving(
        ThreadingHTTPServer(("127.0.0.1", 0), type("Keeper", (_Keeper,), {"posted": posted}))
    ) as port:
        yield Webhook(f"http://127.0.0.1:{port}", posted)


@contextmanager
def serving(server: socketserver.TCPServer) -> Iterator[int]:
    """The port of a server that answers until the block ends."""
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
