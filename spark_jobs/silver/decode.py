"""From bronze records to typed columns. What enters: bronze rows. What leaves: one row per record (or per element of `explode`) with the
declared columns, `_reasons` (why it cannot be published: empty for a good row), `_is_filtered`, `_is_delete`, where it came from
(`_element`: its position in an exploded record of `_elements`, from 1; else 0), and for a bad row its text: sorting and keeping the text
of every good row would double the work of a load.

Scalars are taken as text and then cast, so that a value that does not fit is named with its column, and JSON and CSV follow one rule.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.expectations import Rule
from spark_jobs.config.pipeline import Columns
from spark_jobs.config.types import decimal_precision, is_complex
from spark_jobs.quality.predicates import fails, shown_value
from spark_jobs.silver.log_lines import line_fields
from spark_jobs.silver.rest import rest_of

ORIGIN = ("_file", "_file_id", "_line", "_arrived_at")
PLACE = (*ORIGIN, "_chunk")
REASON = "struct<rule:string,column:string,value:string>"
OBJECT = r"^\s*\{"
ISO_DATE = r"^\d{4}-\d{1,2}-\d{1,2}"
DIGITS_OF_A_DOUBLE = 15
VALUE_LENGTH = 200

Reason = tuple[Column, Column]
"""When it applies, and what it says."""


@dataclass(frozen=True)
class Decoding:
    """How the records of a table's source become its columns. A version that deletes needs only its `identity`, the key and sequence."""

    source_format: str
    columns: Columns
    explode: str | None = None
    where: str | None = None
    required: tuple[str, ...] = ()
    event_time: str | None = None
    future: str | None = None
    delete_when: str | None = None
    identity: tuple[str, ...] = ()
    fields: str | None = None
    """Of a text source: the expression whose groups are the fields of a line."""
    own_fields: frozenset[str] = frozenset()
    """Fields that a record has from its message, and not from its value."""

    def path_of(self, name: str) -> tuple[str, ...]:
        """Fields of a CSV header are taken by their whole name; elsewhere dots lead into objects."""
        origin = self.columns[name].from_ or name
        return (origin,) if self.source_format == "csv" else tuple(origin.split("."))

    @property
    def taken_paths(self) -> set[tuple[str, ...]]:
        """The fields that columns take, and those that a record has from its message."""
        taken = {self.path_of(name) for name, column in self.columns.items() if column.has_path}
        return taken | {(name,) for name in self.own_fields} | ({self.explode_path} if self.explode_path else set())

    @property
    def explode_path(self) -> tuple[str, ...] | None:
        return tuple(self.explode.split(".")) if self.explode else None


@dataclass
class _Node:
    """A field of the record: an object with fields, or a leaf of some type. `elements` says that it is an array of these."""

    fields: dict[str, "_Node"] = field(default_factory=dict)
    leaf: str = "string"
    elements: bool = False

    def ddl(self) -> str:
        inner = ",".join(f"`{name}`:{node.ddl()}" for name, node in self.fields.items())
        kind = f"struct<{inner}>" if self.fields else self.leaf
        return f"array<{kind}>" if self.elements else kind


def decode(records: DataFrame, how: Decoding, rules: Sequence[Rule] = ()) -> DataFrame:
    """Typed rows with the reasons against them: what does not fit its column, and the rules that the row does not meet."""
    readable = records.where(F.col("_line") > 0)  # line 0 stands for a file that could not be read: no record
    texts = _extract(readable.withColumnRenamed("record", "_record"), how)
    typed = texts.select("*", *_typed_columns(how), _broken_reasons(how).alias("_broken_reasons"))
    computed = typed.select("*", *(F.expr(c.sql).cast(c.type).alias(name) for name, c in how.columns.items() if c.sql))
    is_good = F.size("_reasons") == 0
    is_dropped = ~F.coalesce(F.expr(how.where), F.lit(False)) if how.where else F.lit(False)
    is_delete = F.coalesce(F.expr(how.delete_when), F.lit(False)) if how.delete_when else F.lit(False)
    return (
        computed.withColumn("_is_delete", is_delete & F.col("_has_element") & (F.size("_broken_reasons") == 0))
        .withColumn("_is_dropped", (is_dropped & ~F.col("_is_delete")) | ~F.col("_has_element"))
        .withColumn("_reasons", _all_reasons(how, rules))
        .withColumn("_is_filtered", is_good & F.col("_is_dropped"))
        .withColumn("_record", F.when(~is_good, F.col("_record")))
        .select(*how.columns, "_reasons", "_is_filtered", "_is_delete", "_record", "_element", "_elements", *PLACE)
    )


def _extract(records: DataFrame, how: Decoding) -> DataFrame:
    """Adds `_text_<column>` for each column with a path, `_broken`, and `_has_element`; one row per element where the table explodes."""
    if how.source_format == "text":
        lines = records.withColumn("_fields", line_fields(F.col("_record"), how.fields)) if how.fields else records
        is_broken = F.col("_fields").isNull() & F.col("_problem").isNull() if how.fields else F.lit(False)
        leaves = {name: _line_leaf(how, name) for name, c in how.columns.items() if not c.sql}
        broken = F.when(is_broken, F.col("_record")).cast("string").alias("_broken")
        return lines.select("*", broken, F.lit(True).alias("_has_element"), *_alone(), *_aliased(leaves))
    schema = f"records array<{_field_tree(how).ddl()}>, is_whole boolean, _broken string"
    # A parser stops at the end of the first object. Inside an array, what follows it on the line is an error or a second element, and a
    # line that closes the array itself never comes to `is_whole`: nothing is lost in silence.
    wrapped = F.concat(F.lit('{"records":['), "_record", F.lit('],"is_whole":true}'))
    parsed = records.withColumn("_parsed", F.from_json(wrapped, schema, {"columnNameOfCorruptRecord": "_broken"}))
    flat = parsed.select("*", F.when(F.col("_problem").isNull(), _broken_text()).alias("_broken"))
    path = how.explode_path
    if path is None:
        elements = flat.select("*", F.lit(True).alias("_has_element"), *_alone())
    else:
        array = _get(_first_record(), path)
        count = F.greatest(F.coalesce(F.size(array), F.lit(0)), F.lit(0))
        has_element = F.col("_problem").isNotNull() | F.col("_broken").isNotNull() | (count > 0)
        sized = flat.select("*", has_element.alias("_has_element"), F.greatest(count, F.lit(1)).alias("_elements"))
        elements = sized.select("*", F.posexplode_outer(array).alias("_position", "_item"))
        elements = elements.withColumn("_element", F.coalesce(F.col("_position") + 1, F.lit(1)))
    leaves = {name: _leaf(how, name) for name, c in how.columns.items() if not c.sql}
    return elements.select("_record", "_problem", *PLACE, "_broken", "_has_element", "_element", "_elements", *_aliased(leaves))


def _alone() -> list[Column]:
    """The place of a record that is one row."""
    return [F.lit(0).alias("_element"), F.lit(1).alias("_elements")]


def _broken_text() -> Column:
    """NULL for a record that is one JSON object of the expected shape."""
    is_one = F.col("_parsed.is_whole").isNotNull() & (F.size("_parsed.records") == 1) & _first_record().isNotNull()
    is_object = F.col("_record").rlike(OBJECT)
    is_good = is_one & F.col("_parsed._broken").isNull() & is_object
    return F.when(~F.coalesce(is_good, F.lit(False)), F.col("_record"))


def _first_record() -> Column:
    return F.get("_parsed.records", F.lit(0))


def _field_tree(how: Decoding) -> _Node:
    root = _Node()
    for name, column in how.columns.items():
        if not column.has_path:
            continue
        node, walked = root, tuple[str, ...]()
        for part in how.path_of(name):
            node = node.fields.setdefault(part, _Node())
            walked = (*walked, part)
            node.elements = walked == how.explode_path
        node.leaf = column.type if _is_long_decimal(how, name) else "string"
    if how.explode_path:  # the array must be there even when no column comes out of it
        node = root
        for part in how.explode_path:
            node = node.fields.setdefault(part, _Node())
        node.elements = True
    return root


def _is_long_decimal(how: Decoding, name: str) -> bool:
    """A JSON number reaches a text leaf through a double; where that is too short for the type, the leaf is an exact decimal."""
    column = how.columns[name]
    precision, _ = decimal_precision(column.type) or (0, 0)
    return column.has_path and precision > DIGITS_OF_A_DOUBLE and how.source_format != "csv"


def _leaf(how: Decoding, name: str) -> Column:
    if how.columns[name].rest:
        return rest_of(F.col("_record"), how.taken_paths)
    path, array = how.path_of(name), how.explode_path
    is_in_element = array is not None and path[: len(array)] == array
    value = _get(F.col("_item"), path[len(array or ()) :]) if is_in_element else _get(_first_record(), path)
    return F.nullif(value, F.lit("")) if how.source_format == "csv" else value


def _line_leaf(how: Decoding, name: str) -> Column:
    """The whole line, or one of its fields; a field that is empty is NULL."""
    origin = how.columns[name].from_ or name
    return F.col("_record") if origin == "value" else F.nullif(F.col("_fields").getField(origin), F.lit(""))


def _get(value: Column, path: tuple[str, ...]) -> Column:
    for part in path:
        value = value.getField(part)
    return value


def _aliased(leaves: dict[str, Column]) -> list[Column]:
    return [value.alias(f"_text_{name}") for name, value in leaves.items()]


def _typed_columns(how: Decoding) -> list[Column]:
    return [_cast(F.col(f"_text_{name}"), c.type).alias(name) for name, c in how.columns.items() if not c.sql]


def _cast(text: Column, kind: str) -> Column:
    if kind == "string":
        return text.cast("string")
    if is_complex(kind):
        return _parse(text, kind)
    if kind in ("timestamp", "date"):
        # '12:30' would otherwise become today at 12:30: a row must not depend on the day it is read.
        return F.when(text.rlike(ISO_DATE), text.try_cast(kind))
    return text.try_cast(kind)


def _parse(text: Column, kind: str) -> Column:
    """The value, or NULL where any part of it does not fit: alone, from_json gives a struct of NULLs for text that is no struct."""
    wrapped = F.concat(F.lit('{"value":'), text, F.lit("}"))
    parsed = F.from_json(wrapped, f"value {kind}, _broken string", {"columnNameOfCorruptRecord": "_broken"})
    return F.when(parsed.getField("_broken").isNull(), parsed.getField("value"))


def _broken_reasons(how: Decoding) -> Column:
    """What is wrong with the record as a whole: nothing further is asked of such a row."""
    # With an element behind it, an object that is followed by anything else is not the first of exactly two.
    is_object = F.expr("try_variant_get(try_parse_json(concat('[', _broken, ',0]')), '$[1]', 'int')").isNotNull() & F.col("_broken").rlike(
        OBJECT
    )
    shape = F.when(is_object, F.lit("the record has another shape than its columns expect")).otherwise(F.lit("not one JSON object"))
    if how.fields:
        is_object, shape = F.lit(False), F.lit("the line does not match the fields of its source")
    is_json = how.source_format == "json"
    misfits = _present(*(_misfit(name, how) for name in how.columns if is_json and _is_long_decimal(how, name)))
    of_record = _present(
        _reason("readable", None, F.col("_problem"), when=F.col("_problem").isNotNull()),
        _reason("decodable", None, shape, when=F.col("_broken").isNotNull()),
    )
    return F.when(is_object & (F.size(misfits) > 0), misfits).otherwise(of_record)


def _misfit(name: str, how: Decoding) -> Reason:
    """A long decimal is parsed as such, and one that does not fit breaks its record: its text is looked up once more, to name it."""
    kind, path = how.columns[name].type, "".join(f"['{part}']" for part in how.path_of(name))
    text = F.get_json_object("_broken", f"${path}")
    return _reason(f"type {kind}", name, text, when=text.isNotNull() & text.try_cast(kind).isNull())


def _all_reasons(how: Decoding, rules: Sequence[Rule]) -> Column:
    reasons: list[Reason] = []
    for name, column in how.columns.items():
        is_asked = F.lit(True) if name in how.identity or not how.delete_when else ~F.col("_is_delete")
        if not column.sql:
            text, value = F.col(f"_text_{name}"), F.col(name)
            reasons.append(_reason(f"type {column.type}", name, text, when=text.isNotNull() & value.isNull() & is_asked))
        if column.required or name in how.required:
            is_absent = F.col(name).isNull() if column.sql else F.col(f"_text_{name}").isNull()
            reasons.append(_reason("required", name, F.lit(None), when=is_absent & is_asked))
    if how.event_time and how.future:
        latest = F.col("_arrived_at") + F.expr(f"INTERVAL {how.future}")
        at = F.col(how.event_time)
        is_future = F.coalesce(at > latest, F.lit(False)) & ~F.col("_is_delete")
        reasons.append(_reason(f"at most {how.future} after arrival", how.event_time, at, when=is_future))
    reasons += [_unmet(rule, how) for rule in rules]
    of_row = F.when(F.col("_has_element"), _present(*reasons)).otherwise(_no_reasons())
    return F.when(F.size("_broken_reasons") > 0, F.col("_broken_reasons")).otherwise(of_row)


def _unmet(rule: Rule, how: Decoding) -> Reason:
    """A rule asks nothing of rows that delete or are dropped, nor of a value that was not understood: that is a reason of its own."""
    is_asked = ~F.col("_is_delete") & ~F.col("_is_dropped")
    for name in rule.columns:
        if not how.columns[name].sql:
            is_asked &= F.col(f"_text_{name}").isNull() | F.col(name).isNotNull()
    return _reason(rule.name, ", ".join(rule.columns) or None, shown_value(rule), when=is_asked & fails(rule))


def _reason(rule: str, column: str | None, value: Column, when: Column) -> Reason:
    text = F.substring(value.cast("string"), 1, VALUE_LENGTH)
    return when, F.struct(F.lit(rule).alias("rule"), F.lit(column).cast("string").alias("column"), text.alias("value"))


def _present(*reasons: Reason) -> Column:
    """The reasons that apply. They are built only for a row that has one: for good rows, nearly all, it takes some comparisons."""
    if not reasons:
        return _no_reasons()
    is_bad = reduce(or_, (applies for applies, _ in reasons))
    built = F.array(*(F.when(applies, reason).otherwise(F.lit(None).cast(REASON)) for applies, reason in reasons))
    return F.when(is_bad, F.filter(built, lambda reason: reason.isNotNull())).otherwise(_no_reasons())


def _no_reasons() -> Column:
    return F.array().cast(f"array<{REASON}>")
