"""A small pipeline for deaths at every point: CSV, a computed column, rules, windows and sessions. Of its
deliveries one is blocked.
"""

from collections.abc import Callable

from spark_jobs.run.decisions import decide
from spark_jobs.run.maintain import maintain_pipeline
from spark_jobs.run.pipeline import run_pipeline
from spark_jobs.run.rebuild import rebuild_tables
from spark_jobs.run.result import RunResult, Status
from tests.conftest import PROFILE, Workshop
from tests.faults import shop
from tests.faults.deaths import ENDS
from tests.run.test_maintain import age

TABLE = "silver.sales"
IN_ORDER = PROFILE.model_copy(update={"parallel_tables": 1})
PIPELINE = """
pipeline: kiosk
sources: {sales: {format: csv, path: sales}}
silver:
  sales:
    from: sales
    columns: {id: bigint, v: int, at: timestamp, cents: bigint, with_tip: {type: bigint, sql: cents + 10}}
    key: id
    sequence_by: v
    event_time: at
gold:
  per_hour: {from: silver.sales, window: {size: 1 hour}, measures: {sale_count: count(*), cents: sum(with_tip)}}
  visits: {from: silver.sales, window: {gap: 15 minutes}, measures: {sale_count: count(*)}}
"""
KINDS = {
    "bronze.sales": "bronze",
    TABLE: "silver, with a computed column",
    "gold.per_hour": "gold, update and repair",
    "gold.visits": "gold, sessions",
    f"quarantine.{TABLE}": "quarantine",
}
RULES = """
expectations:
  paid:
    type: expect_column_values_to_be_between
    kwargs: {column: cents, min_value: 1}
    on_fail: quarantine
    reason: Nothing is free.
  usual_sale:
    type: expect_column_max_to_be_between
    kwargs: {column: cents, max_value: 5000}
    on_fail: block
    reason: Nobody sells for more.
"""


MORE_RULES = """
  soon_told:
    type: expect_column_values_to_not_be_null
    kwargs: {column: v}
    on_fail: warn
    reason: Versions are counted.
"""


def write_pipeline(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/kiosk.yml", PIPELINE)
    workshop.write(f"expectations/kiosk/{TABLE}.yml", RULES)


def land(workshop: Workshop, name: str, *rows: str, more: str = "") -> None:
    workshop.land(f"sales/{name}.csv", f"id,v,at,cents{more}\n" + "".join(f"{row}{more}\n" for row in rows))


def land_first(workshop: Workshop) -> None:
    land(workshop, "1", "1,1,2024-05-01T08:10:00Z,120", "2,1,2024-05-01T08:20:00Z,300")


def land_second(workshop: Workshop) -> None:
    """A correction, a repetition, a new sale, one that breaks a rule, one that cannot be read; and a column
    and a rule that are new.
    """
    workshop.write(f"expectations/kiosk/{TABLE}.yml", RULES + MORE_RULES)
    corrected, repeated = "1,2,2024-05-01T09:10:00Z,150", "2,1,2024-05-01T08:20:00Z,300"
    land(
        workshop,
        "2",
        corrected,
        repeated,
        "3,1,2024-05-01T09:30:00Z,80",
        "4,1,2024-05-01T09:40:00Z,0",
        "5,1,soon,70",
        more=",till",
    )


def land_third(workshop: Workshop) -> None:
    """A delivery that is blocked."""
    land(workshop, "3", "6,1,2024-05-01T10:10:00Z,99999", "7,1,2024-05-01T10:20:00Z,100")


def run(workshop: Workshop) -> RunResult:
    """One table at a time, so that points are reached in the same order every time."""
    return run_pipeline(workshop.project, "kiosk", IN_ORDER, start=workshop._start)


def set_aside(workshop: Workshop) -> RunResult:
    return decide(
        workshop.project,
        "kiosk",
        IN_ORDER,
        TABLE,
        "set_aside",
        "ada@here",
        "a wrong price",
        start=workshop._start,
    )


def rebuild(workshop: Workshop) -> RunResult:
    """Told as a run, so that deaths of either are counted alike."""
    done = rebuild_tables(workshop.project, "kiosk", IN_ORDER, [TABLE], start=workshop._start)
    return RunResult("kiosk", done.status, done.message)


def live_through(
    workshop: Workshop, do: Callable[[Callable[[], RunResult], tuple[Status, ...]], RunResult]
) -> dict[str, list[str]]:
    """Two deliveries, one that is blocked and set aside, a rebuild, and upkeep: what the tables then hold."""
    write_pipeline(workshop)
    land_first(workshop)
    assert run(workshop).status is Status.OK
    land_second(workshop)
    do(lambda: run(workshop), ENDS)
    land_third(workshop)
    do(lambda: run(workshop), (Status.BLOCKED,))
    do(lambda: set_aside(workshop), ENDS)
    assert run(workshop).status in ENDS
    do(lambda: rebuild(workshop), ENDS)
    age(workshop.root / "lake")
    do(lambda: upkeep(workshop), ENDS)
    assert run(workshop).status in ENDS
    return shop.contents(workshop, "kiosk")


def upkeep(workshop: Workshop) -> RunResult:
    done = maintain_pipeline(workshop.project, "kiosk")
    return RunResult("kiosk", done.status, done.message)


def undisturbed_by(command: Callable[[], RunResult], ends: tuple[Status, ...]) -> RunResult:
    result = command()
    assert result.status in ends, result.message
    return result
