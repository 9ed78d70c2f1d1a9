"""Tells of a run on a cluster that waits for executors: until one comes no task of it begins, and Spark says
so in its own log alone.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext

PATIENCE_SECONDS = 20.0


@contextmanager
def tell_of_waiting(
    context: SparkContext, warn: Callable[[str], None], after_seconds: float = PATIENCE_SECONDS
) -> Iterator[None]:
    """Warns once when no executor has come by then. A local Spark needs none."""
    if (context.master or "").startswith("local"):
        yield
        return
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(context, warn, after_seconds, ended), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _watch(
    context: SparkContext, warn: Callable[[str], None], after_seconds: float, ended: threading.Event
) -> None:
    if ended.wait(after_seconds) or _has_executors(context):
        return
    free = (
        "other runs may have all its cores or memory (spark.cores.max and spark.executor.memory in the"
        " profile), or it has no worker"
    )
    warn(f"no executor of {context.master} after {after_seconds:.0f} s: {free}; this run waits")


def _has_executors(context: SparkContext) -> bool:
    """The driver is one of those that Spark counts. A JVM that has just ended waits for nobody."""
    try:
        return bool(context._jsc.sc().getExecutorMemoryStatus().size() > 1)
    except (OSError, Py4JError):
        return True
