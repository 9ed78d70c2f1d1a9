"""What one run is to do and where, decided before Spark starts."""

from dataclasses import dataclass
from pathlib import Path

from spark_jobs.config import Project
from spark_jobs.config.lakehouse import Profile
from spark_jobs.lake.lease import Lease
from spark_jobs.lake.ledger import Ledger
from spark_jobs.run.plan import Plan


@dataclass(frozen=True)
class RunOrder:
    project: Project
    profile: Profile
    plan: Plan
    ledger: Ledger
    run_id: str
    lease: Lease
    log_file: Path
