"""Messages as bronze records. What enters: rows of Spark's Kafka source. What leaves: one row per message
with its record, its place and its problem.

A record is the value's JSON object with the message's own fields before its own: _key, _headers (by name),
_timestamp; a message without a value has _tombstone. A value that is no such object is kept as _value (or,
where it is no text, as _bytes in base64), with a problem. So is a value that has one of the message's fields
itself: else a producer could choose the key and the offset that its message counts by.
"""

import hashlib
import io
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.bronze.avro_types import load_fastavro
from spark_jobs.bronze.avro_walk import SHORT, Walker, make_walker
from spark_jobs.bronze.objects import as_text
from spark_jobs.bronze.rows import too_long
from spark_jobs.config.sources import MESSAGE_FIELDS, KafkaSource

MOST_BYTES = 2**31 - 1
PARTITIONS_AT_HAND = 32
CONFLUENT_HEADER = 5
"""A magic byte 0 and the four bytes of the schema's number."""
NOT_AN_OBJECT, NOT_TEXT, NOT_AVRO = (
    "the value is not a JSON object",
    "the value is not UTF-8 text",
    "the value does not fit the Avro schema",
)
KINDS = {
    r"^\s*$": "it is empty",
    r"^\s*\[": "it is an array",
    r'^\s*"': "it is a text in quotes",
    r"^\s*(?:true|false|null)\s*$": "it is true, false or null",
    r"^\s*-?[0-9][0-9.eE+-]*\s*$": "it is a number",
    "^\ufeff": "a byte order mark stands before it",
}
"""What a value is that does not begin as an object, where that can be told."""
TAKES_OWN_NAME = "the value has a field of the message's own name: "
MAY_TAKE_OWN_NAME = rf"(?i){'|'.join(sorted(MESSAGE_FIELDS))}|\\u00[4567]"
"""Nearly no value has such a word, or an escaped letter that may be part of one: only these are parsed to
see.
"""


def message_rows(messages: DataFrame, source: KafkaSource, schema: dict[str, Any] | None) -> DataFrame:
    """`schema` is that of Avro values. Of a message that is longer than a record may be only its place and
    its size are kept.
    """
    longest = source.bytes_per_record
    path = F.concat(F.lit("kafka/"), F.col("topic"), F.lit("/"), F.col("partition").cast("string"))
    measured = messages.select("*", path.alias("_file"), _sent_bytes().alias("_sent"))
    decoded = measured.select("*", *_decode_value(source, schema))
    body = F.when(F.col("_problem").isNull(), F.col("_body")).otherwise(_kept_value())
    record = F.when(F.col("_sent") <= longest, F.concat(_own_fields(), body)).alias("record")
    size = F.coalesce(F.octet_length("record"), F.col("_sent"))
    return decoded.select(record, "_file", "partition", "offset", "timestamp", "_sent", "_problem").select(
        F.when(size <= longest, F.col("record")).alias("record"),
        "_file",
        _file_id(source.topic).alias("_file_id"),
        (F.col("offset") + 1).alias("_line"),
        F.col("timestamp").alias("_file_modified_at"),
        F.when(size > longest, too_long(size, longest)).otherwise(F.col("_problem")).alias("_problem"),
    )


def _sent_bytes() -> Column:
    """The bytes of a message, before anything is made of them."""

    def add(so_far: Column, header: Column) -> Column:
        return so_far + F.octet_length(header.getField("key")) + _bytes_of(header.getField("value"))

    headers = F.coalesce(F.aggregate("headers", F.lit(0), add), F.lit(0))
    return _bytes_of(F.col("key")) + _bytes_of(F.col("value")) + headers


def _bytes_of(content: Column) -> Column:
    return F.coalesce(F.octet_length(content), F.lit(0))


def _file_id(topic: str) -> Column:
    """The start of the hash of where a message stands: looked up, since it is the same for all messages of a
    partition.
    """
    places = [f"kafka/{topic}/{number}" for number in range(PARTITIONS_AT_HAND)]
    known = [
        F.lit(part)
        for number, place in enumerate(places)
        for part in (number, hashlib.sha256(place.encode()).hexdigest()[:16])
    ]
    hashed = F.substring(F.sha2(F.col("_file").cast("binary"), 256), 1, 16)
    return F.coalesce(F.try_element_at(F.create_map(*known), F.col("partition")), hashed)


def _decode_value(source: KafkaSource, schema: dict[str, Any] | None) -> list[Column]:
    """`_body`: what follows the message's own fields, the closing brace included; and `_problem`. Of a
    message that is too long neither.
    """
    is_short = F.col("_sent") <= source.bytes_per_record
    is_absent, text = F.col("value").isNull(), F.col("value").cast("string")
    is_text = F.expr("is_valid_utf8(value)")
    tombstone = F.lit(',"_tombstone":true}')
    if source.value == "text":
        body, problem = (
            F.concat(F.lit(',"value":'), _quoted(text), F.lit("}")),
            F.when(~is_text, F.lit(NOT_TEXT)),
        )
    else:
        if schema is not None:
            reader = _avro_reader(schema, source.avro_framing, source.bytes_per_record)
            read = F.arrow_udf(reader, "struct<text: string, size: bigint>")(F.when(is_short, F.col("value")))  # type: ignore[attr-defined]
            text, size = read.getField("text"), read.getField("size")
            too_long_value = F.when(size.isNotNull(), too_long(size, source.bytes_per_record))
            problem = F.when(text.isNull(), F.coalesce(too_long_value, F.lit(NOT_AVRO)))
        else:
            is_object = is_text & (text.startswith("{") | text.rlike(r"^\s*\{"))
            problem = F.when(~is_text, F.lit(NOT_TEXT)).when(~is_object, _say_kind(text))
        problem = F.coalesce(problem, _taken_name(text))
        rest = F.substring(text, F.instr(text, "{") + 1, F.length(text))
        body = F.concat(F.when(text.rlike(r"^\s*\{\s*\}"), F.lit("")).otherwise(F.lit(",")), rest)
        # nearly always the first field follows at once: bytes are cut off sooner than characters
        if schema is None:
            after_brace = F.substring(F.col("value"), 2, MOST_BYTES).cast("string")
            body = F.when(text.startswith('{"'), F.concat(F.lit(","), after_brace)).otherwise(body)
    whole = F.when(is_absent, tombstone).otherwise(body)
    return [F.when(is_short, whole).alias("_body"), F.when(is_short & ~is_absent, problem).alias("_problem")]


def _say_kind(text: Column) -> Column:
    kinds = F.coalesce(
        *(F.when(text.rlike(pattern), F.lit(f"{NOT_AN_OBJECT}: {kind}")) for pattern, kind in KINDS.items())
    )
    return F.coalesce(kinds, F.lit(NOT_AN_OBJECT))


def _taken_name(text: Column) -> Column:
    """The problem of a value that names a field of the message, in whatever case and spelling; else NULL."""
    taken = F.array_intersect(
        F.transform(F.json_object_keys(text), F.lower), F.array(*map(F.lit, sorted(MESSAGE_FIELDS)))
    )
    named = F.when(
        F.size(taken) > 0, F.concat(F.lit(TAKES_OWN_NAME), F.array_join(F.array_sort(taken), ", "))
    )
    return F.when(
        text.rlike(MAY_TAKE_OWN_NAME), F.when(taken.isNull(), F.lit(NOT_AN_OBJECT)).otherwise(named)
    )


def _own_fields() -> Column:
    headers = F.when(
        F.size("headers") > 0, F.array_join(F.transform(_last_of_each_name(), _header), ",")
    ).otherwise(F.lit(""))
    at = F.date_format("timestamp", "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'")
    place = F.concat(
        F.lit(',"_partition":'),
        F.col("partition").cast("string"),
        F.lit(',"_offset":'),
        F.col("offset").cast("string"),
    )
    named = F.concat(F.lit(',"_headers":{'), headers, F.lit("}"))
    return F.concat(
        F.lit('{"_key":'),
        _quoted(_text_of(F.col("key"))),
        named,
        F.lit(',"_timestamp":"'),
        at,
        F.lit('"'),
        place,
    )


def _last_of_each_name() -> Column:
    """The headers, of several with one name the last: a record names each field once."""

    def is_last(header: Column, at: Column) -> Column:
        later = F.slice("headers", at + 2, F.size("headers"))
        return ~F.exists(later, lambda other: other.getField("key") == header.getField("key"))

    return F.filter("headers", is_last)


def _header(header: Column) -> Column:
    return F.concat(_quoted(header.getField("key")), F.lit(":"), _quoted(_text_of(header.getField("value"))))


def _kept_value() -> Column:
    is_text = F.expr("is_valid_utf8(value)")
    kept = F.when(is_text, F.concat(F.lit(',"_value":'), _quoted(F.col("value").cast("string"))))
    return F.concat(kept.otherwise(F.concat(F.lit(',"_bytes":"'), F.base64("value"), F.lit('"'))), F.lit("}"))


def _text_of(content: Column) -> Column:
    """The text, or in base64 what is none; NULL stays NULL."""
    return F.when(F.call_function("is_valid_utf8", content), content.cast("string")).otherwise(
        F.base64(content)
    )


def _quoted(text: Column) -> Column:
    """As JSON: in quotes and escaped, or null."""
    in_array = F.to_json(F.array(text))
    return F.substring(in_array, F.lit(2), F.length(in_array) - 2)


def _avro_reader(schema: dict[str, Any], framing: str, longest: int) -> Callable[[pa.Array], pa.Array]:
    def read(values: pa.Array) -> pa.Array:
        fastavro = load_fastavro()
        walker = make_walker(fastavro.parse_schema(schema), longest)
        found = [_read_avro(fastavro, walker, value, framing, longest) for value in values.to_pylist()]
        return pa.array(found, pa.struct([("text", pa.string()), ("size", pa.int64())]))

    return read


def _read_avro(
    fastavro: Any, walker: Walker, value: bytes | None, framing: str, longest: int
) -> dict[str, Any]:
    """The value as JSON: no text where it is not exactly one record of the schema, is nested too deeply, or
    has a key twice in a map. One that holds more than a record may, in items that take no bytes, is not
    spelled out: it has a size instead.
    """
    if value is None or (framing == "confluent" and (len(value) < CONFLUENT_HEADER or value[0] != 0)):
        return {}
    body = value[CONFLUENT_HEADER:] if framing == "confluent" else value
    content = io.BytesIO(body)
    try:
        walked = SHORT if walker.is_short(len(body), longest) else walker.walk(body, 0)
        if walked.size > longest:
            return {"size": walked.size}
        if walked.has_key_twice:
            return {}
        row = fastavro.schemaless_reader(content, walker.schema, None)
    except Exception:  # noqa: BLE001 - fastavro raises anything from IndexError to struct.error; the message is kept, with a problem
        return {}
    return {"text": as_text(row if isinstance(row, dict) else {"value": row})} if not content.read(1) else {}


def read_schema(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found
