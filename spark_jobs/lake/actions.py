"""What may be done about a blocked batch: decided here, once.

Who blocks a batch writes its actions to the ledger (states.py). The terminal, the report, `weir status` and Airflow read them, so that
nobody offers what is refused.
"""

from collections.abc import Collection
from typing import NamedTuple

from spark_jobs.lake.verdicts import ASIDE, HOLD, RELEASE

HAS_ROWS_OF_ITS_OWN = ("stream", "release", "replay")
"""Steps whose rows can be put into quarantine. What others publish is made of rows that are in tables already."""


class Way(NamedTuple):
    """One way on, and its command."""

    what: str
    command: str


def allowed_actions(table: str, step: str) -> tuple[str, ...]:
    """What a person may decide about a blocked batch of this table and step."""
    can_set_aside = not table.startswith("gold.") and step in HAS_ROWS_OF_ITS_OWN
    return (RELEASE, ASIDE, HOLD) if can_set_aside else (RELEASE, HOLD)


def ways_on(pipeline: str, table: str, seen: str | None, actions: Collection[str]) -> list[Way]:
    """How to go on with a blocked batch. One whose grounds are not known cannot be decided about: the next run judges it again."""
    rules = f"expectations/{pipeline}/{table}.yml"
    ways = [Way(f"fix the source data of {table}, or its rules in {rules}, then run again", f"weir run {pipeline}")]
    about = f'{pipeline} {table} --seen {seen} --reason "..."'
    if seen and RELEASE in actions:
        ways.append(Way("publish the batch anyway", f"weir release {about}"))
    if seen and ASIDE in actions:
        ways.append(Way("put its rows into quarantine", f"weir set-aside {about}"))
    return ways
