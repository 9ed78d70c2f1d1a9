"""The `weir` command. Modules import what they need when called, so that `weir --help` and a run with nothing
to do stay quick.
"""

from spark_jobs.cli.app import main

__all__ = ["main"]
