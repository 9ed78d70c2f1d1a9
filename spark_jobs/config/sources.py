"""Where the records of a pipeline come from: `sources` of the pipeline file."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from spark_jobs.config.model import Model
from spark_jobs.config.names import Duration, RelativePath

FILE_FORMATS = ("json", "csv", "parquet", "text", "avro", "orc", "xml")
RecordFormat = Literal["json", "csv", "parquet", "text", "avro", "orc", "xml"]


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


Paths = Annotated[list[str], BeforeValidator(_as_list, json_schema_input_type=str | list[str])]


class FileSource(Model):
    """A landing folder of files of one format."""

    format: RecordFormat = Field(
        description="json: one object a line; csv: with a header line; text: one record a line; parquet, avro, orc: one record a row; "
        "xml: one record per element row_tag"
    )
    path: RelativePath = Field(description="folder below the landing root; its sub-folders belong to it")
    pattern: str = Field("*", description="only files whose name matches this glob", min_length=1, max_length=200)
    files_per_batch: int = Field(500, ge=1, le=100_000, description="files that one micro-batch takes at most")
    bytes_per_batch: int | None = Field(None, ge=1, description="bytes that one micro-batch takes; a larger file is a batch of its own")
    delimiter: str = Field(",", min_length=1, max_length=1, description="csv only: between the fields")
    fields: str | None = Field(
        None, min_length=1, max_length=5000, description="text only: a regular expression for the whole line; its named groups are fields"
    )
    row_tag: str | None = Field(None, min_length=1, max_length=200, description="xml only: the element that is one record")
    lists: Paths = Field(default_factory=list, description="xml only: paths of elements that may occur several times")
    settle: Duration | None = Field(None, description="files modified more recently than this wait for a later run")
    same_content: Literal["take", "skip"] = Field(
        "take", description="a file that says exactly what another one said: take it, or skip it and name it in the arrivals"
    )
    changed: Literal["refuse", "take"] = Field(
        "refuse", description="a path that was taken before and has other content now: refuse it, or take what is new"
    )
    idle_after: Duration | None = Field(None, description="nothing arrived for so long: the windows that are still open are closed")

    @property
    def record_format(self) -> RecordFormat:
        """What the text of a bronze record is."""
        return self.format


Source = FileSource
