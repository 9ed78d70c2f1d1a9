"""Keeps other users of the machine out of what a session opens on it, beyond Spark's own secret
(`spark.authenticate`): the port by which the JVM calls Python, and what Python workers are talked to by.
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from py4j.java_gateway import JavaObject  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.java_gateway import ensure_callback_server_started

LONGEST_FOLDER = 50
"""The path of a socket has at most about a hundred characters; the name of its file has 42."""


@contextmanager
def private_sockets(settings: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The settings of a local session, with its Python workers behind sockets in a folder of this user alone.
    On loopback the one that keeps the state of a `state` table would ask for no secret.
    """
    if not settings["spark.master"].startswith("local"):
        yield dict(settings)
        return
    at = tempfile.gettempdir() if len(tempfile.gettempdir()) <= LONGEST_FOLDER else "/tmp"
    with tempfile.TemporaryDirectory(prefix="weir-", dir=at, ignore_cleanup_errors=True) as folder:
        yield {
            "spark.python.unix.domain.socket.enabled": "true",
            "spark.python.unix.domain.socket.dir": folder,
            **settings,
        }


def guard_callbacks(context: SparkContext) -> None:
    """Let Python ask the JVM for the secret that Python has to show to the JVM: PySpark lets everybody on the
    machine call the function of foreachBatch. PySpark has no setting for it, and a client of Py4J gets its
    secret when it is made.
    """
    gateway: Any = context._gateway
    secret = gateway.gateway_parameters.auth_token
    gateway.callback_server_parameters.auth_token = secret
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    client = JavaObject("GATEWAY_SERVER", gateway._gateway_client).getCallbackClient()
    field = gateway.jvm.java.lang.Class.forName("py4j.CallbackClient").getDeclaredField("authToken")
    field.setAccessible(True)
    field.set(client, secret)
