"""Weir's tables in Python, for notebooks and scripts: `weir.open().table("retail.silver.orders").pandas()`.

docs/look.md has the rest; only what is named here is meant for others.
"""

from spark_jobs import __version__
from spark_jobs.look.python import OpenLake, Table
from spark_jobs.look.python import open_lake as open

__all__ = ["OpenLake", "Table", "__version__", "open"]
