"""Who or what started this process, as its environment says: a scheduler's run and task, or whatever else somebody wrote there."""

import os
from collections.abc import Mapping

from spark_jobs.config.text import one_line

ORIGIN = "WEIR_ORIGIN"
LONGEST = 500


def read_origin(environ: Mapping[str, str] = os.environ) -> str | None:
    """WEIR_ORIGIN without control characters, cut to its bound; None where it says nothing."""
    return one_line(environ.get(ORIGIN, ""))[:LONGEST] or None
