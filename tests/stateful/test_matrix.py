"""Every declared combination of source, trigger, mode and kind of table is run, or refused at check time by a
message with the reason.

All sources end in bronze rows of one shape, and every trigger runs the same increments: neither knows what a
gold table is. So each kind of table is run in each of its modes over one source; the sources that are streams
are run by the other triggers, with a table of another mode each; and the check, which is a function of the
files alone, is asked about all. A socket is run in tests/run/test_streams.py, the continuous trigger, which
knows relays alone, in tests/examples/test_relays.py. To extend an axis: add to DECLARED or TRIGGERS.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from spark_jobs.config.checks.project import check_folder
from spark_jobs.config.errors import UsageError
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.schema import json_schema
from spark_jobs.run import stopping
from spark_jobs.run.result import RunResult
from spark_jobs.stream.always_on import Orders, stream_pipeline
from spark_jobs.stream.health import Health, Heartbeat
from spark_jobs.stream.trigger import check_trigger, parse_trigger
from tests.conftest import PROFILE, SharedSession, Workshop

if TYPE_CHECKING:
    from tests.kafka.broker import Broker

DECLARED = {
    **{
        name: f"{{format: {name}, path: clicks}}"
        for name in ("json", "csv", "parquet", "text", "avro", "orc", "delta")
    },
    "xml": "{format: xml, path: clicks, row_tag: click}",
    "kafka": "{format: kafka, servers: 'localhost:9092', topic: clicks, value: text}",
    "rate": "{format: rate}",
    "socket": "{format: socket, port: 9999}",
}


def known_formats() -> set[str]:
    """Every format that a source may have, as the schema for editors says."""
    formats = [
        definition.get("properties", {}).get("format", {}) for definition in json_schema()["$defs"].values()
    ]
    return {
        name for found in formats for name in found.get("enum", [found["const"]] if "const" in found else [])
    }


SOURCES = {name: declared for name, declared in DECLARED.items() if name in known_formats()}
TRIGGERS = ("available-now", "once", "as-fast-as-possible", "30 seconds", "continuous 1 second")
MODES = ("append", "update", "complete")
FROM = "from: silver.clicks, "
HALF = "watermark: 10 minutes, "
SIDES = (
    "left: {from: silver.clicks, watermark: 10 minutes}, right: {from: silver.orders, watermark: 10 minutes}"
)
JOIN = (
    f"{SIDES}, on: user, within: {{before: 5 minutes, after: 5 minutes}}, take: {{a: left.id, b: right.id}}"
)
STATE = "key: user, columns: {user: string, rows: int}"
KINDS = {
    "windows": f"{FROM}window: {{size: 10 minutes}}, measures: {{n: count(*)}}",
    "windows, watermark": f"{FROM}{HALF}window: {{size: 10 minutes}}, measures: {{n: count(*)}}",
    "windows, late kept": (
        f"{FROM}{HALF}late: keep, window: {{size: 10 minutes, slide: 5 minutes}}, measures: {{n: count(*)}}"
    ),
    "sessions": f"{FROM}window: {{gap: 10 minutes}}, group_by: user, measures: {{n: count(*)}}",
    "sessions, watermark": (
        f"{FROM}{HALF}window: {{gap: 10 minutes}}, group_by: user, measures: {{n: count(*)}}"
    ),
    "sessions, late kept": (
        f"{FROM}{HALF}late: keep, window: {{gap: 10 minutes}}, group_by: user, measures: {{n: count(*)}}"
    ),
    "groups": f"{FROM}group_by: user, measures: {{n: count(*)}}",
    "groups, watermark": f"{FROM}{HALF}group_by: user, measures: {{n: count(*)}}",
    "sql": "sql: sql/users.sql",
    "python": "python: hooks/count.py:count_users, inputs: silver.clicks",
    "state": f"{FROM}{HALF}state: hooks/count.py:Count, {STATE}",
    "state, by the clock": f"{FROM}timers: processing, state: hooks/count.py:Count, {STATE}",
    "state, no watermark": f"{FROM}state: hooks/count.py:Count, {STATE}",
    "dedup": f"{FROM}dedup: {{on: id, within: 1 hour}}",
    "dedup, repaired": f"{FROM}late: repair, dedup: {{on: id, within: 1 hour}}",
    "dedup of versions": "from: silver.newest, dedup: {on: id, within: 1 hour}",
    "inner join": f"join: {{kind: inner, {JOIN}}}",
    "left join": f"join: {{kind: left, {JOIN}}}",
    "full join": f"join: {{kind: full, watermark_policy: max, {JOIN}}}",
    "join of versions": f"join: {{kind: left, {JOIN}}}".replace("silver.orders", "silver.newest"),
}
RUN = {
    "windows": {"update", "complete"}, "windows, watermark": {"append", "update"}, "windows, late kept": {"append", "update"},
    "sessions": {"update", "complete"}, "sessions, watermark": {"append", "update"}, "groups": {"complete"}, "sql": {"complete"},
    "python": {"complete"}, "state": {"append"}, "state, by the clock": {"append"}, "dedup": {"append"}, "inner join": {"append"},
    "left join": {"append"}, "full join": {"append"},
}  # fmt: skip
"""What must work; all else must be refused."""
VALUES = (
    "id: {type: string, from: value}, user: {type: string, from: value}, at: {type: timestamp, from: value}"
)
TEXT = f"columns: {{{VALUES}}}, event_time: at"
"""A source of text has the one field `value`; what comes of it does not matter to the check."""
SILVER = f"""
silver:
  clicks: {{from: clicks, {TEXT}}}
  orders: {{from: clicks, {TEXT}}}
  newest: {{from: clicks, key: id, {TEXT}}}
"""
HOOKS = '''
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor


def count_users(clicks):
    return clicks.groupBy("user").count()


class Count(StatefulProcessor):
    """Emits how many rows of its key have come so far."""

    def init(self, handle):
        self.seen = handle.getValueState("seen", "rows int")

    def handleInputRows(self, key, rows, timerValues):
        count = (self.seen.get() or (0,))[0] + len(list(rows))
        self.seen.update((count,))
        yield Row(user=key[0], rows=count)

    def close(self):
        pass
'''


def cells() -> Iterator[tuple[str, str, str, str]]:
    yield from product(SOURCES, TRIGGERS, MODES, KINDS)


def write_project(root: Path, source: str, silver: str, tables: dict[str, str]) -> None:
    gold = "\n".join(f"  {name}: {{{definition}}}" for name, definition in tables.items())
    for path, text in {
        "conf/pipelines/matrix.yml": (
            f"pipeline: matrix\nsources: {{clicks: {source}}}\n{silver}\ngold:\n{gold}\n"
        ),
        "conf/sql/users.sql": "SELECT user, count(*) AS n FROM silver.clicks GROUP BY user",
        "conf/hooks/count.py": HOOKS,
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_every_cell_is_allowed_or_refused_with_the_reason(idle_workshop: Workshop, kind: str) -> None:
    for source, mode in product(SOURCES, MODES):
        write_project(idle_workshop.root, SOURCES[source], SILVER, {"it": f"{KINDS[kind]}, emit: {mode}"})
        of_table = check_folder(idle_workshop.root, {})

        assert (not of_table) == (mode in RUN.get(kind, ())), f"{source}, {mode}, {kind}: {of_table}"
        for trigger in TRIGGERS if not of_table else ():
            refusal = refusal_of_trigger(idle_workshop.project.pipelines["matrix"], trigger)
            ends_by_itself = trigger in ("available-now", "once")
            is_refused = trigger == "continuous 1 second" or (source == "socket" and ends_by_itself)
            assert (refusal is not None) == is_refused, f"{source}, {trigger}, {kind}: {refusal}"
            assert refusal is None or (
                refusal.hint and (": " in refusal.message or "so that" in refusal.message)
            )
        for problem in of_table:
            assert problem.line > 1, f"{problem} does not say where"
            assert problem.hint, f"{problem} names no alternative"
            assert ": " in problem.message or "which has no" in problem.message, f"{problem} names no reason"


def refusal_of_trigger(pipeline: Pipeline, trigger: str) -> UsageError | None:
    try:
        check_trigger(pipeline, parse_trigger(trigger))
    except UsageError as refusal:
        return refusal
    return None


def test_the_axes_are_all_there_is() -> None:
    """What can be declared and is not in the matrix would be neither run nor refused by it."""
    from typing import get_args

    from spark_jobs.config.gold import Kind, Mode

    assert known_formats() == set(SOURCES)
    assert set(MODES) == set(get_args(Mode))
    assert {kind.partition(",")[0].split(" ")[-1] for kind in RUN} == {*get_args(Kind)}
    assert len(list(cells())) == len(SOURCES) * len(TRIGGERS) * len(MODES) * len(KINDS)


FILES = (
    ("clicks/1.json", [("a", "u", 0), ("a", "u", 0), ("b", "v", 1)]),
    ("clicks/2.json", [("c", "u", 60)]),
    ("clicks/3.json", [("d", "w", 2), ("e", "u", 61)]),
)
EXPECTED: dict[str, list[tuple[Any, ...]]] = {
    "windows update": [(0, 4), (60, 2)],
    "windows complete": [(0, 4), (60, 2)],
    "windows watermark append": [(0, 4)],
    "windows watermark update": [(0, 4), (60, 2)],
    "windows late kept append": [(-5, 3), (0, 3)],
    "windows late kept update": [(-5, 3), (0, 3), (55, 2), (60, 2)],
    "sessions update": [(0, "u", 2), (1, "v", 1), (2, "w", 1), (60, "u", 2)],
    "sessions complete": [(0, "u", 2), (1, "v", 1), (2, "w", 1), (60, "u", 2)],
    "sessions watermark append": [(0, "u", 2), (1, "v", 1), (2, "w", 1)],
    "sessions watermark update": [(0, "u", 2), (1, "v", 1), (2, "w", 1), (60, "u", 2)],
    "groups complete": [("u", 4), ("v", 1), ("w", 1)],
    "sql complete": [("u", 4), ("v", 1), ("w", 1)],
    "python complete": [("u", 4), ("v", 1), ("w", 1)],
    "state append": [("u", 2), ("u", 3), ("u", 4), ("v", 1)],
    "state by the clock append": [("u", 2), ("u", 3), ("u", 4), ("v", 1), ("w", 1)],
    "dedup append": [("a",), ("b",), ("c",), ("d",), ("e",)],
    "inner join append": [("a", "y"), ("a", "y"), ("c", "x"), ("e", "x")],
    "left join append": [("a", "y"), ("a", "y"), ("b", None), ("c", "x"), ("e", "x")],
    "full join append": [("a", "y"), ("a", "y"), ("b", None), ("c", "x"), ("e", "x")],
}
"""Windows by the minute of their start; the third file is late by an hour for its first row."""


@pytest.mark.spark
def test_every_allowed_cell_gives_its_rows(workshop: Workshop) -> None:
    """Three increments, so that windows close, state is kept over runs and a row comes late."""
    kinds = [
        (f"{kind} {mode}".replace(",", ""), f"{KINDS[kind]}, emit: {mode}")
        for kind in RUN
        for mode in MODES
        if mode in RUN[kind]
    ]
    tables = {name.replace(" ", "_"): definition for name, definition in kinds}
    silver = "silver:\n" + "".join(
        f"  {name}: {{from: {name}, columns: {{id: string, user: string, at: timestamp}}, event_time: at}}\n"
        for name in ("clicks", "orders")
    )
    write_project(
        workshop.root, "{format: json, path: clicks}, orders: {format: json, path: orders}", silver, tables
    )
    workshop.land("orders/1.json", lines([("y", "u", 3)]))
    for number, (file, rows) in enumerate(FILES):
        if number == 1:
            workshop.land("orders/2.json", lines([("x", "u", 63)]))
        workshop.land(file, lines(rows))
        result = workshop.run("matrix")
        assert result.exit_code == 0, result.message

    found = {name: sorted(rows_of(workshop, name.replace(" ", "_")), key=repr) for name in EXPECTED}

    assert {name for name, _ in kinds} == set(EXPECTED)
    assert found == {name: sorted(rows, key=repr) for name, rows in EXPECTED.items()}


OF_STREAMS = """
pipeline: matrix
sources:
  messages: {{format: kafka, servers: "{servers}", topic: matrix, offsets_per_batch: 2}}
  rows: {{format: delta, path: partner}}
  ticks: {{format: rate, rows_per_second: 1}}
silver:
  messages: {{from: messages, columns: {{id: bigint, at: timestamp}}, event_time: at}}
  rows: {{from: rows, columns: {{id: bigint, at: timestamp}}, event_time: at}}
  ticks: {{from: ticks, columns: {{id: {{type: bigint, from: value}}}}}}
gold:
  messages: {{from: silver.messages, window: {{size: 10 minutes}}, measures: {{n: count(*)}}, emit: update}}
  rows: {{from: silver.rows, dedup: {{on: id, within: 1 hour}}, emit: append}}
  ticks: {{from: silver.ticks, group_by: id, measures: {{n: count(*)}}, emit: complete}}
"""


@pytest.mark.spark
def test_streams_give_each_row_once_by_every_other_trigger(
    workshop: Workshop, kafka: "Broker", monkeypatch: pytest.MonkeyPatch
) -> None:
    """One increment each, in one lake, so that every trigger goes on from where another one was."""
    kafka.create_topic("matrix")
    workshop.write("conf/pipelines/matrix.yml", OF_STREAMS.format(servers=kafka.servers))
    for number, trigger in enumerate(("once", "as-fast-as-possible", "1 second")):
        ids = [3 * number + i for i in range(3)]
        at = pa.array([datetime(2026, 3, 1, 10, tzinfo=UTC)] * 3, pa.timestamp("us", "UTC"))
        kafka.send("matrix", *(json.dumps({"id": i, "at": "2026-03-01T10:00:00Z"}) for i in ids))
        write_deltalake(str(workshop.landing / "partner"), pa.table({"id": ids, "at": at}), mode="append")

        result = stream_one_increment(workshop, trigger, monkeypatch)

        assert result.exit_code == 0, f"{trigger}: {result.message}"
        found = {
            name: [i for (i,) in workshop.rows(f"matrix.silver.{name}", "id")]
            for name in ("messages", "rows", "ticks")
        }
        assert sorted(found["messages"]) == sorted(found["rows"]) == list(range(3 * number + 3)), trigger
        assert sorted(found["ticks"]) == list(range(len(found["ticks"]))), trigger
        assert workshop.rows("matrix.gold.messages", "n") == [(3 * number + 3,)], trigger
        assert sorted(i for (i,) in workshop.rows("matrix.gold.rows", "id")) == list(range(3 * number + 3)), (
            trigger
        )
        assert sorted(workshop.rows("matrix.gold.ticks", "id", "n")) == [
            (i, 1) for i in sorted(found["ticks"])
        ], trigger


def stream_one_increment(workshop: Workshop, trigger: str, monkeypatch: pytest.MonkeyPatch) -> RunResult:
    assert workshop.spark is not None
    done: list[RunResult] = []
    monkeypatch.setattr(stopping, "asked_by", lambda: "a test" if done else None)
    orders, pulse = (
        Orders(parse_trigger(trigger), 1, done.append),
        Heartbeat(Health("matrix", trigger, datetime.now(UTC))),
    )
    return stream_pipeline(workshop.project, "matrix", PROFILE, orders, pulse, SharedSession(workshop.spark))


def lines(rows: list[tuple[str, str, int]]) -> str:
    return "".join(
        f'{{"id":"{i}","user":"{user}","at":"2026-03-01T{10 + minute // 60}:{minute % 60:02}:00Z"}}\n'
        for i, user, minute in rows
    )


def rows_of(workshop: Workshop, table: str) -> Iterator[tuple[Any, ...]]:
    for row in workshop.rows(f"matrix.gold.{table}"):
        shown = [value for value in row if not hasattr(value, "isoformat")]
        start = next(iter(row))
        if hasattr(start, "isoformat"):
            minute = start.hour * 60 + start.minute - 600
            yield (minute, *shown[: 2 if table.startswith("sessions") else 1])
        else:
            yield tuple(shown[: 1 if table.startswith("dedup") else 2])
