"""Messages against the offsets of their batch, and topics that are others than before."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from spark_jobs.config.sources import KafkaSource
from spark_jobs.lake.delta_log import count_places
from spark_jobs.lake.layout import Lake
from spark_jobs.landing import arrivals
from spark_jobs.landing.arrivals import last_taken_chunk, read_arrivals
from spark_jobs.landing.broker import read_topic_id
from spark_jobs.landing.feed import Feed, make_feed
from spark_jobs.landing.streams import (
    Range,
    count_misplaced,
    last_tag,
    look_at_stream,
    register_batch,
    register_stream,
)
from tests.conftest import unguarded

BATCH = [
    {"path": "kafka/t/0", "start_line": 11, "size": 3},
    {"path": "kafka/t/1", "start_line": 1, "size": 2},
]


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ({"kafka/t/0": [11, 12, 13], "kafka/t/1": [2]}, {}),
        ({"kafka/t/0": [12]}, {}),
        ({}, {}),
        ({"kafka/t/0": [11, 12, 12], "kafka/t/1": [1]}, {"kafka/t/0": 1}),
        ({"kafka/t/0": [10, 11]}, {"kafka/t/0": 2}),
        ({"kafka/t/1": [1, 2, 3]}, {"kafka/t/1": 3}),
        ({"kafka/t/2": [1]}, {"kafka/t/2": 1}),
    ],
)
def test_messages_that_are_there_twice_or_outside_of_what_was_read_are_counted(
    tmp_path: Path, lines: dict[str, list[int]], wrong: dict[str, int]
) -> None:
    rows = [{"_file": path, "_line": line, "_chunk": 7} for path, known in lines.items() for line in known]
    other = {"_file": "kafka/t/0", "_line": 1, "_chunk": 6}
    write_deltalake(tmp_path / "bronze", pa.Table.from_pylist([*rows, other]))

    assert count_misplaced(BATCH, count_places(str(tmp_path / "bronze"), 7)) == wrong


NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def topic(tmp_path: Path) -> Feed:
    source = KafkaSource.model_validate({"format": "kafka", "servers": "localhost:9092", "topic": "t"})
    return make_feed(Lake(str(tmp_path), "shop"), str(tmp_path), "orders", source, unguarded)


@pytest.mark.parametrize(("end", "ahead"), [(10, []), (12, [(11, 2)]), (4, [(11, 1)])])
def test_a_topic_that_ends_before_what_was_read_of_it_is_not_up_to_date(
    topic: Feed, monkeypatch: pytest.MonkeyPatch, end: int, ahead: list[tuple[int, int]]
) -> None:
    register_batch(topic, "1.0", [Range("kafka/t/0", 0, 10)], NOW)
    monkeypatch.setattr("spark_jobs.landing.streams.read_ends", lambda *_: {0: (0, end)})

    look = look_at_stream(topic, NOW, consumed=1, settings={})

    assert [(row["start_line"], row["size"]) for row in look.rows] == ahead


def test_the_chunks_of_a_topic_are_put_together_where_they_are_many(
    topic: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "MOST_FILES", 2)
    monkeypatch.setattr("spark_jobs.landing.streams.read_ends", lambda *_: {0: (0, 9)})
    counts = []
    for number in range(4):
        register_stream(topic, NOW, last_taken_chunk(topic.arrivals), settings={})
        register_batch(topic, f"1.{number}", [Range("kafka/t/0", number, number + 1)], NOW)
        counts.append(len(DeltaTable(topic.arrivals).file_uris()))
    assert counts == [1, 2, 2, 2]
    assert [row["start_line"] for row in read_arrivals(topic.arrivals)] == [1, 2, 3, 4]


def test_brokers_that_do_not_describe_their_topics_stop_nothing(
    topic: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spark_jobs.landing.broker.TIMEOUT_SECONDS", 1)
    assert isinstance(topic.source, KafkaSource)
    assert read_topic_id(topic.source.model_copy(update={"servers": "127.0.0.1:9"}), {}) is None


def test_the_id_of_a_topic_is_kept_with_its_batches(topic: Feed) -> None:
    assert last_tag(topic) is None
    for number, tag in enumerate((None, "first", "second")):
        register_batch(topic, f"1.{number}", [Range("kafka/t/0", number, number + 1)], NOW, tag)
    register_batch(topic, "1.1", [Range("kafka/t/0", 1, 2)], NOW, "third")
    assert last_tag(topic) == "second"
