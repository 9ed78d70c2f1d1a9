"""One source of a pipeline, with the places of its files, its arrivals and its bronze table."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass

from spark_jobs.config.sources import AnySource, FileSource
from spark_jobs.lake.layout import Lake


@dataclass(frozen=True)
class Feed:
    pipeline: str
    name: str
    source: AnySource
    landing: str
    arrivals: str
    bronze: str
    guard: Callable[[], None]
    """Asked before every row of the arrivals: it raises where the lease is lost. Of a feed that is only
    looked at: refuse_writes.
    """

    @property
    def table(self) -> str:
        return f"bronze.{self.name}"

    @property
    def files(self) -> FileSource:
        """The source, where it is one of files: who asks knows that it is."""
        if not isinstance(self.source, FileSource):
            raise TypeError(f"{self.table} reads no files but {self.source.place(self.landing)}")
        return self.source

    def take_command(self, path: str) -> str:
        """What to type to take in a file that was not taken."""
        return f"weir take {self.pipeline} {self.name} {shlex.quote(path)}"


def make_feed(lake: Lake, landing: str, name: str, source: AnySource, guard: Callable[[], None]) -> Feed:
    return Feed(
        lake.pipeline, name, source, landing, lake.arrivals(name), lake.table(f"bronze.{name}"), guard
    )
