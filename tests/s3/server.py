"""An S3 server for tests: versitygw over a temporary folder, on a free port of the loopback address. `make
test` builds it, from the Go module of its authors, into .envs/s3.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spark_jobs.lake import storage
from tests.airflow.postgres import free_port
from tests.conftest import ROOT

PROGRAM = ROOT / ".envs" / "s3" / "versitygw"
KEY, SECRET = "weir", "a secret of tests alone"
START_SECONDS = 30


class S3Server:
    """A server that can be killed and started again over the same objects."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None
        (folder / "objects").mkdir()

    @property
    def environ(self) -> dict[str, str]:
        """What finds it, for Weir and for all that Weir starts."""
        keys = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
        return {**keys, "AWS_ENDPOINT_URL": self.address, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1"}

    def new_bucket(self) -> str:
        """A bucket of the test's own: Hadoop keeps what it knows of a bucket for as long as its JVM lives."""
        name = f"b{uuid.uuid4().hex[:16]}"
        (self.folder / "objects" / name).mkdir()
        return name

    def start(self) -> None:
        """Returns when it answers."""
        environ = {**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
        options = ["posix", str(self.folder / "objects")]
        command = [str(PROGRAM), "--port", f"127.0.0.1:{self.port}", "--quiet", *options]
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environ)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError(
            f"the S3 server did not start:\n{(self.folder / 'server.log').read_text(encoding='utf-8')}"
        )

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def upload(folder: Path, place: str) -> None:
    """All files below a folder of this disk, to the same paths below the URI."""
    for file in (file for file in folder.rglob("*") if file.is_file()):
        storage.write_bytes(f"{place}/{file.relative_to(folder)}", file.read_bytes())


def new_folder() -> Path:
    """Where files have attributes: the server keeps an object's tag there. Kept beside the objects, it would
    be written before the content, and a reader given an old content with a new tag, as Amazon's never does.
    """
    for parent in (Path(tempfile.gettempdir()), PROGRAM.parent):
        folder = Path(tempfile.mkdtemp(prefix="weir-s3-", dir=parent))
        try:
            os.setxattr(folder, "user.weir", b"1")
        except OSError:
            folder.rmdir()
        else:
            return folder
    raise RuntimeError(
        f"neither {tempfile.gettempdir()} nor {PROGRAM.parent} is on a file system with attributes (user.*)"
    )


@contextmanager
def s3_server() -> Iterator[S3Server]:
    folder = new_folder()
    server = S3Server(folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)
