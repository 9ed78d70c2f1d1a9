"""Where the records of a pipeline come from: `sources` of the pipeline file, one model per kind.

Files are registered as arrivals before Spark starts. The other kinds are streams: Spark's own source says
what is new, and each of its batches is registered when it begins. All end in the same bronze rows.
"""

from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator, Discriminator, Field, Tag

from spark_jobs.config.errors import Hinted, did_you_mean
from spark_jobs.config.names import Delimiter, Duration, Model, Name, RelativePath, as_list, shorten
from spark_jobs.config.sinks import Servers, Topic

RecordFormat = Literal["json", "csv", "parquet", "text", "avro", "orc", "xml"]


FORMATS = (*get_args(RecordFormat), "kafka", "delta", "rate", "socket")
MOST_FILES, MOST_BYTES = 20_000, 1024**3
"""Of a batch of files whose source does not say: see `batch_limits`."""
IDLE_AFTER = "nothing arrived for so long: the windows that are still open are closed"


def _known_format(value: object) -> object:
    if isinstance(value, str) and value not in FORMATS:
        raise Hinted(f"{shorten(value)} is not allowed here", did_you_mean(value, FORMATS))
    return value


Paths = Annotated[list[str], BeforeValidator(as_list, json_schema_input_type=str | list[str])]
BYTES_PER_RECORD = 16_000_000
RecordBytes = Annotated[
    int,
    Field(
        ge=1_000,
        le=500_000_000,
        description="bytes that a record may have; a longer one is set aside with its place and size",
    ),
]


class FileSource(Model):
    """A landing folder of files of one format."""

    format: Annotated[RecordFormat, BeforeValidator(_known_format)] = Field(
        description=(
            "json: one object a line; csv: with a header line; text: one record a line; parquet, avro, orc:"
            " one record a row; xml: one record per element row_tag"
        )
    )
    path: RelativePath = Field(description="folder below the landing root; its sub-folders belong to it")
    pattern: str = Field(
        "*", description="only files whose name matches this glob", min_length=1, max_length=200
    )
    files_per_batch: int | None = Field(
        None,
        ge=1,
        le=100_000,
        description=f"files that one micro-batch takes at most; if not given, {MOST_FILES:,}",
    )
    bytes_per_batch: int | None = Field(
        None,
        ge=1,
        description=(
            "bytes that one micro-batch takes; a larger file is a batch of its own; if neither is given,"
            " 1 GiB"
        ),
    )
    bytes_per_record: RecordBytes = BYTES_PER_RECORD
    delimiter: Delimiter = ","
    fields: str | None = Field(
        None,
        min_length=1,
        max_length=5000,
        description="text only: a regular expression for the whole line; its named groups are fields",
    )
    row_tag: str | None = Field(
        None, min_length=1, max_length=200, description="xml only: the element that is one record"
    )
    lists: Paths = Field(
        default_factory=list, description="xml only: paths of elements that may occur several times"
    )
    settle: Duration | None = Field(
        None, description="files modified more recently than this wait for a later run"
    )
    same_content: Literal["take", "skip"] = Field(
        "take",
        description=(
            "a file that says exactly what another one said: take it, or skip it and name it in the arrivals"
        ),
    )
    changed: Literal["refuse", "take"] = Field(
        "refuse",
        description="a path that was taken before and has other content now: refuse it, or take what is new",
    )
    idle_after: Duration | None = Field(None, description=IDLE_AFTER)

    @property
    def batch_limits(self) -> tuple[int, int | None]:
        """The files and bytes at which a chunk of arrivals is cut. Small files are cheap together and dear
        apart, large ones the other way round: so without a word from the pipeline file both count.
        """
        if self.files_per_batch is not None:
            return self.files_per_batch, self.bytes_per_batch
        return MOST_FILES, self.bytes_per_batch or MOST_BYTES

    @property
    def record_format(self) -> RecordFormat:
        """What the text of a bronze record is."""
        return self.format

    @property
    def own_fields(self) -> frozenset[str]:
        return frozenset()

    @property
    def is_stream(self) -> bool:
        return False

    @property
    def is_change_feed(self) -> bool:
        return False

    def place(self, landing: str) -> str:
        """Where it comes from, in words for a person."""
        return f"{landing}/{self.path}"


MESSAGE_FIELDS = frozenset(("_key", "_headers", "_timestamp", "_partition", "_offset", "_tombstone"))
"""What a record has from its message: a value that has a field of such a name is quarantined."""
KEPT_VALUE = frozenset(("_value", "_bytes"))
"""Where the value of a message stands that is none of what its source expects."""
CHANGE_FIELDS = frozenset(("_change_type", "_commit_version"))


BRONZE_FIELDS = frozenset(
    ("_file", "_file_id", "_line", "_file_modified_at", "_arrived_at", "_chunk", "_problem")
)
"""Columns of bronze beside the record: no field of it, and so nothing that a column can be taken from."""


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
