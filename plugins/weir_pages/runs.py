"""What a pipeline's runs.json says, as `weir report` writes it. Read strictly: a file that says anything else
is broken, and said to be.
"""

import json
from datetime import datetime
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

RUN_ID = r"^\d{8}T\d{6}-[0-9a-f]{8}$"


def read_origin(value: Any) -> dict[str, str]:
    """Airflow's tasks write a JSON object with dag, run and task; what others write is no concern here."""
    try:
        told = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return {}
    return {str(name): str(text) for name, text in told.items()} if isinstance(told, dict) else {}


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class Run(Frozen):
    """One run that has a report."""

    run_id: str = Field(pattern=RUN_ID)
    page: str
    started_at: AwareDatetime
    seconds: float | None
    outcome: str
    why: str
    origin: Annotated[dict[str, str], BeforeValidator(read_origin)]
    records: int
    published: int
    set_aside: int
    not_met: int

    @model_validator(mode="after")
    def check_page(self) -> "Run":
        if self.page != f"{self.run_id}.html":
            raise ValueError("the page does not bear the name of its run")
        return self


class Table(Frozen):
    table: str
    newest_event_at: AwareDatetime | None = None
    updated_at: AwareDatetime | None = None
    rows: int


class Runs(Frozen):
    """A pipeline's runs, the newest first, and what stands in its tables."""

    pipeline: str
    made_at: AwareDatetime
    runs: tuple[Run, ...]
    tables: tuple[Table, ...]
    open_quarantine: int
    parked: int
    late: int

    def find(self, dag_id: str, run: str | None, task: str | None) -> tuple[Run, ...]:
        """The runs that this DAG, this DAG run or this task started; all of them where
        neither is asked for.
        """
        wanted = {name: value for name, value in (("run", run), ("task", task)) if value}
        asked = {"dag": dag_id, **wanted} if wanted else {}
        return tuple(known for known in self.runs if asked.items() <= known.origin.items())

    @property
    def newest_event_at(self) -> datetime | None:
        return max((table.newest_event_at for table in self.tables if table.newest_event_at), default=None)

    @property
    def updated_at(self) -> datetime | None:
        return max((table.updated_at for table in self.tables if table.updated_at), default=None)
