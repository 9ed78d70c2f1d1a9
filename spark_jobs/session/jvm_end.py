"""Why Spark's process, the JVM, is gone. What enters: the error by which Python noticed, mostly of a refused
connection. What leaves: one sentence with the cause and the tables that were at work.

There is one session in a process at a time, so what is known of its JVM is kept here. No pyspark: commands
without a JVM import this.
"""

import re
import signal
import subprocess
import traceback
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE_SECONDS = 10.0
"""A JVM that ends by itself closes its connections some seconds before it is gone."""
TAIL = 2 * 1024 * 1024
SIGNS = (
    "Answer from Java side is empty",
    "Error while sending or receiving",
    "StackOverflowError",
    "OutOfMemoryError",
    "SparkContext was shut down",
    "stopped SparkContext",
)
LAST_WORDS = re.compile(
    r"java\.lang\.(OutOfMemoryError|StackOverflowError)|(insufficient memory for the Java Runtime)"
)
FIRST_WORDS = re.compile(
    r"^(?:Error|Invalid|Unrecognized|Improperly|Conflicting|Could not|There is insufficient|Exception"
    r" in).*(?:\n.+)?",
    re.MULTILINE,
)
CAUSES = {
    "OutOfMemoryError": (
        "its memory ran out (OutOfMemoryError): see driver_memory in the profile, or make batches smaller"
    ),
    "StackOverflowError": (
        "its stack ran out (StackOverflowError): a value or an expression is nested too deeply for it"
    ),
    "insufficient memory for the Java Runtime": (
        "the machine had no memory left for it: see driver_memory in the profile"
    ),
}
KILLED = "it was killed (SIGKILL), as the system does when memory runs out"


@dataclass
class _Jvm:
    process: subprocess.Popen[bytes]
    log_file: Path
    log_start: int
    at_work: dict[str, str] = field(default_factory=dict)
    said: str | None = None


_current: _Jvm | None = None


def watch(process: subprocess.Popen[bytes], log_file: Path, log_start: int) -> None:
    """From now on this is the JVM; its own words begin at `log_start` of the log."""
    global _current
    _current = _Jvm(process, log_file, log_start)


def end_watch() -> None:
    """The session is about to be stopped as it should be. Of a JVM that has ended before, its end stays
    known.
    """
    global _current
    if _current is not None and _current.process.poll() is None:
        _current = None


def note_work(table: str, what: str = "") -> None:
    """Say what is done for a table from now on, as in batch 3."""
    if _current is not None:
        _current.at_work[table] = what


def note_done(table: str) -> None:
    if _current is not None:
        _current.at_work.pop(table, None)


def explain_end(error: BaseException) -> str | None:
    """What has ended the JVM, where that is what the error comes from; the same sentence for each table that
    it has taken along.
    """
    jvm = _current
    if jvm is None:
        return None
    if jvm.said is None and _has_ended(jvm, error):
        busy = " and ".join(f"{table} ({what})" if what else table for table, what in jvm.at_work.items())
        jvm.said = f"Spark's process has ended{f' while at work on {busy}' if busy else ''}: {_cause(jvm)}"
    return jvm.said


def first_words(log_file: Path, log_start: int) -> str:
    """What Java said when it could not even start."""
    found = FIRST_WORDS.search(_words(log_file, log_start))
    return ": ".join(found[0].splitlines())[:200].rstrip() if found else "it said nothing"


def _has_ended(jvm: _Jvm, error: BaseException) -> bool:
    is_of_connection = isinstance(error, OSError | EOFError) and any(
        "py4j" in frame.filename for frame in traceback.extract_tb(error.__traceback__)
    )
    kinds = {kind.__name__ for kind in type(error).__mro__}
    # as for a class that a JVM without an answer "does not have"
    is_of_py4j = "Py4JError" in kinds and "Py4JJavaError" not in kinds
    is_likely = is_of_connection or is_of_py4j or any(sign in str(error) for sign in SIGNS)
    try:
        jvm.process.wait(PATIENCE_SECONDS if is_likely else 0)
    except subprocess.TimeoutExpired:
        return False
    return True


def _cause(jvm: _Jvm) -> str:
    code, found = jvm.process.returncode, LAST_WORDS.findall(_words(jvm.log_file, jvm.log_start))
    if found:
        return CAUSES["".join(found[-1])]
    if code == -signal.SIGKILL:
        return KILLED
    crash = Path.cwd() / f"hs_err_pid{jvm.process.pid}.log"
    told = f"; {crash} has what Java says of it" if crash.is_file() else ""
    return f"by {signal.Signals(-code).name}{told}" if code < 0 else f"with exit code {code}{told}"


def _words(log_file: Path, start: int) -> str:
    try:
        with open(log_file, "rb") as log:
            log.seek(max(start, log.seek(0, 2) - TAIL))
            return log.read().decode(errors="replace")
    except OSError:
        return ""
