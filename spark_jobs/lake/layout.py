"""Where everything of one pipeline lives below the lake's root."""

from dataclasses import dataclass

GENERATION = 1
"""Counts the checkpoints of a table: a rebuilt table starts a new one, and with it new transaction ids."""


@dataclass(frozen=True)
class Lake:
    """The folder of one pipeline in the lake. A table is called by its full name, as in silver.orders."""

    root: str
    pipeline: str

    def table(self, name: str) -> str:
        layer, _, table = name.partition(".")
        return f"{self.root}/{self.pipeline}/{layer}/{table}"

    def quarantine(self, name: str) -> str:
        return f"{self.root}/{self.pipeline}/quarantine/{name}"

    def arrivals(self, source: str) -> str:
        return f"{self._system}/arrivals/{source}"

    def ledger(self, name: str) -> str:
        return f"{self._system}/ledger/{name}"

    def checkpoint(self, name: str) -> str:
        return f"{self._system}/checkpoints/{name}/g{GENERATION}"

    def lease(self) -> str:
        return f"{self._system}/lease"

    @property
    def _system(self) -> str:
        return f"{self.root}/{self.pipeline}/_weir"
