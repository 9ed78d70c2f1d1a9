"""Airflow's DAG for the upkeep of all tables: small files are compacted, old ones removed, reports and logs
kept to their number.
"""

import os
from pathlib import Path

from weir_maintenance import maintenance_dag

ROOT = Path(os.environ.get("WEIR_HOME") or Path(__file__).resolve().parents[1])

dag = maintenance_dag(ROOT)
