"""What the rows of a table follow: keys that came later leave the definitions of tables without them as they
were.
"""

from pathlib import Path
from typing import Any

import pytest

from spark_jobs.config.definition import definition_parts, harmful_changes
from spark_jobs.config.pipeline import Pipeline


def pipeline(event_time: Any) -> Pipeline:
    clicks = {"from": "clicks", "columns": {"at": "timestamp"}, "event_time": event_time}
    sources = {"clicks": {"format": "json", "path": "clicks"}}
    return Pipeline.model_validate({"pipeline": "web", "sources": sources, "silver": {"clicks": clicks}})


@pytest.mark.parametrize(
    ("event_time", "parts"),
    [
        ("at", {"column": "at", "future": "1 day"}),
        ({"column": "at", "past": "520 weeks"}, {"column": "at", "future": "1 day", "past": "520 weeks"}),
    ],
)
def test_a_bound_in_the_past_is_part_of_a_definition_only_where_it_is_given(
    event_time: Any, parts: dict[str, str], tmp_path: Path
) -> None:
    assert definition_parts(pipeline(event_time), "silver.clicks", tmp_path)["event_time"] == parts


@pytest.mark.parametrize(
    ("changed", "harmful"),
    [
        ({"servers": "new:9092"}, ["servers"]),
        ({"servers": "OLD:9092,new:9092"}, []),
        ({"topic": "other"}, ["topic"]),
        ({"offsets_per_batch": 5}, []),
    ],
)
def test_brokers_with_none_of_the_old_ones_among_them_are_another_source(
    changed: dict[str, Any], harmful: list[str], tmp_path: Path
) -> None:
    def parts(more: dict[str, Any]) -> dict[str, Any]:
        source = {"format": "kafka", "servers": "old:9092", "topic": "clicks"} | more
        web = {
            "pipeline": "web",
            "sources": {"clicks": source},
            "silver": {"clicks": {"from": "clicks", "columns": {"at": "timestamp"}}},
        }
        return definition_parts(Pipeline.model_validate(web), "bronze.clicks", tmp_path)

    assert harmful_changes("bronze.clicks", parts({}), parts(changed)) == harmful


@pytest.mark.parametrize(
    ("take", "part"),
    [
        ("city", ["city"]),
        ({"city": "city"}, ["city"]),
        ({"city": "town", "zip": "code"}, [{"city": "town"}, {"zip": "code"}]),
        ([{"city": "town"}, {"zip": "code"}], [{"city": "town"}, {"zip": "code"}]),
    ],
)
def test_what_a_lookup_takes_is_the_same_part_however_it_is_written(
    take: Any, part: list[Any], tmp_path: Path
) -> None:
    people = {"from": "people", "key": "id", "columns": {"id": "int", "city": "string"}, "sequence_by": "id"}
    clicks = {"from": "clicks", "columns": {"id": "int"}, "lookup": {"people": {"on": "id", "take": take}}}
    sources = {name: {"format": "json", "path": name} for name in ("clicks", "people")}
    web = Pipeline.model_validate(
        {
            "pipeline": "web",
            "sources": sources,
            "dimensions": {"people": people},
            "silver": {"clicks": clicks},
        }
    )

    assert definition_parts(web, "silver.clicks", tmp_path)["lookup"]["people"]["take"] == part


@pytest.mark.parametrize(
    ("file_format", "changed", "bronze", "silver"),
    [
        ("csv", {"header": True, "skip_lines": 0, "quote": '"', "trailing_delimiter": False}, [], []),
        ("csv", {"header": ["at"]}, ["header"], []),
        ("csv", {"header": False}, ["header"], []),
        ("csv", {"skip_lines": 1, "comment": "#"}, ["skip_lines", "comment"], []),
        ("csv", {"quote": "'", "escape": "\\"}, ["quote", "escape"], []),
        ("text", {"skip_lines": 0}, [], []),
        ("text", {"skip_lines": 1, "comment": "#"}, [], ["(lines of its source that are no records)"]),
    ],
)
def test_which_lines_are_records_is_a_matter_of_bronze_for_csv_and_of_tables_for_text(
    file_format: str, changed: dict[str, Any], bronze: list[str], silver: list[str], tmp_path: Path
) -> None:
    def parts(table: str, more: dict[str, Any]) -> dict[str, Any]:
        source = {"format": file_format, "path": "clicks"} | more
        clicks = {"from": "clicks", "columns": {"at": {"type": "string", "from": "value"}}}
        web = {"pipeline": "web", "sources": {"clicks": source}, "silver": {"clicks": clicks}}
        return definition_parts(Pipeline.model_validate(web), table, tmp_path)

    for table, harmful in (("bronze.clicks", bronze), ("silver.clicks", silver)):
        assert harmful_changes(table, parts(table, {}), parts(table, changed)) == harmful
    assert "header" not in parts("bronze.clicks", {})


def test_a_column_that_was_a_field_of_the_record_to_earlier_versions_changes_the_definition(
    tmp_path: Path,
) -> None:
    def parts(taken: str) -> dict[str, Any]:
        clicks = {"from": "clicks", "columns": {"at": {"type": "string", "from": taken}}}
        sources = {"clicks": {"format": "json", "path": "clicks"}}
        web = {"pipeline": "web", "sources": sources, "silver": {"clicks": clicks}}
        return definition_parts(Pipeline.model_validate(web), "silver.clicks", tmp_path)

    assert parts("_file")["(where its rows came from)"] == {"at": "_file"}
    assert "(where its rows came from)" not in parts("at")


def test_parts_of_a_path_belong_to_the_tables_that_take_them_and_fix_its_folder(tmp_path: Path) -> None:
    def parts(table: str, **source: str) -> dict[str, Any]:
        day = {"type": "date", "from": "_path.day"}
        web: dict[str, Any] = {
            "pipeline": "web",
            "sources": {"clicks": {"format": "json", **source}},
            "silver": {
                "days": {"from": "clicks", "columns": {"day": day}},
                "clicks": {"from": "clicks", "columns": {"at": "string"}},
            },
        }
        return definition_parts(Pipeline.model_validate(web), table, tmp_path)

    def changes(table: str, old: dict[str, str], new: dict[str, str]) -> list[str]:
        return harmful_changes(table, parts(table, **old), parts(table, **new))

    short, long = {"path": "in/{day}"}, {"path": "in", "path_fields": "(?P<day>[0-9-]+)/.*"}
    assert changes("bronze.clicks", short, long) == changes("silver.clicks", short, long) == []
    assert changes("silver.days", short, long) == ["(parts of the paths of its source)"]
    assert changes("bronze.clicks", short, {"path": "other/{day}"}) == ["path"]
    assert changes("bronze.clicks", {"path": "in"}, {"path": "other"}) == []


def test_what_dimensions_got_later_is_part_of_a_definition_only_where_it_is_given(tmp_path: Path) -> None:
    people: dict[str, Any] = {"from": "people", "key": "id", "columns": {"id": "int"}, "sequence_by": "id"}

    def parts(more: dict[str, Any]) -> dict[str, Any]:
        web = {
            "pipeline": "web",
            "sources": {"people": {"format": "json", "path": "people"}},
            "dimensions": {"people": people | more},
        }
        return definition_parts(Pipeline.model_validate(web), "dimension.people", tmp_path)

    assert {*parts({})} == {
        "from",
        "key",
        "columns",
        "sequence_by",
        "history",
        "where",
        "(format of its source)",
        "(fields of its source)",
    }
    assert harmful_changes("dimension.people", parts({}), parts({"delete_when": "id < 0"})) == ["delete_when"]
