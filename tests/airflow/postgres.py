"""A private PostgreSQL for tests: a cluster in a temporary folder, on a free port of the loopback address,
gone with the block.
"""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DEBIAN = Path("/usr/lib/postgresql")
DATABASE = "airflow"


class PostgresMissing(Exception):
    """No PostgreSQL server is installed; on Debian and Ubuntu: apt-get install postgresql."""


@contextmanager
def postgres() -> Iterator[str]:
    """The SQLAlchemy URL of an empty database. PostgreSQL refuses root, so root runs it as the user that
    Debian makes for it.
    """
    binaries = find_binaries()
    with tempfile.TemporaryDirectory(prefix="weir-postgres-") as made:
        folder = Path(made)
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        port = free_port()
        _run(
            binaries / "initdb",
            "--pgdata",
            folder / "data",
            "--username",
            "weir",
            "--auth",
            "trust",
            "--encoding",
            "UTF8",
            "--no-sync",
        )
        options = (
            f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder} -c fsync=off"
        )
        control = (binaries / "pg_ctl", "--pgdata", folder / "data", "--wait", "--silent")
        _run(*control, "--log", folder / "log", "--options", options, "start")
        try:
            _run(binaries / "createdb", "--host", folder, "--port", str(port), "--username", "weir", DATABASE)
            yield f"postgresql+psycopg2://weir@127.0.0.1:{port}/{DATABASE}"
        finally:
            _run(*control, "--mode", "immediate", "stop")


def find_binaries() -> Path:
    """The folder of the newest server that Debian installed, or that of the `initdb` on PATH; PostgresMissing
    without one.
    """
    found = sorted(DEBIAN.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    if found:
        return found[-1].parent
    if on_path:
        return Path(on_path).resolve().parent
    raise PostgresMissing(
        "this test needs a PostgreSQL server, and there is no initdb; Debian, Ubuntu: apt-get install"
        " postgresql"
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _run(*command: Path | str) -> None:
    as_postgres = (
        ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups"]
        if os.geteuid() == 0
        else []
    )
    home = pwd.getpwnam("postgres").pw_dir if as_postgres else str(Path.home())
    environ = {"PATH": os.environ["PATH"], "HOME": home, "LC_ALL": "C.UTF-8"}
    # No pipe: the server that pg_ctl leaves running would keep it open.
    with tempfile.TemporaryFile("w+") as said:
        line = [*as_postgres, *map(str, command)]
        ended = subprocess.run(
            line, cwd="/", env=environ, stdin=subprocess.DEVNULL, stdout=said, stderr=said, check=False
        )
        if ended.returncode:
            said.seek(0)
            raise RuntimeError(f"{' '.join(line)} ended with {ended.returncode}:\n{said.read()}")
