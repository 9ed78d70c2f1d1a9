"""What `weir check` warns of, and what it passes over."""

from pathlib import Path

import pytest

from spark_jobs.config import load_project
from spark_jobs.config.checks.project import check_folder
from spark_jobs.config.warnings import warn_of_project
from tests.config.conftest import Workspace

PIPELINE = """
pipeline: shop
sources: {orders: {format: json, path: orders, changed: take}}
silver:
  orders:
    from: orders
    columns: {id: bigint, version: int, at: timestamp}
    key: id
    event_time: at
"""


def warnings_of(root: Path) -> list[str]:
    return [str(warning) for warning in warn_of_project(load_project(root, {}))]


def test_a_key_over_a_source_of_changed_files_without_an_order_of_versions_is_warned_of(
    workspace: Workspace,
) -> None:
    workspace.write("conf/pipelines/shop.yml", PIPELINE)

    [warning] = warnings_of(workspace.root)

    assert warning.startswith(
        "conf/pipelines/shop.yml:8: silver.orders.key: the source 'orders' takes changed files"
    )
    assert "ties: newest_arrival" in warning
    assert check_folder(workspace.root, {}) == [], "it is no mistake"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("event_time: at", "event_time: at\n    sequence_by: version"),
        ("event_time: at", "event_time: at\n    ties: newest_arrival"),
        ("event_time: at", "event_time: at\n    ties: hash"),
        ("    key: id\n", ""),
        (", changed: take", ""),
    ],
)
def test_who_has_said_what_wins_hears_nothing(workspace: Workspace, old: str, new: str) -> None:
    workspace.write("conf/pipelines/shop.yml", PIPELINE.replace(old, new))

    assert warnings_of(workspace.root) == []


FEED = """
pipeline: shop
sources: {orders: {format: delta, path: partner/orders, changes: true}}
silver:
  orders:
    from: orders
    columns: {id: bigint, change: {type: string, from: _change_type}, version: {type: bigint, from: _commit_version}}
    key: id
    sequence_by: version
    delete_when: change = 'delete'
"""


def test_a_feed_of_changes_whose_updates_take_no_key_away_is_warned_of(workspace: Workspace) -> None:
    workspace.write("conf/pipelines/shop.yml", FEED)

    [warning] = warnings_of(workspace.root)

    assert warning.startswith(
        "conf/pipelines/shop.yml:10: silver.orders.delete_when: a row whose key its owner changes stays"
    )
    delete_when = "    delete_when: change = 'delete'\n"
    for old, new in (
        ("= 'delete'", "IN ('delete', 'update_preimage')"),
        (delete_when, ""),
        (", changes: true", ""),
    ):
        workspace.write("conf/pipelines/shop.yml", FEED.replace(old, new))
        assert warnings_of(workspace.root) == [], new


def test_a_feed_of_changes_in_another_order_than_its_commits_is_warned_of(workspace: Workspace) -> None:
    """The old image of a row has the row's own times: where its owner sets them back, it would win over the
    new one.
    """
    feed = FEED.replace("= 'delete'", "IN ('delete', 'update_preimage')").replace(
        "columns: {", "columns: {at: timestamp, "
    )
    by_time = feed.replace("sequence_by: version", "sequence_by: at")
    by_event = feed.replace("sequence_by: version", "event_time: at")
    for text, place in ((by_time, "9: silver.orders.sequence_by"), (by_event, "9: silver.orders.event_time")):
        workspace.write("conf/pipelines/shop.yml", text)
        [warning] = warnings_of(workspace.root)
        assert warning.startswith(
            f"conf/pipelines/shop.yml:{place}: changes are ordered by 'at' before their commits"
        ), warning
    for text in (feed, by_time[: by_time.index("    delete_when")], by_time.replace(", changes: true", "")):
        workspace.write("conf/pipelines/shop.yml", text)
        assert warnings_of(workspace.root) == [], text


def test_a_deletion_in_a_history_of_changes_that_goes_by_their_own_times_is_warned_of(
    workspace: Workspace,
) -> None:
    """A deleted row tells its last time once more."""
    feed = FEED.replace("= 'delete'", "IN ('delete', 'update_preimage')").replace("silver:", "dimensions:")
    by_time = feed.replace("columns: {", "columns: {at: timestamp, ").replace(
        "sequence_by: version", "sequence_by: at"
    )
    workspace.write("conf/pipelines/shop.yml", by_time + "    history: scd2\n")

    [warning] = warnings_of(workspace.root)

    assert "dimensions.orders.sequence_by: a deleted row has the 'at' of its last version" in warning
    for text in (feed, by_time.replace("sequence_by: at", "sequence_by: newest_arrival\n    history: scd2")):
        workspace.write("conf/pipelines/shop.yml", text)
        assert warnings_of(workspace.root) == [], text


def test_ties_without_a_key_are_refused(workspace: Workspace) -> None:
    text = PIPELINE.replace("    key: id\n", "    ties: newest_arrival\n")
    workspace.write("conf/pipelines/shop.yml", text)

    [problem] = check_folder(workspace.root, {})

    assert "'ties' is incompatible with a table without key" in str(problem)


def test_a_file_that_nobody_reads_is_warned_of(workspace: Workspace) -> None:
    for name in ("shop.yml.bak", "old.json", "README.md", ".shop.yml.swp"):
        workspace.write(f"conf/pipelines/{name}", "")
    workspace.write("expectations/shop/silver.orders.yml~", "")

    assert [warning.partition("\n")[0] for warning in warnings_of(workspace.root)] == [
        "conf/pipelines/old.json:1: the file old.json is not read",
        "conf/pipelines/shop.yml.bak:1: the file shop.yml.bak is not read",
        "expectations/shop/silver.orders.yml~:1: the file silver.orders.yml~ is not read",
    ]


def test_a_column_from_a_name_of_bronze_is_warned_of(workspace: Workspace) -> None:
    """A record may have such a field: one that was exported from a table has."""
    workspace.replace(
        "      version: int\n", "      version: int\n      chunk: {type: string, from: _chunk}\n"
    )

    [warning] = warnings_of(workspace.root)

    assert (
        "silver.orders.columns.chunk.from: 'from: _chunk' takes a field of the record of that name" in warning
    )
    assert check_folder(workspace.root, {}) == []
