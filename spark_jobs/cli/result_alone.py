"""With --json, standard output is the result alone: what functions of the user's print, and programs that
they start, goes to standard error. Half a line of theirs would make the result unreadable.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

OUT, ERR = 1, 2


@contextmanager
def result_alone(as_json: bool) -> Iterator[None]:
    """Around the work of a command, before its result is printed."""
    if not as_json:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(OUT)
    os.dup2(ERR, OUT)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, OUT)
        os.close(kept)
