"""The order of lookups that use what others took, and where dimensions that look up others stand."""

from pathlib import Path
from typing import Any

import pytest

from spark_jobs.config.graph import order_tables
from spark_jobs.config.lookups import Lookup, LookupRing, Lookups, in_order, lookups_used
from spark_jobs.config.own_rules import is_within
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.task_stages import stages


def lookups(**written: dict[str, Any]) -> Lookups:
    return {name: Lookup.model_validate(lookup) for name, lookup in written.items()}


def test_a_lookup_comes_after_those_whose_columns_it_uses_and_else_where_it_is_written() -> None:
    found = lookups(
        bosses={"on": "region", "take": "boss"},
        plain={"on": "id", "take": "colour"},
        regions={"on": ["country", "part"], "as_of": "since", "take": "region"},
        customers={"on": "id", "take": ["country", {"at": "since"}]},
    )

    assert lookups_used(found, ["id", "part"])["regions"] == ["customers"]
    assert in_order(found, ["id", "part"]) == ["plain", "customers", "regions", "bosses"]


def test_a_column_of_the_table_comes_before_one_that_is_taken() -> None:
    found = lookups(one={"on": "a", "take": "b"}, other={"on": "b", "take": "a"})

    assert in_order(found, ["a", "b"]) == ["one", "other"]
    assert in_order(found, ["b"]) == ["other", "one"]
    with pytest.raises(LookupRing, match="one -> other -> one"):
        in_order(found, [])


@pytest.mark.parametrize("order", [["people", "teams", "sites"], ["sites", "teams", "people"]])
def test_a_dimension_comes_after_those_that_it_looks_up(order: list[str], tmp_path: Path) -> None:
    looked_up = {"people": {"teams": "team"}, "teams": {"sites": "site"}, "sites": {}}
    dimensions = {
        name: {
            "from": "all",
            "key": "id",
            "columns": {"id": "int", "team": "int", "site": "int"},
            "sequence_by": "newest_arrival",
            "lookup": {
                other: {"on": on, "take": {"id": f"of_{on}"}} for other, on in looked_up[name].items()
            },
        }
        for name in order
    }
    web = Pipeline.model_validate(
        {
            "pipeline": "web",
            "tasks": "table",
            "sources": {"all": {"format": "json", "path": "all"}},
            "dimensions": dimensions,
        }
    )

    tables = list(order_tables(web, tmp_path / "conf"))
    in_the_order = ["dimension.sites", "dimension.teams", "dimension.people"]
    assert [table for table in tables if table in in_the_order] == in_the_order
    assert [list(stage) for stage in stages(web, {})][1:] == [[table] for table in in_the_order]


@pytest.mark.parametrize(
    ("may_end", "ended", "stood", "holds"),
    [
        ("20%", 2, 10, True),
        ("20%", 3, 10, False),
        ("0%", 0, 10, True),
        ("0%", 1, 1000, False),
        ("100%", 9, 9, True),
        ("20%", 0, 0, True),
    ],
)
def test_a_snapshot_may_end_a_share_of_the_members(may_end: str, ended: int, stood: int, holds: bool) -> None:
    assert is_within(may_end, ended, stood) is holds
