"""How a batch of a stream went, from what Spark says of it (StreamingQueryProgress): one row of the ledger's
progress table.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from spark_jobs.lake.delta_table import DeltaTable

NOT_YET = "1970-01-01T00:00:00.000Z"
"""What Spark says of a watermark before the first row."""


def is_batch(said: Mapping[str, Any]) -> bool:
    """Spark also reports that it has looked and found nothing."""
    return "addBatch" in said.get("durationMs", {})


def progress_row(run_id: str, table: str, generation: int, said: Mapping[str, Any]) -> dict[str, Any]:
    sources: list[Mapping[str, Any]] = list(said.get("sources", ()))
    operators: list[Mapping[str, Any]] = list(said.get("stateOperators", ()))
    durations: Mapping[str, int] = said["durationMs"]
    watermark = said.get("eventTime", {}).get("watermark", NOT_YET)
    behind = [messages for source in sources for messages in _messages_behind(source)]
    return {
        "run_id": run_id,
        "table": table,
        "step": "stream",
        "generation": generation,
        "batch": said["batchId"],
        "at": datetime.fromisoformat(said["timestamp"]),
        "rows": said.get("numInputRows", 0),
        "seconds": durations["triggerExecution"] / 1000,
        "input_rate": said.get("inputRowsPerSecond"),
        "processed_rate": said.get("processedRowsPerSecond"),
        "lag_seconds": None,
        "backlog_files": _sum(sources, "numFilesOutstanding"),
        "backlog_bytes": _sum(sources, "numBytesOutstanding"),
        "watermark": None if watermark == NOT_YET else datetime.fromisoformat(watermark),
        "state_rows": sum(operator["numRowsTotal"] for operator in operators) if operators else None,
        "state_bytes": sum(operator["memoryUsedBytes"] for operator in operators) if operators else None,
        "dropped_by_watermark": (
            sum(operator["numRowsDroppedByWatermark"] for operator in operators) if operators else None
        ),
        "durations": json.dumps(durations, sort_keys=True),
        "offsets": json.dumps(
            [{"from": source.get("startOffset"), "to": source.get("endOffset")} for source in sources]
        ),
        "backlog_messages": sum(behind) if behind else None,
        "max_partition_lag": max(behind, default=None),
    }


def add_lag(rows: Iterable[dict[str, Any]], path: str) -> list[dict[str, Any]]:
    """Say of each batch how long the oldest of its input had waited: from that commit of the table that it
    streams to the batch's end.
    """
    known, committed_at = list(rows), dict[int, datetime]()
    first = min((version for row in known if (version := _first_version(row)) is not None), default=None)
    if first is not None and DeltaTable.is_deltatable(path):
        table = DeltaTable(path)
        for commit in table.history(max(1, table.version() - first + 1)):
            committed_at[commit["version"]] = datetime.fromtimestamp(commit["timestamp"] / 1000, UTC)
    for row in known:
        began = committed_at.get(_first_version(row) or 0)
        row["lag_seconds"] = (
            (row["at"] + timedelta(seconds=row["seconds"]) - began).total_seconds() if began else None
        )
    return known


def add_backlog(
    rows: Iterable[dict[str, Any]], arrivals: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Of a bronze table that reads files: what its batches left to read, counted in the files that arrived
    and not in rows about them.
    """
    known, taken = list(rows), list(arrivals)
    for row in known:
        left = [file for file in taken if file["chunk"] > _done_version(row)]
        row["backlog_files"] = len(left)
        row["backlog_bytes"] = sum(file["size"] - (file["start_byte"] or 0) for file in left)
    return known


def _offset(row: Mapping[str, Any], end: str) -> Mapping[str, Any] | None:
    """An offset of a stream over one Delta table."""
    offsets = json.loads(row["offsets"])
    offset = offsets[0][end] if len(offsets) == 1 else None
    return offset if isinstance(offset, dict) and "reservoirVersion" in offset else None


def _first_version(row: Mapping[str, Any]) -> int | None:
    """The first version of the table that a batch read something of."""
    start, end = _offset(row, "from"), _offset(row, "to")
    if end is None:
        return None
    return int(start["reservoirVersion"]) if start else 0


def _done_version(row: Mapping[str, Any]) -> int:
    """The last version that is read in whole: Delta names the next one with an index
    before its first file.
    """
    end = _offset(row, "to")
    if end is None:
        return -1
    return int(end["reservoirVersion"]) - (1 if end["index"] < 0 else 0)


def _messages_behind(source: Mapping[str, Any]) -> list[int]:
    """Of a topic, for each partition: how many offsets there were after the last one of the batch, when the
    query looked.
    """
    end, latest = source.get("endOffset"), source.get("latestOffset")
    if (
        "maxOffsetsBehindLatest" not in (source.get("metrics") or {})
        or not isinstance(end, dict)
        or not isinstance(latest, dict)
    ):
        return []
    places = [
        (topic, partition, offset)
        for topic, partitions in latest.items()
        for partition, offset in partitions.items()
    ]
    return [offset - end.get(topic, {}).get(partition, offset) for topic, partition, offset in places]


def _sum(sources: list[Mapping[str, Any]], metric: str) -> int | None:
    """A figure that only some sources give."""
    known = [int(source["metrics"][metric]) for source in sources if metric in (source.get("metrics") or {})]
    return sum(known) if known else None
