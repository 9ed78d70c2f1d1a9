"""Tables of other pipelines, as a run finds them: read at one version, without that pipeline's lease.

A version of a table is always a whole, published one, so that it can be read at any time. What its pipeline
does meanwhile is for the next run.
"""

from dataclasses import dataclass
from typing import Any

from spark_jobs.config.names import name_at_home, other_pipeline
from spark_jobs.config.table_name import TableName
from spark_jobs.lake.delta_log import table_id, table_version
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.ledger_tables import SWAPPING
from spark_jobs.lake.seen import Seen


@dataclass(frozen=True)
class OtherTable:
    """A table of another pipeline: its version (None: not there), what it has seen of its feed, and which
    table it is.

    `identity` changes when the table is rebuilt, or loaded again in another lake: its change feed then no
    longer leads from the old rows to the new ones.
    """

    name: str
    version: int | None
    seen: Seen
    identity: tuple[int, str | None]
    is_being_replaced: bool = False

    @property
    def problem(self) -> str | None:
        """Why it cannot be read now."""
        if self.is_being_replaced:
            return (
                f"{self.name} is being replaced by a rebuild (`weir run {other_pipeline(self.name)}` ends one"
                " that was cut)"
            )
        return f"{self.name} is not there yet" if self.version is None else None


def look_at(lake: Lake, name: str) -> OtherTable:
    """The table as it stands. The ledger is read before the version, so that what was seen is never ahead of
    the rows.
    """
    home = Lake(lake.root, str(other_pipeline(name)))
    ledger, table = Ledger(home), name_at_home(name)
    newest, live = ledger.definitions().get(table), ledger.live_definitions().get(table)
    generation = live.generation if live else 1
    seen = ledger.seen(table, generation) if TableName(table).is_in("silver") else Seen()
    is_being_replaced = newest is not None and newest.state == SWAPPING
    version = None if is_being_replaced else table_version(lake.table(name))
    return OtherTable(name, version, seen, (generation, table_id(lake.table(name))), is_being_replaced)


def identities(tables: dict[str, OtherTable]) -> dict[str, Any]:
    """For the ledger."""
    return {name: list(table.identity) for name, table in tables.items()}
