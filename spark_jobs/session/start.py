"""Starts and stops the one Spark session of a run."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaMember  # type: ignore[import-untyped]
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from spark_jobs.session import jvm_end
from spark_jobs.session.hosts import is_driver_in_cluster
from spark_jobs.session.java import Java
from spark_jobs.session.loopback import guard_callbacks, private_sockets

# The classes of the JVM that PySpark asks for with every expression, each looked up once. For `F.col("a")`
# PySpark asks the JVM which class is meant by `functions`, then for its method `col`, and then calls it. A
# class without its package is looked for in all packages that PySpark has imported, and in every jar for each
# of them: that took more than the call.

NAMES = ("functions", "org.apache.spark.sql.functions", "PythonUtils", "PythonSQLUtils")


class KnownClass:
    """The static members of a class. Methods are kept: they are names to call, and never change while the JVM
    lives.
    """

    def __init__(self, java_class: Any) -> None:
        self._class = java_class

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._class, name)
        if isinstance(member, JavaMember):
            setattr(self, name, member)  # found without this function from now on
        return member


def remember_classes(context: SparkContext) -> None:
    """Let PySpark find these classes in Python, for as long as this JVM lives."""
    jvm = context._jvm
    for name in NAMES:
        if name not in vars(jvm):
            setattr(jvm, name, KnownClass(getattr(jvm, name)))


OF_THE_RUN = ("spark.sql.", "spark.databricks.", "spark.buffer.")
OF_QUERY_ERRORS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""Loggers of PySpark: PySparkException._log_exception."""


class ClusterUnreachable(Exception):
    """The master of a cluster did not take the run; its JVM has ended."""

    def __init__(self, master: str, log_file: Path) -> None:
        self.master, self.log_file = master, log_file
        secret = "that spark-defaults.conf in SPARK_CONF_DIR has the cluster's secret"
        needed = secret if master.startswith("spark://") else "that its hosts have what docs/engines.md names"
        todo = f"check that it is up, and {needed}"
        super().__init__(f"Spark could not be started on {master}: {todo}; {log_file} has Spark's own words")


class JavaNotStarted(Exception):
    """Java ended before Spark could be reached in it."""

    def __init__(self, said: str, log_file: Path) -> None:
        self.said, self.log_file = said, log_file
        todo = (
            "see driver_memory and spark.driver.extraJavaOptions in the profile, and that the machine has so"
            " much memory"
        )
        super().__init__(f"Java could not be started: {said}; {todo}; log: {log_file}")


@contextmanager
def spark_session(
    name: str,
    settings: dict[str, str],
    java: Java,
    log_file: Path,
    lease: int | None = None,
    meanwhile: Callable[[], None] = lambda: None,
) -> Iterator[SparkSession]:
    """A session whose JVM writes to the log file and inherits the lease's descriptor: while the JVM lives,
    the lease is held. While Spark starts in it, Python has nothing to do, and does `meanwhile`.

    A driver inside a cluster has its JVM, and one session for as long as it lives (cli/driver.py).
    """
    quiet_query_errors()
    if is_driver_in_cluster():
        yield SparkSession(driver_context(name, settings))
        return
    # what it says of a JVM that is gone is raised as well
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_of_py4j)  # some of it it says under no name of its own
    with (
        private_sockets(settings) as settings,
        _own_jvm(name, settings, java, log_file, lease, meanwhile) as spark,
    ):
        yield spark


@contextmanager
def _own_jvm(
    name: str,
    settings: dict[str, str],
    java: Java,
    log_file: Path,
    lease: int | None,
    meanwhile: Callable[[], None],
) -> Iterator[SparkSession]:
    os.environ["JAVA_HOME"] = str(java.home)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # that of the executors
    os.environ["PYSPARK_PYTHON"] = settings.get("spark.pyspark.python", sys.executable)
    conf = SparkConf(loadDefaults=False).setAppName(name).setAll(list(settings.items()))
    log_file.parent.mkdir(parents=True, exist_ok=True)
    with open(log_file, "ab") as log:
        # A process group of its own, in the same session: Ctrl-C, or a signal to the group, must not end it
        # in the middle of a batch. It ends when its standard input closes, and so with this process, however
        # that ends.
        options = {
            "stdout": log,
            "stderr": log,
            "process_group": 0,
            **({"pass_fds": (lease,)} if lease is not None else {}),
        }
        start = log.tell()
        try:
            gateway = launch_gateway(conf, options)  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            raise JavaNotStarted(jvm_end.first_words(log_file, start), log_file) from error
    jvm_end.watch(gateway.proc, log_file, start)
    threading.Thread(target=meanwhile).start()
    with _own_interrupt():
        context = _start_context(gateway, conf, settings["spark.master"], log_file)
    remember_classes(context)
    try:
        guard_callbacks(context)
        yield SparkSession(context)
    finally:
        jvm_end.end_watch()
        _stop_context(context)
        _end_jvm(gateway)


def quiet_query_errors() -> None:
    """PySpark prints each error of a query with its trace and the value that Spark stumbled over, and raises
    it: that is enough.
    """
    for name in OF_QUERY_ERRORS:
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def driver_context(name: str, settings: Mapping[str, str]) -> SparkContext:
    """The one context of a driver inside a cluster. What its JVM and executors were started with stays; the
    rest is for this run to say.
    """
    SparkContext._ensure_initialized()  # connects to the JVM, whose properties are the settings so far
    conf = (
        SparkConf()
        .setAppName(name)
        .setAll([(key, value) for key, value in settings.items() if key.startswith(OF_THE_RUN)])
    )
    with _own_interrupt():
        context = SparkContext.getOrCreate(conf)
    remember_classes(context)
    guard_callbacks(context)
    return context


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


@contextmanager
def _own_interrupt() -> Iterator[None]:
    """SparkContext takes SIGINT for itself, and cancels all jobs by it: it is given back."""
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT)
    yield
    if is_main:
        signal.signal(signal.SIGINT, handler)


def _start_context(gateway: object, conf: SparkConf, master: str, log_file: Path) -> SparkContext:
    try:
        return SparkContext(gateway=gateway, conf=conf)
    except (OSError, Py4JError) as error:
        jvm_end.end_watch()
        _end_jvm(gateway)
        if master.startswith("local"):
            raise
        raise ClusterUnreachable(master, log_file) from error


def _stop_context(context: SparkContext) -> None:
    """A JVM that is gone cannot be asked to stop, which PySpark finds out before it has put away its own
    things: so once more.
    """
    try:
        context.stop()
    except (OSError, Py4JError):
        context.stop()


def _end_jvm(gateway: object) -> None:
    """Wait for the JVM, which ends when its standard input closes: only then is the lease free."""
    process = gateway.proc  # type: ignore[attr-defined]
    gateway.shutdown()  # type: ignore[attr-defined]
    process.stdin.close()
    process.wait()
    SparkContext._gateway = None
    SparkContext._jvm = None


# Tells of a run on a cluster that waits for executors: until one comes no task of it begins, and Spark says
# so in its own log alone.


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
