"""Which values SQL never sees, table by table: as all other commands mask them, before anything is done with them."""

import json
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from typer.testing import CliRunner

from spark_jobs.cli.app import app
from spark_jobs.lake.layout import Lake
from tests.conftest import Workshop

PIPELINE = """
pipeline: ward
sources:
  visits: {format: json, path: visits}
  people: {format: json, path: people}
dimensions:
  people:
    from: people
    key: id
    columns: {id: bigint, name: {type: string, sensitive: true}, v: int}
    sequence_by: v
silver:
  visits:
    from: visits
    columns: {id: bigint, person: bigint, note: string, at: {type: timestamp, sensitive: true}, gone: boolean}
    key: id
    event_time: at
    delete_when: gone
    lookup: {people: {on: person, take: name, if_missing: park}}
gold:
  kept: {from: silver.visits, window: {size: 1 hour}, group_by: name, measures: {n: count(*)}, watermark: 1 hour, late: keep}
  by_note: {from: silver.visits, group_by: note, measures: {n: count(*), longest: max(name)}}
  free: {sql: free.sql}
  notes: {sql: notes.sql}
"""
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
TIME = pa.timestamp("us", "UTC")
NAME, MASK = "Eve Miller", "•••"


@pytest.fixture
def ward(idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    idle_workshop.write("conf/pipelines/ward.yml", PIPELINE)
    idle_workshop.write("conf/free.sql", "SELECT person, name FROM silver.visits\n")
    idle_workshop.write("conf/notes.sql", "SELECT note, count(*) AS n FROM silver.visits GROUP BY note\n")
    monkeypatch.setenv("WEIR_HOME", str(idle_workshop.root))
    return idle_workshop


def masked(ward: Workshop, table: str, /, **row: Any) -> dict[str, Any]:
    """A row of a table as `weir query` shows it."""
    lake = Lake(ward.project.lake, "ward")
    layer, _, name = table.partition(".")
    columns = {
        column: pa.array([value], TIME) if isinstance(value, datetime) else [value]
        for column, value in row.items()
    }
    write_deltalake(lake.ledger(name) if layer == "ledger" else lake.table(table), pa.table(columns))
    done = CliRunner().invoke(app, ["query", f"from ward.{table}", "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)["rows"][0]
    return found


def test_silver_and_dimensions_hide_what_is_declared_and_what_comes_from_it(ward: Workshop) -> None:
    people = masked(ward, "dimension.people", id=1, name=NAME, v=1, _content=77)
    visits = masked(ward, "silver.visits", id=1, note="x", at=AT, name=NAME, _event_at=AT, _content=77)

    assert people == {"id": 1, "name": MASK, "v": 1, "_content": MASK}
    assert visits == {"id": 1, "note": "x", "at": MASK, "name": MASK, "_event_at": MASK, "_content": MASK}


def test_columns_that_are_no_longer_declared_may_have_been_sensitive(ward: Workshop) -> None:
    visits = masked(ward, "silver.visits", id=1, note="x", NAME_OF_OLD=NAME, name=NAME, _line=3)
    by_note = masked(ward, "gold.by_note", note="x", n=2, shortest=NAME)
    notes = masked(ward, "gold.notes", note="x", m=2)

    assert visits == {"id": 1, "note": "x", "NAME_OF_OLD": MASK, "name": MASK, "_line": 3}
    assert by_note == {"note": "x", "n": 2, "shortest": MASK}
    assert notes == {"note": "x", "m": 2}


def test_rows_set_aside_hide_the_fields_and_the_values_of_their_reasons(ward: Workshop) -> None:
    record = json.dumps({"id": 1, "note": "x", "at": "yesterday"})
    reasons = [{"rule": "type timestamp", "column": "at", "value": "yesterday"}]
    told = [{"rule": "type bigint", "column": "id", "value": "one"}]
    expected = {"record": json.dumps({"id": 1, "note": "x", "at": MASK}, ensure_ascii=False)}

    quarantined = masked(
        ward, "quarantine.silver.visits", record=record, reasons=reasons + told, seen_until=AT
    )
    parked = masked(ward, "parked.silver.visits", record=record, reasons=None, closed_until=AT)

    assert quarantined == {
        **expected, "reasons": [{"rule": "type timestamp", "column": "at", "value": MASK}, *told], "seen_until": MASK,
    }  # fmt: skip
    assert parked == {**expected, "reasons": None, "closed_until": MASK}


def test_late_and_deleted_rows_hide_the_same(ward: Workshop) -> None:
    row = json.dumps({"id": 1, "name": NAME, "note": "x"})

    late = masked(
        ward, "late.gold.kept", window_start=AT, event_at=AT, late_seconds=3.5, row=row, file="a.json"
    )
    deleted = masked(ward, "deleted.silver.visits", id=1, at=AT, _content=77, _file="a.json")

    left = masked(ward, "deleted.dimension.people", id=1, name=NAME, _file="a.json")

    assert left == {"id": 1, "name": MASK, "_file": "a.json"}
    shown = json.dumps({"id": 1, "name": MASK, "note": "x"}, ensure_ascii=False)
    times = dict.fromkeys(("window_start", "event_at", "late_seconds"), MASK)
    assert late == {**times, "row": shown, "file": "a.json"}
    assert deleted == {"id": 1, "at": MASK, "_content": MASK, "_file": "a.json"}


def test_gold_hides_what_is_made_of_it_and_all_of_sql_that_names_it(ward: Workshop) -> None:
    assert masked(ward, "gold.by_note", note="x", n=2, longest=NAME) == {"note": "x", "n": 2, "longest": MASK}
    assert masked(ward, "gold.free", person=7, name=NAME) == {"person": MASK, "name": MASK}
    assert masked(ward, "gold.notes", note="x", n=2) == {"note": "x", "n": 2}
    assert masked(ward, "gold.kept", window_start=AT, name=NAME, n=1) == {
        "window_start": MASK,
        "name": MASK,
        "n": 1,
    }


def test_the_ledger_hides_watermarks_that_are_times_of_a_sensitive_column(ward: Workshop) -> None:
    found = masked(ward, "ledger.batches", table="silver.visits", high=AT, rows_in=3)

    assert found == {"table": "silver.visits", "high": MASK, "rows_in": 3}


def test_a_record_that_cannot_be_understood_is_hidden_as_a_whole(ward: Workshop) -> None:
    assert masked(ward, "bronze.visits", record=f"{NAME}, not JSON", _line=1) == {"record": MASK, "_line": 1}


def test_a_difference_is_found_by_what_is_hidden_and_shown_without_it(ward: Workshop) -> None:
    path = Lake(ward.project.lake, "ward").table("quarantine.silver.visits")
    for said in ("yesterday", "tomorrow"):
        reasons = [[{"rule": "type timestamp", "column": "at", "value": said}]]
        row = {
            "file_id": ["f"],
            "line": [1],
            "element": [0],
            "record": [json.dumps({"at": said})],
            "reasons": reasons,
        }
        write_deltalake(path, pa.table(row), mode="overwrite")

    table = "ward.quarantine.silver.visits"
    done = CliRunner().invoke(app, ["diff", table, "--from", "v0", "--json"], catch_exceptions=False)

    found = json.loads(done.stdout)
    assert (found["key"], found["changed"]) == (["file_id", "line", "element"], 1)
    assert sorted(found["columns"]) == ["reasons", "record"]
    assert "yesterday" not in done.stdout
    assert "tomorrow" not in done.stdout
