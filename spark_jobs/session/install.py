"""What `weir setup` puts beside the environments: the Delta jars and the archive of loaded classes."""

import os
from dataclasses import dataclass
from pathlib import Path

from spark_jobs.session.jars import jar_paths
from spark_jobs.session.java import Java, find_java


class NotInstalled(Exception):
    """What a run needs beside Python is not there yet."""


@dataclass(frozen=True)
class Installation:
    """The places of what a run needs beside Python, below the project's .envs folder."""

    root: Path

    @property
    def jars(self) -> Path:
        return self.root / ".envs" / "jars"

    @property
    def archive(self) -> Path:
        return self.root / ".envs" / "classes.jsa"

    def check(self) -> None:
        """NotInstalled unless the jars are there."""
        missing = [path.name for path in jar_paths(self.jars) if not path.is_file()]
        if missing:
            raise NotInstalled(f"{', '.join(missing)} missing in {self.jars}; run `make setup`, or `weir setup`, once")

    def java(self) -> Java:
        return find_java(os.environ, self.root / ".envs" / "jre")
