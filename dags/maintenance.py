"""The upkeep of all tables: small files are compacted, old ones removed, and reports and logs kept to their number. By default at night."""

import os
from pathlib import Path

from weir_maintenance import maintenance_dag

ROOT = Path(os.environ.get("WEIR_HOME") or Path(__file__).resolve().parents[1])

dag = maintenance_dag(ROOT)
