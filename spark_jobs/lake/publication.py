"""By which commit the rows of a table changed last: upkeep gives it further versions with the same rows."""

from typing import Any

from spark_jobs.lake.delta_log import FEW_COMMITS, note_of
from spark_jobs.lake.delta_table import DeltaTable

WITHOUT_ROWS = ("OPTIMIZE", "VACUUM START", "VACUUM END", "SET TBLPROPERTIES")


def newest_publication(path: str) -> tuple[int, dict[str, Any]] | None:
    """The newest version that changed rows, with the note of its commit; None where the newest commits do not
    tell of it.
    """
    for commit in DeltaTable(path).history(FEW_COMMITS):
        if commit.get("operation") not in WITHOUT_ROWS:
            return int(commit["version"]), note_of(commit)
    return None
