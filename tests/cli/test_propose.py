"""`weir propose`: columns by what has landed, written into the pipeline file once, and nothing else of it
changed.
"""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spark_jobs.cli.app import app
from tests.conftest import Workshop

PIPELINE = """# What the shop sends.
pipeline: shop     # its name
sources:
  orders: {format: json, path: orders}   # one object a line
  sheets: {format: csv, path: sheets}

silver:
  # the sheets come first
  sheets:
    from: sheets
    columns: {id: bigint}
# the end
gold:
  totals: {from: silver.sheets, measures: {sheet_count: count(*)}}
"""


@pytest.fixture
def shop(idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    monkeypatch.setenv("WEIR_HOME", str(idle_workshop.root))
    idle_workshop.write("conf/pipelines/shop.yml", PIPELINE)
    idle_workshop.land(
        "orders/a.json",
        '{"id": 1, "payment": {"amount": 2.50}, "at": "2026-03-01T10:00:00Z"}\nnot json\n{"id": 2}\n',
    )
    return idle_workshop


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["propose", *arguments])
    return result.exit_code, result.output


def pipeline_file(shop: Workshop) -> Path:
    return shop.root / "conf" / "pipelines" / "shop.yml"


def test_a_table_is_written_behind_the_others_and_every_other_line_stays(shop: Workshop) -> None:
    code, said = run("shop", "orders")

    table = """  orders:
    from: orders
    columns:
      id: bigint
      amount: {type: "decimal(7,2)", from: payment.amount}
      at: timestamp
"""
    assert (code, pipeline_file(shop).read_text(encoding="utf-8")) == (
        0,
        PIPELINE.replace("# the end\n", f"{table}# the end\n"),
    )
    assert "silver.orders is written to conf/pipelines/shop.yml, from 2 records" in said
    assert run("shop", "orders")[0] == 2


def test_a_dry_run_shows_the_table_and_writes_nothing(shop: Workshop) -> None:
    code, said = run("shop", "orders", "--dry-run", "--table", "raw_orders")

    assert (code, pipeline_file(shop).read_text(encoding="utf-8")) == (0, PIPELINE)
    assert "  raw_orders:\n    from: orders\n" in said


def test_a_file_without_silver_gets_one(shop: Workshop) -> None:
    text = "pipeline: shop\nsources:\n  orders: {format: json, path: orders}"
    pipeline_file(shop).write_text(text, encoding="utf-8")

    assert run("shop", "orders")[0] == 0
    assert pipeline_file(shop).read_text(encoding="utf-8").startswith(f"{text}\n\nsilver:\n  orders:\n")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["shop", "orders", "--table", "sheets"], 2, "silver has a table 'sheets' already"),
        (["shop", "order"], 2, "did you mean 'orders'?"),
        (["shop", "orders", "--table", "Big Orders"], 2, "is not a legal name"),
        (["shop", "sheets", "--table", "more"], 3, "no record was found"),
    ],
)
def test_what_cannot_be_written_is_refused_and_changes_nothing(
    shop: Workshop, arguments: list[str], code: int, said: str
) -> None:
    found, output = run(*arguments)

    assert found == code
    assert said in output
    assert pipeline_file(shop).read_text(encoding="utf-8") == PIPELINE


def test_silver_in_braces_is_left_alone(shop: Workshop) -> None:
    text = (
        "pipeline: shop\nsources: {orders: {format: json, path: orders}}\nsilver: {t: {from: orders, columns:"
        " {id: int}}}\n"
    )
    pipeline_file(shop).write_text(text, encoding="utf-8")

    code, said = run("shop", "orders")

    assert code == 2
    assert "written in braces" in said
    assert pipeline_file(shop).read_text(encoding="utf-8") == text


def test_the_answer_is_one_json_object(shop: Workshop) -> None:
    result = CliRunner().invoke(app, ["propose", "shop", "orders", "--dry-run", "--json"])

    answer = json.loads(result.stdout)
    assert answer["columns"]["amount"] == {"type": "decimal(7,2)", "from": "payment.amount"}
    assert (answer["exit_code"], answer["records"], answer["files"]) == (0, 2, 1)


def test_a_file_of_which_no_row_can_be_read_is_named_with_what_is_wrong(shop: Workshop) -> None:
    shop.land("sheets/a.csv", "id,name\n1\n2,b,c\n")
    shop.land("sheets/b.csv", "id,id\n1,2\n")
    code, said = run("shop", "sheets", "--table", "raw")

    assert code == 3
    assert "nothing to propose: none of the 3 records or files that were found in" in said
    assert "the first: 'sheets/a.csv' line 2: 1 field, the header has 2" in said

    (shop.landing / "sheets/a.csv").unlink()
    assert (
        "sheets cannot be read: 'sheets/b.csv': UnreadableFile" in run("shop", "sheets", "--table", "raw")[1]
    )


def test_what_cannot_be_read_beside_good_records_is_counted(shop: Workshop) -> None:
    said = run("shop", "orders", "--dry-run")[1]

    assert (
        "from 2 records, 1 other cannot be read (the first: 'orders/a.json' line 2: it is not one JSON"
        " object)" in said
    )


def test_the_groups_of_a_log_line_get_the_types_that_their_values_fit(shop: Workshop) -> None:
    fields = r"(?P<host>\S+) (?P<at>\S+) (?P<status>\d+) (?P<took>[\d.]+) (?P<size>\d+|-)"
    pipeline_file(shop).write_text(
        "pipeline: shop\nsources:\n  logs:\n    format: text\n    path: logs\n    skip_lines: 1\n"
        f"    comment: '#'\n    fields: '{fields}'\n",
        encoding="utf-8",
    )
    shop.land(
        "logs/a.log",
        "host at status took size\n# rotated\nweb1 2026-03-01T10:00:00Z 200 0.25 12\nweb2 2026-03-01T10:00:01Z 404 1.50 -\nhello\n",
    )
    answer = json.loads(CliRunner().invoke(app, ["propose", "shop", "logs", "--json"]).stdout)

    assert {name: column["type"] for name, column in answer["columns"].items()} == {
        "host": "string", "at": "timestamp", "status": "bigint", "took": "decimal(7,2)", "size": "string",
    }  # fmt: skip
    assert (answer["records"], answer["unreadable"]) == (2, 1)


def test_csv_is_read_as_its_source_says_and_names_that_mean_something_to_yaml_are_quoted(
    shop: Workshop,
) -> None:
    sources = """pipeline: shop
sources:
  stock: {format: csv, path: stock, header: false, skip_lines: 1, comment: "#"}
  tills: {format: csv, path: tills, trailing_delimiter: true}
"""
    pipeline_file(shop).write_text(sources, encoding="utf-8")
    shop.land("stock/a.csv", "Stock\n# all\n1001,shelf\n")
    shop.land("tills/a.csv", "null,0x10,name,\n1,2026-01-01,Ann,\n")

    assert run("shop", "stock")[0] == run("shop", "tills")[0] == 0

    written = pipeline_file(shop).read_text(encoding="utf-8")
    assert 'c_1: {type: bigint, from: "1"}\n      c_2: {type: string, from: "2"}\n' in written
    assert 'c_0x10: {type: date, from: "0x10"}\n      name: string\n' in written
    assert '      "null": bigint\n' in written


def test_named_parts_of_the_path_are_columns_beside_the_fields(shop: Workshop) -> None:
    source = 'pipeline: shop\nsources:\n  bills: {format: json, path: "bills/dt={day}/{id}_{note}.json"}\n'
    pipeline_file(shop).write_text(source, encoding="utf-8")
    shop.land("bills/dt=2026-03-01/7_a.json", '{"id": 1}\n')
    shop.land("bills/dt=2026-03-02/8_b.json", '{"id": 2}\n')
    shop.land("bills/other.json", '{"id": 3}\n')

    assert run("shop", "bills")[0] == 0

    columns = """      id: bigint
      day: {type: date, from: _path.day}
      path_id: {type: bigint, from: _path.id}
      note: {type: string, from: _path.note}
"""
    assert columns in pipeline_file(shop).read_text(encoding="utf-8")
