"""What `weir check` warns of, and what it passes over."""

from pathlib import Path

import pytest

from spark_jobs.config import load_project
from spark_jobs.config.checks import check_folder
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


def test_a_key_over_a_source_of_changed_files_without_an_order_of_versions_is_warned_of(workspace: Workspace) -> None:
    workspace.write("conf/pipelines/shop.yml", PIPELINE)

    [warning] = warnings_of(workspace.root)

    assert warning.startswith("conf/pipelines/shop.yml:8: silver.orders.key: the source 'orders' takes changed files")
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

    assert warning.startswith("conf/pipelines/shop.yml:10: silver.orders.delete_when: a row whose key its owner changes stays")
    delete_when = "    delete_when: change = 'delete'\n"
    for old, new in (("= 'delete'", "IN ('delete', 'update_preimage')"), (delete_when, ""), (", changes: true", "")):
        workspace.write("conf/pipelines/shop.yml", FEED.replace(old, new))
        assert warnings_of(workspace.root) == [], new


def test_ties_without_a_key_are_refused(workspace: Workspace) -> None:
    text = PIPELINE.replace("    key: id\n", "    ties: newest_arrival\n")
    workspace.write("conf/pipelines/shop.yml", text)

    [problem] = check_folder(workspace.root, {})

    assert "'ties' is incompatible with a table without key" in str(problem)
