"""Where the records of a pipeline come from: `sources` of the pipeline file, one model per kind.

Files are registered as arrivals before Spark starts. The other kinds are streams: Spark's own source says
what is new, and each of its batches is registered when it begins. All end in the same bronze rows.
"""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from spark_jobs.config.file_source import BYTES_PER_RECORD, IDLE_AFTER, FileSource, RecordBytes, RecordFormat
from spark_jobs.config.names import Duration, Model, Name, RelativePath
from spark_jobs.config.sinks import Servers, Topic

__all__ = ["BYTES_PER_RECORD", "FileSource"]  # what is imported and belongs to them all the same

MESSAGE_FIELDS = frozenset(("_key", "_headers", "_timestamp", "_partition", "_offset", "_tombstone"))
"""What a record has from its message: a value that has a field of such a name is quarantined."""
KEPT_VALUE = frozenset(("_value", "_bytes"))
"""Where the value of a message stands that is none of what its source expects."""
CHANGE_FIELDS = frozenset(("_change_type", "_commit_version"))


BRONZE_FIELDS = frozenset(
    ("_file", "_file_id", "_line", "_file_modified_at", "_arrived_at", "_chunk", "_problem")
)
"""Columns of bronze beside the record: no field of it. Of files some can be taken: see ROW_ORIGINS."""


class StreamSource(Model):
    """What the kinds that are no files share: records are JSON objects, with what the message says beside its
    value in fields with _.
    """

    @property
    def record_format(self) -> RecordFormat:
        return "json"

    @property
    def fields(self) -> None:
        return None

    @property
    def own_fields(self) -> frozenset[str]:
        """Fields that a record has from its message or its change, not from its value."""
        return frozenset()

    def origin_of(self, _: str | None) -> str | None:
        """What a column takes of where a record came from, and not of the record: of files alone."""
        return None

    @property
    def is_live(self) -> bool:
        """Whether it keeps nothing, so that only a query that never ends can read it."""
        return False

    @property
    def is_stream(self) -> bool:
        """Whether its batches are what arrives, not files."""
        return True

    @property
    def is_change_feed(self) -> bool:
        """Whether its records are changes, which have an order of their own."""
        return False


class KafkaSource(StreamSource):
    """The messages of a topic."""

    format: Literal["kafka"]
    servers: Servers = Field(
        description="brokers to begin with, as in localhost:9092; several with commas between them"
    )
    topic: Topic = Field(description="the topic; it is read from its earliest message on")
    value: Literal["json", "avro", "text"] = Field(
        "json", description="what a value is: a JSON object, an Avro record, or any text"
    )
    schema_: RelativePath | None = Field(
        None, alias="schema", description="avro only: the file below conf/ with the schema of the values"
    )
    avro_framing: Literal["none", "confluent"] = Field(
        "none",
        description="avro only: confluent: a magic byte and the number of the schema stand before each value",
    )
    offsets_per_batch: int = Field(
        1_000_000, ge=1, description="messages that one micro-batch takes, of all partitions"
    )
    bytes_per_record: RecordBytes = BYTES_PER_RECORD
    connection: Name | None = Field(
        None, description="entry of the connections file with the settings that are secret"
    )
    idle_after: Duration | None = Field(None, description=IDLE_AFTER)

    @property
    def own_fields(self) -> frozenset[str]:
        return MESSAGE_FIELDS | KEPT_VALUE

    def place(self, _: str) -> str:
        return f"topic {self.topic} at {self.servers}"


class DeltaSource(StreamSource):
    """A Delta table of somebody else: the rows that are added to it, or its changes."""

    format: Literal["delta"]
    path: RelativePath = Field(description="the table's folder below the landing root")
    changes: bool = Field(
        False,
        description=(
            "read its change feed, with _change_type and _commit_version; else it must only be added to"
        ),
    )
    files_per_batch: int = Field(
        500, ge=1, le=100_000, description="data files of the table that one micro-batch takes at most"
    )
    bytes_per_batch: int | None = Field(
        None, ge=1, description="bytes of data files that one micro-batch takes"
    )
    bytes_per_record: RecordBytes = BYTES_PER_RECORD
    idle_after: Duration | None = Field(None, description=IDLE_AFTER)

    @property
    def is_change_feed(self) -> bool:
        return self.changes

    @property
    def own_fields(self) -> frozenset[str]:
        return CHANGE_FIELDS if self.changes else frozenset()

    def place(self, landing: str) -> str:
        return f"{landing}/{self.path}"


class RateSource(StreamSource):
    """Numbered rows by the clock, for development: fields value and timestamp."""

    format: Literal["rate"]
    rows_per_second: int = Field(1, ge=1, le=1_000_000, description="how many rows a second counts")
    idle_after: Duration | None = Field(None, description=IDLE_AFTER)

    def place(self, _: str) -> str:
        return "the clock"


class SocketSource(StreamSource):
    """Lines from a TCP server, for development: fields value and timestamp. Lines that were sent are gone
    when a run ends.
    """

    format: Literal["socket"]
    host: str = Field(
        "127.0.0.1", pattern=r"^[A-Za-z0-9.:-]{1,253}$", description="the server's name or address"
    )
    port: int = Field(ge=1, le=65535, description="the server's port")
    bytes_per_record: RecordBytes = BYTES_PER_RECORD
    idle_after: Duration | None = Field(None, description=IDLE_AFTER)

    @property
    def is_live(self) -> bool:
        return True

    def place(self, _: str) -> str:
        return f"{self.host}:{self.port}"


AnySource = FileSource | KafkaSource | DeltaSource | RateSource | SocketSource


def _kind_of_source(value: object) -> str:
    kind = value.get("format") if isinstance(value, dict) else getattr(value, "format", None)
    return f"({kind})" if kind in ("kafka", "delta", "rate", "socket") else "(files)"


Source = Annotated[
    Annotated[FileSource, Tag("(files)")]
    | Annotated[KafkaSource, Tag("(kafka)")]
    | Annotated[DeltaSource, Tag("(delta)")]
    | Annotated[RateSource, Tag("(rate)")]
    | Annotated[SocketSource, Tag("(socket)")],
    Discriminator(_kind_of_source),
]
