"""Who typed the command, for tables that say by whom a thing was done."""

import getpass
import os
import socket


def whoami() -> str:
    """user@host; the user's number where it has no name, as in many containers."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"
