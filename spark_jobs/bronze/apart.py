"""Tries in a process of its own what may end the process that does it: over some damaged files Arrow's reader
of ORC goes beyond its memory, and ends the process that called it.
"""

import faulthandler
import os
import resource
import signal
from collections.abc import Callable

from spark_jobs.bronze.arrived import UnreadableFile

FATAL = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL)

PATIENCE = 30
"""Seconds after which the attempt is given up, and counts for nothing: a large file takes its time, and a
process that comes from one with threads could wait for what one of them held.
"""


def try_apart(attempt: Callable[[], object]) -> None:
    """UnreadableFile where the attempt ends its process. What it raises does not come back from here: who
    reads the file afterwards sees it.
    """
    child = os.fork()
    if not child:
        _attempt(attempt)
    _, status = os.waitpid(child, 0)
    if (ended_by := -os.waitstatus_to_exitcode(status)) in FATAL:
        name = signal.Signals(ended_by).name
        raise UnreadableFile(f"its reader ends with {name} over it: it is damaged, or made to do that")


def _attempt(attempt: Callable[[], object]) -> None:
    """In the child, which says nothing and never returns."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE)
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # a lease is a lock: it must end with who holds it
        attempt()
    finally:
        os._exit(0)
