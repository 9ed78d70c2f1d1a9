"""Where everything of one pipeline lives below the lake's root."""

from dataclasses import dataclass

from spark_jobs.config.names import SIDES, other_pipeline
from spark_jobs.config.table_name import TableName

__all__ = ["SIDES", "Lake"]


@dataclass(frozen=True)
class Lake:
    """The folder of one pipeline in the lake. A table is called by its full name, as in silver.orders; one of
    another pipeline by the name of that pipeline as well, as in retail.silver.orders.

    While tables are being rebuilt, `staged` are those whose new generation grows in a place of its own, where
    no reader looks.
    """

    root: str
    pipeline: str
    staged: frozenset[str] = frozenset()

    def table(self, name: str) -> str:
        if other_pipeline(name):
            return f"{self.root}/{name.replace('.', '/')}"
        layer, table = TableName(name).parts
        is_staged = (table if layer in SIDES else name) in self.staged
        return f"{self.stage if is_staged else f'{self.root}/{self.pipeline}'}/{layer}/{table}"

    def arrivals(self, source: str) -> str:
        return f"{self._system}/arrivals/{source}"

    def ledger(self, name: str) -> str:
        return f"{self._system}/ledger/{name}"

    def checkpoint(self, name: str, generation: int) -> str:
        return f"{self._system}/checkpoints/{name}/g{generation}"

    @property
    def ledgers(self) -> str:
        return f"{self._system}/ledger"

    @property
    def checkpoints(self) -> str:
        return f"{self._system}/checkpoints"

    def lease(self) -> str:
        return f"{self._system}/lease"

    def stream_lease(self) -> str:
        """Held by the always-on stream of the pipeline, for as long as it lives."""
        return f"{self._system}/stream"

    @property
    def submitted(self) -> str:
        """Where a driver in the cluster leaves its result for the command that has submitted it."""
        return f"{self._system}/submitted"

    @property
    def stage(self) -> str:
        return f"{self._system}/rebuild"

    @property
    def _system(self) -> str:
        return f"{self.root}/{self.pipeline}/_weir"
