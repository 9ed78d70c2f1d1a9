"""Who typed the command, and why, for tables that say by whom a thing was done."""

import getpass
import os
import socket

from spark_jobs.config.errors import UsageError
from spark_jobs.config.text import one_line
from spark_jobs.session.hosts import TYPED_BY, is_driver_in_cluster

LONGEST_NAME = 200


def whoami() -> str:
    """user@host; the user's number where it has no name, as in many containers. A driver in a cluster does
    what another typed elsewhere.
    """
    if is_driver_in_cluster():
        return known_as(os.environ[TYPED_BY])
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


def known_as(name: str) -> str:
    """The name that was given for a person, on one line; UsageError where nothing is left of it, or it is no
    name any more.
    """
    said = one_line(name)
    if not 0 < len(said) <= LONGEST_NAME:
        message = f"it has {len(said):,} characters" if said else "it is empty"
        raise UsageError(
            "--by", said[:LONGEST_NAME], message, f"give a name of 1 to {LONGEST_NAME} characters"
        )
    return said


def known_reason(reason: str) -> str:
    """The reason that was given for a decision; UsageError where it says nothing."""
    if not reason.strip():
        raise UsageError(
            "--reason", reason, "the reason is empty", "say in words why, for those who read it later"
        )
    return reason
