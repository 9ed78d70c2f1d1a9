"""A landing folder of files: the keys of `sources.<name>` whose format is one of files."""

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from spark_jobs.config.errors import Hinted, did_you_mean
from spark_jobs.config.names import (
    ROW_ORIGINS,
    Delimiter,
    Duration,
    Model,
    RelativePath,
    as_list,
    shorten,
)
from spark_jobs.config.path_template import is_part, is_template, split_template

RecordFormat = Literal["json", "csv", "parquet", "text", "avro", "orc", "xml"]


FORMATS = (*get_args(RecordFormat), "kafka", "delta", "rate", "socket")
MOST_FILES, MOST_BYTES = 20_000, 1024**3
"""Of a batch of files whose source does not say: see `batch_limits`."""
IDLE_AFTER = "nothing arrived for so long: the windows that are still open are closed"
NO_QUOTE = "none"


def _known_format(value: object) -> object:
    if isinstance(value, str) and value not in FORMATS:
        raise Hinted(f"{shorten(value)} is not allowed here", did_you_mean(value, FORMATS))
    return value


def _check_mark(value: str) -> str:
    """A character of CSV that is one byte, and none that values begin with."""
    if len(value) != 1 or not value.isascii() or not value.isprintable() or value.isalnum() or value == " ":
        hint = "write one character of ASCII that is no letter, digit or space, as in '#', \"'\" or '\\'"
        raise Hinted(f"{shorten(value)} is not one such character", hint)
    return value


def _check_quote(value: str) -> str:
    return value if value == NO_QUOTE else _check_mark(value)


def _check_header(value: object) -> object:
    if isinstance(value, bool):
        return value
    names = value if isinstance(value, list) else []
    hint = "write the name of each field of a row once, in their order; or false, and take fields by number"
    if not names or not all(isinstance(name, str) for name in names):
        what = "is neither true, nor false, nor a list of names"
        raise Hinted(f"{shorten(value)} {what}", f"{hint}. Numbers as names are put in quotes")
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise Hinted(f"the list of names has {shorten(repeated[0])} twice", hint)
    if any(not name or name != name.strip() for name in names):
        raise Hinted("the list of names has an empty one, or one with spaces around it", hint)
    return names


Paths = Annotated[list[str], BeforeValidator(as_list, json_schema_input_type=str | list[str])]
Mark = Annotated[str, AfterValidator(_check_mark)]
Header = Annotated[bool | list[str], BeforeValidator(_check_header, json_schema_input_type=bool | list[str])]
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
            "json: one object a line; csv: one record a row; text: one record a line; parquet, avro, orc:"
            " one record a row; xml: one record per element row_tag"
        )
    )
    path: RelativePath = Field(
        description=(
            "folder below the landing root; its sub-folders belong to it. orders/dt={day} is short for the"
            " folder orders and path_fields"
        )
    )
    path_fields: str | None = Field(
        None,
        min_length=1,
        max_length=5000,
        description=(
            "a regular expression for the whole path below the folder; columns take its named groups, as in"
            " from: _path.day"
        ),
    )
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
    header: Header = Field(
        True,
        description=(
            "csv only: true: the first row has the names of fields; a list: there is no such row, and these"
            " are the names; false: there is none, and fields are taken by number, as in from: 2"
        ),
    )
    skip_lines: int = Field(
        0,
        ge=0,
        le=1_000,
        description="csv and text: so many lines at the beginning of a file are none of its records",
    )
    comment: Mark | None = Field(
        None, description="csv and text: lines that begin with this character are no records"
    )
    quote: Annotated[str, AfterValidator(_check_quote)] = Field(
        '"', description=f"csv only: the character around values; {NO_QUOTE}: quotes are text like any other"
    )
    escape: Mark | None = Field(
        None, description="csv only: before a quote, a delimiter or itself it makes these plain text"
    )
    trailing_delimiter: bool = Field(
        False, description="csv only: empty fields behind the last name are passed over"
    )
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

    @model_validator(mode="before")
    @classmethod
    def _split_path(cls, keys: Any) -> Any:
        if not isinstance(keys, dict) or not is_template(keys.get("path")):
            return keys
        if keys.get("path_fields") is not None:
            message = "'path_fields' is incompatible with a path that has names in braces"
            raise Hinted(message, "say the parts of the path in one of the two")
        folder, expression = split_template(keys["path"])
        return {**keys, "path": folder, "path_fields": expression}

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
    def quotes(self) -> str | None:
        """The character around values, where there is one."""
        return None if self.quote == NO_QUOTE else self.quote

    def parts_of_path(self, file: str) -> dict[str, str | None] | None:
        """By their names what `path_fields` finds in the path of a file; None where it does not match. RE2
        reads the expression, wherever it is read.
        """
        import pyarrow as pa
        import pyarrow.compute as pc  # only where a source has parts of paths

        below = file.removeprefix(f"{self.path}/")
        if below == file:
            return None
        found = pc.extract_regex(pa.scalar(below), f"^(?:{self.path_fields})$").as_py()
        return None if found is None else {name: text or None for name, text in found.items()}

    def is_passed_over(self, line: int, record: str | None) -> bool:
        """Whether a line of text is a record of bronze and none of any table: a header line or a comment. CSV
        is rid of them before bronze.
        """
        is_comment = self.comment is not None and record is not None and record.startswith(self.comment)
        return self.format == "text" and (line <= self.skip_lines or is_comment)

    def origin_of(self, taken: str | None) -> str | None:
        """What a column takes, by its `from`, of where a record came from: None for a field of the record."""
        is_named = self.path_fields is not None and taken is not None and is_part(taken)
        return taken if taken in ROW_ORIGINS or is_named else None

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
