"""What a rebuild that was cut has left, by the ledger alone."""

from datetime import UTC, datetime
from pathlib import Path

from spark_jobs.doctor.finding import WARNING
from spark_jobs.doctor.pipeline import look_at_pipeline
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.ledger_tables import SWAPPING, Definition
from tests.conftest import Workshop, unguarded

LOG = """
pipeline: log
sources: {lines: {format: json, path: lines}}
silver: {lines: {from: lines, columns: {n: bigint}}}
"""


def test_what_a_cut_swap_still_needs_is_no_leftover(idle_workshop: Workshop) -> None:
    idle_workshop.write("conf/pipelines/log.yml", LOG)
    lake = Lake(idle_workshop.project.lake, "log")
    Path(lake.stage).mkdir(parents=True)
    ledger, now = Ledger(lake, unguarded), datetime.now(UTC)
    ledger.write_run(run_id="r", at=now, event="rebuild started")
    ledger.write_definitions("r", {"silver.lines": Definition(2, {}, {}, SWAPPING)})

    found = [one for one in look_at_pipeline(idle_workshop.project, "log", now) if one.about == "leftovers"]

    assert [(one.state, one.message, one.fix) for one in found] == [
        (WARNING, "a rebuild was cut while it replaced silver.lines", None)
    ]
    assert "`weir run log`" in found[0].remedy
