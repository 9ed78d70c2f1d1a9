"""docs/examples/conf/pipelines/sinks.yml and sinks_postgres.yml, as docs/sinks.md shows them."""

import json
import re
from pathlib import Path

import pytest
from pyarrow import dataset

from tests.conftest import ROOT, Workshop
from tests.sinks.shop import ask, csv_rows, current, json_rows

pytestmark = pytest.mark.spark


def order(number: int, shop: str, amount: str, version: int = 1, op: str = "I") -> str:
    at = {"ordered_at": "2024-05-01T08:10:00Z", "updated_at": f"2024-05-01T09:0{version}:00Z"}
    return (
        json.dumps({"order_id": number, "shop": shop, "amount": amount, "card": "4111 1111", "op": op, **at})
        + "\n"
    )


def test_the_page_shows_what_the_files_say() -> None:
    page = (ROOT / "docs" / "sinks.md").read_text(encoding="utf-8")
    files = "".join(
        file.read_text(encoding="utf-8")
        for file in (ROOT / "docs/examples/conf/pipelines").glob("sinks*.yml")
    )
    blocks = re.findall(r"^```yaml\nsinks:\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)

    assert len(blocks) == 5
    assert [line for block in blocks for line in block.splitlines() if line not in files] == []


def test_every_sink_without_a_server(
    examples: Workshop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OUTBOX", str(examples.root / "outbox"))
    examples.land("sinks/orders/1.json", order(1, "=Ulm", "10.50") + order(2, "Bonn", "7.25"))
    assert examples.run("sinks").exit_code == 0
    examples.land("sinks/orders/2.json", order(1, "=Ulm", "11.00", 2))

    result = examples.run("sinks")

    assert result.exit_code == 0, result.message
    assert dataset.dataset(sorted(current(examples, "sinks/log").glob("*.parquet"))).count_rows() == 3
    changes = [(row["op"], row["order_id"], row["amount"]) for row in json_rows(examples, "sinks/changes")]
    assert sorted(changes[:2]) == [("insert", 1, 10.5), ("insert", 2, 7.25)]
    assert changes[2:] == [("update", 1, 11.0)]
    header, *rows = csv_rows(examples, "sinks/revenue")
    assert header == ["window_start", "window_end", "shop", "order_count", "revenue"]
    assert sorted(row[2:] for row in rows) == [["'=Ulm", "1", "11.00"], ["Bonn", "1", "7.25"]]
    sent = sorted(Path(examples.root / "outbox").iterdir())
    assert [
        re.sub(
            r"-[0-9a-f]{8}-|-[0-9]{8}T[0-9]+", lambda part: "-" if part[0].endswith("-") else "", file.name
        )
        for file in sent
    ] == [
        "sinks-sink.push-g1-begin-0.json",
        "sinks-sink.push-g1-stream-0.json",
    ]
    assert [
        (change["_operation"], change["shop"], change["revenue"])
        for change in json.loads(sent[1].read_text())
    ] == [("update", "=Ulm", "11.00")]
    said = capsys.readouterr().err
    assert "•••" in said
    assert "4111" not in said
    assert examples.spark is not None
    assert examples.spark.table("global_temp.sinks__kept").count() == 2


def test_rows_in_postgres(examples: Workshop, database: str) -> None:
    examples.write(
        "secrets/connections.yml", f'warehouse: {{url: "jdbc:postgresql://{database}", user: weir}}\n'
    )
    examples.land("sinks_postgres/orders/1.json", order(1, "Ulm", "10.50") + order(2, "Bonn", "7.25"))
    assert examples.run("sinks_postgres").exit_code == 0
    examples.land(
        "sinks_postgres/orders/2.json", order(1, "Ulm", "11.00", 2) + order(2, "Bonn", "7.25", 2, "D")
    )

    result = examples.run("sinks_postgres")

    assert result.exit_code == 0, result.message
    assert ask(database, "SELECT order_id, shop, amount FROM public.shop_orders") == [["1", "Ulm", "11.00"]]
    assert ask(database, "SELECT shop, order_count, revenue FROM public.shop_revenue") == [
        ["Ulm", "1", "11.00"]
    ]
