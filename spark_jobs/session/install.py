"""What `weir setup` puts beside the environments: jars and the archive of loaded classes."""

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from spark_jobs.session.jars import COMPONENTS, component_paths, jar_paths
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
            raise NotInstalled(
                f"{', '.join(missing)} missing in {self.jars}; run `make setup`, or `weir setup`, once"
            )

    def component_jars(self, components: Collection[str]) -> list[Path]:
        """The jars of these components. NotInstalled where one is not there."""
        found = {component: component_paths(self.jars, component) for component in sorted(components)}
        lacking = [
            component for component, paths in found.items() if not all(path.is_file() for path in paths)
        ]
        if lacking:
            command = " ".join(["weir setup", *(f"--with {component}" for component in lacking)])
            raise NotInstalled(
                f"the pipeline needs the jars of {' and '.join(lacking)}; run `{command}`, once"
            )
        return [path for paths in found.values() for path in paths]

    def installed_components(self) -> list[str]:
        return [
            component
            for component in COMPONENTS
            if all(path.is_file() for path in component_paths(self.jars, component))
        ]

    def java(self) -> Java:
        return find_java(os.environ, self.root / ".envs" / "jre")
