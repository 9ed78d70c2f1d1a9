"""Hands the changes of each batch to somebody else: here, as a file per batch.

The name of the file is the batch's id, so that a batch that is handed over again replaces what it wrote
before.
"""

import json
import os
from pathlib import Path
from typing import Any

OUTBOX = Path(os.environ.get("OUTBOX", "outbox"))


def send(rows: Any, batch: Any) -> None:
    """`rows` is a DataFrame of the delivered columns, `_operation` (insert, update, delete) and `_row`, an id
    of each change.
    """
    changes = [row.asDict() for row in rows.orderBy("window_start", "shop").toLocalIterator()]
    OUTBOX.mkdir(parents=True, exist_ok=True)
    written = OUTBOX / f"{batch.id.replace('/', '-')}.json"
    written.write_text(json.dumps(changes, default=str, indent=1), encoding="utf-8")
