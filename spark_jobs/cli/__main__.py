"""`python -m spark_jobs.cli` is the `weir` command."""

from spark_jobs.cli.app import main

main()
