"""For tests of your own state classes: rows in, time forward, emitted rows out, as a run of Weir gives them
to the class, without Spark.

    trial = try_state(load_project(root), "clickstream", "user_sessions")
    assert trial.feed({"user_id": 7, "clicked_at": datetime(2026, 3, 1, 10)}) == []
    assert trial.advance(datetime(2026, 3, 1, 12)) == [{"user_id": 7, ...}]

Each `feed` is one batch, in the order given: late rows are set aside in `trial.late`, the others go to the
class key by key, then the watermark moves and timers fire. State is pyspark's own double (TwsTester). It
forgets nothing by itself: a time to live is not tried here.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.streaming.tws_tester import TwsTester

from spark_jobs.config import Project
from spark_jobs.config.gold import Gold
from spark_jobs.config.names import parse_delay
from spark_jobs.gold.functions import load_hook

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a class is given times without a zone, in UTC
Emitted = dict[str, Any]


class WrongColumns(AssertionError):
    """A class has emitted a row with other columns than the pipeline file declares."""

    def __init__(self, found: list[str], declared: list[str]) -> None:
        self.found, self.declared = found, declared
        super().__init__(
            f"the class has emitted the columns {', '.join(found)}; declared are {', '.join(declared)}"
        )


def try_state(project: Project, pipeline: str, table: str) -> "Trial":
    """The class of a gold table, with the key, watermark and columns that its pipeline file gives it."""
    definition = project.pipelines[pipeline]
    gold = definition.gold[table]
    silver = definition.silver_named(gold.from_)
    assert gold.state is not None, f"{pipeline}.gold.{table} is not made by 'state'"
    assert silver is not None
    event_time = silver.event_time.column if silver.event_time else None
    return Trial(load_hook(gold.state, project.conf)(), gold, list(silver.columns), event_time)


class Trial:
    """One table's class, and how far its time has come. `late` are the rows that did not reach it."""

    def __init__(
        self, processor: StatefulProcessor, gold: Gold, declared: list[str], event_time: str | None
    ) -> None:
        self.gold, self.declared, self.event_time = gold, declared, event_time
        self.key = gold.key or []
        self.is_by_event = gold.timers != "processing"
        self.delay = parse_delay(gold.watermark) if gold.watermark else timedelta()
        self.late: list[Mapping[str, Any]] = []
        self.newest: datetime | None = None
        mode = "EventTime" if self.is_by_event else "ProcessingTime"
        self.tester = TwsTester(
            _Keyed(processor), timeMode=mode, eventTimeExtractor=lambda row: _millis(row["_event_at"])
        )

    def feed(self, *rows: Mapping[str, Any]) -> list[Emitted]:
        """One batch of rows of the silver table; columns that are not given are NULL."""
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in rows:
            at = self._event_at(row)
            if self.is_by_event and self.newest is not None and at <= self.newest - self.delay:
                self.late.append(row)
                continue
            values = {name: row.get(name) for name in self.declared} | (
                {"_event_at": at} if self.is_by_event else {}
            )
            groups.setdefault(tuple(row.get(name) for name in self.key), []).append(Row(**values))
        emitted = [made for key, group in groups.items() for made in self.tester.test(key, group)]
        times = [row["_event_at"] for group in groups.values() for row in group] if self.is_by_event else []
        return self._checked(emitted) + (self.advance(max(times)) if times else [])

    def advance(self, to: datetime) -> list[Emitted]:
        """Event time: as if rows up to this time had come for other keys. Processing time: the clock of the
        run. Timers fire.
        """
        at = _plain(to)
        if self.is_by_event:
            self.newest = at if self.newest is None else max(at, self.newest)
            mark = _millis(self.newest - self.delay)
            moved = mark > self.tester._currentWatermarkMs
            return self._checked(self.tester.setWatermark(mark)) if moved else []
        return self._checked(self.tester.setProcessingTime(_millis(at)))

    def _event_at(self, row: Mapping[str, Any]) -> datetime:
        return _plain(row[self.event_time]) if self.is_by_event and self.event_time else EPOCH

    def _checked(self, rows: Any) -> list[Emitted]:
        found = [row.asDict() for row in rows]
        declared = list(self.gold.columns or {})
        for row in found:
            if list(row) != declared:
                raise WrongColumns(list(row), declared)
        return found


class _Keyed(StatefulProcessor):
    """pyspark's double knows keys of one value: the tuple of all columns goes through it as one."""

    def __init__(self, inner: StatefulProcessor) -> None:
        self.inner = inner

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.inner.init(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Any]:  # noqa: N802, N803 - pyspark's
        return self.inner.handleInputRows(key[0], rows, timerValues)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Any]:
        return self.inner.handleExpiredTimer(
            key=key[0], timerValues=timerValues, expiredTimerInfo=expiredTimerInfo
        )


def _plain(at: datetime) -> datetime:
    """A time without a zone, in UTC."""
    return at.astimezone(UTC).replace(tzinfo=None) if at.tzinfo else at


def _millis(at: datetime) -> int:
    return (at - EPOCH) // timedelta(milliseconds=1)
