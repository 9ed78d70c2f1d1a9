"""Where published rows go beside Delta: `sinks` of the pipeline file. Each is a node sink.<name> behind its
table.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from spark_jobs.config.errors import Hinted
from spark_jobs.config.names import ColumnName, Model, Name, Names, RelativePath, shorten

Mode = Literal["append", "update", "complete"]
SystemColumns = ("_valid_from", "_valid_to")
"""Of a dimension with its history: they belong to what a row says."""


def check_target(value: str) -> str:
    """schema.table or table, each a plain identifier: quoted anyway, but never
    anything that needs it.
    """
    if not re.fullmatch(r"([a-z_][a-z0-9_]{0,62}\.)?[a-z_][a-z0-9_]{0,62}", value):
        raise Hinted(
            f"{shorten(value)} is not a table of a database",
            "allowed are lower-case letters, digits and _, as in public.orders",
        )
    return value


def check_topic(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", value) or value in (".", ".."):
        raise Hinted(
            f"{shorten(value)} is not a topic", "allowed are letters, digits, '.', '_' and '-', at most 249"
        )
    return value


def check_servers(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9.\[\]:-]+:\d{1,5}(,[A-Za-z0-9.\[\]:-]+:\d{1,5})*", value):
        raise Hinted(
            f"{shorten(value)} is not a list of brokers", "write host:port, several with commas between them"
        )
    return value


Target = Annotated[str, AfterValidator(check_target)]
Topic = Annotated[str, AfterValidator(check_topic)]
Servers = Annotated[str, AfterValidator(check_servers)]
Function = Annotated[str, Field(pattern=r"^hooks/[A-Za-z0-9_]+(/[A-Za-z0-9_]+)*\.py:[A-Za-z_][A-Za-z0-9_]*$")]

FROM: Any = Field(
    alias="from", description="the table: dimension.<name>, silver.<name> or gold.<name> of this pipeline"
)
COLUMNS: Any = Field(
    None, min_length=1, description="the columns that are delivered; without it all but the system's"
)
OPERATION: Any = Field(
    None,
    description=(
        "append: every change is a row, and this column says insert, update or delete; without it the table"
        " must only grow"
    ),
)
KEY: Any = Field(
    None, min_length=1, description="column or columns that identify a row; without it those of the table"
)


class FileSink(Model):
    """Files in a folder below the exports root; readers read `<path>/current`."""

    from_: str = FROM
    to: Literal["files"]
    format: Literal["parquet", "csv", "json"] = Field(
        description="parquet; csv with a header line; json: one object a line"
    )
    path: RelativePath = Field(description="folder below the exports root; it belongs to this sink")
    mode: Mode = Field("append", description="append: new rows; complete: the whole table each time")
    columns: Names | None = COLUMNS
    operation: ColumnName | None = OPERATION
    compact_after: int = Field(
        20, ge=2, le=10_000, description="when so many batches have come, their files are put into one"
    )
    formulas: Literal["keep", "neutralise"] = Field(
        "keep",
        description=(
            "csv only: what a spreadsheet takes for a formula stays as it is, or gets an apostrophe before it"
        ),
    )


class KafkaSink(Model):
    """Messages on a topic, by key; a delete is a message without a value."""

    from_: str = FROM
    to: Literal["kafka"]
    servers: Servers = Field(description="brokers to begin with, as in localhost:9092")
    topic: Topic = Field(description="its messages are this sink's")
    mode: Mode = Field(
        "update",
        description="update: the newest state by key; append: new rows, or every change with operation",
    )
    key: Names | None = KEY
    columns: Names | None = COLUMNS
    operation: ColumnName | None = OPERATION
    options: dict[str, str] = Field(
        default_factory=dict, description="further settings of the producer, without secrets"
    )
    connection: Name | None = Field(
        None, description="entry of the connections file with the settings that are secret"
    )


class JdbcSink(Model):
    """Rows of a table in PostgreSQL, written in one transaction per batch."""

    from_: str = FROM
    to: Literal["jdbc"]
    connection: Name = Field(description="entry of the connections file: url, user, password_file")
    table: Target = Field(
        description=(
            "the table, as in public.orders; it belongs to this sink, which makes it where it is not there"
        )
    )
    mode: Mode = Field(
        "update",
        description=(
            "update: upserts and deletes by key; append: new rows; complete: the whole table each time"
        ),
    )
    key: Names | None = KEY
    columns: Names | None = COLUMNS
    operation: ColumnName | None = OPERATION


class PythonSink(Model):
    """A function of the user's, called for each row or each batch."""

    from_: str = FROM
    to: Literal["python"]
    function: Function = Field(description="file below conf/hooks and function, as in hooks/push.py:send")
    per: Literal["row", "batch"] = Field(
        "batch", description="batch: called with a DataFrame; row: with each row, on the executors"
    )
    mode: Mode = Field(
        "update", description="update: changes by key; append: new rows; complete: the whole table each time"
    )
    key: Names | None = KEY
    columns: Names | None = COLUMNS
    operation: ColumnName | None = OPERATION


class ConsoleSink(Model):
    """The first rows of each batch among the lines of a run; sensitive values are masked."""

    from_: str = FROM
    to: Literal["console"]
    rows: int = Field(20, ge=1, le=1000, description="how many rows of a batch are shown")
    mode: Mode = Field(
        "update", description="update: changes by key; append: new rows; complete: the whole table each time"
    )
    key: Names | None = KEY
    columns: Names | None = COLUMNS
    operation: ColumnName | None = OPERATION


class MemorySink(Model):
    """A view in the session of the run: global_temp.<pipeline>__<name>."""

    from_: str = FROM
    to: Literal["memory"]
    rows: int = Field(
        10_000, ge=1, le=1_000_000, description="how many rows the view has at most; more fail the sink"
    )
    mode: Mode = Field(
        "complete",
        description="complete: the whole table; append and update: the changes that came in this session",
    )
    key: Names | None = KEY
    columns: Names | None = COLUMNS
    operation: ColumnName | None = OPERATION


KINDS = {
    "files": FileSink,
    "kafka": KafkaSink,
    "jdbc": JdbcSink,
    "python": PythonSink,
    "console": ConsoleSink,
    "memory": MemorySink,
}
COMPONENTS = {"kafka": "kafka", "jdbc": "postgres"}
"""What a kind of sink needs beside Delta, as `weir setup --with` calls it."""
AnySink = FileSink | KafkaSink | JdbcSink | PythonSink | ConsoleSink | MemorySink


def _kind_of_sink(value: object) -> str | None:
    to = value.get("to") if isinstance(value, dict) else getattr(value, "to", None)
    return f"({to})" if isinstance(to, str) and to in KINDS else None


Sink = Annotated[
    Annotated[FileSink, Tag("(files)")]
    | Annotated[KafkaSink, Tag("(kafka)")]
    | Annotated[JdbcSink, Tag("(jdbc)")]
    | Annotated[PythonSink, Tag("(python)")]
    | Annotated[ConsoleSink, Tag("(console)")]
    | Annotated[MemorySink, Tag("(memory)")],
    Discriminator(_kind_of_sink),
]


def declared_key(sink: AnySink) -> list[str] | None:
    return None if isinstance(sink, FileSink) else sink.key
