"""docs/sources.md, files: XML, Avro, ORC and the lines of a log."""

import gzip
import io
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import orc

from tests.conftest import Workshop

pytestmark = pytest.mark.spark

ORDERS = """<orders>
  <order id="1"><customer><name>Ann</name></customer><ordered_at>2026-03-01T10:00:00Z</ordered_at>
    <line sku="a">2</line><line sku="b">1</line></order>
  <order id="2"><customer><name>Bob</name></customer><ordered_at>2026-03-01T11:00:00Z</ordered_at><line sku="c">x</line></order>
</orders>"""
LOG = """192.0.2.1 - ann [01/Mar/2026:10:00:01 +0000] "GET /cart HTTP/1.1" 200 512
192.0.2.2 - - [01/Mar/2026:10:00:02 +0000] "GET /gone HTTP/1.1" 404 -
a line that is cut
192.0.2.3 - - [01/Mar/2026:11:00:03 +0100] "POST /cart HTTP/1.1" 200 17
"""
PAYMENT: dict[str, Any] = {
    "type": "record",
    "name": "payment",
    "fields": [
        {"name": "order_id", "type": "long"},
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {"name": "paid_at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    ],
}
AT = datetime(2026, 3, 1, 10, tzinfo=UTC)


def avro(rows: list[dict[str, Any]]) -> bytes:
    content = io.BytesIO()
    fastavro.writer(content, PAYMENT, rows, codec="snappy")
    return content.getvalue()


def test_every_kind_of_file_becomes_typed_rows_and_what_does_not_fit_is_set_aside(examples: Workshop) -> None:
    examples.land("formats/orders/orders.xml.gz", gzip.compress(ORDERS.encode()))
    examples.land(
        "formats/payments/payments.avro", avro([{"order_id": 1, "amount": Decimal("12.50"), "paid_at": AT}])
    )
    examples.land("formats/refunds/refunds.orc", b"")
    orc.write_table(
        pa.table({"order_id": [2], "amount": [Decimal("1.00")]}),
        str(examples.landing / "formats/refunds/refunds.orc"),
    )
    examples.land("formats/requests/access.log", LOG)

    result = examples.run("formats")

    assert result.exit_code == 0, result.message
    assert examples.rows("formats.silver.orders", "order_id", "customer") == [(1, "Ann"), (2, "Bob")]
    assert examples.rows("formats.silver.order_lines", "order_id", "sku", "quantity") == [
        (1, "a", 2),
        (1, "b", 1),
    ]
    assert examples.rows("formats.silver.payments", "order_id", "amount", "paid_at") == [
        (1, Decimal("12.50"), AT)
    ]
    assert examples.rows("formats.silver.refunds", "order_id", "amount") == [(2, Decimal("1.00"))]
    assert examples.rows("formats.silver.requests", "ip", "requested_at", "page", "status") == [
        ("192.0.2.1", datetime(2026, 3, 1, 10, 0, 1, tzinfo=UTC), "/cart", 200),
        ("192.0.2.3", datetime(2026, 3, 1, 10, 0, 3, tzinfo=UTC), "/cart", 200),
    ]
    assert ("a line that is cut",) in examples.rows("formats.bronze.requests", "record")
    assert [
        (record, [(reason["rule"], reason["value"]) for reason in reasons])
        for record, reasons in examples.rows("formats.quarantine.silver.requests", "record", "reasons")
    ] == [("a line that is cut", [("decodable", "the line does not match the fields of its source")])]
    assert examples.rows("formats.gold.pages", "page", "request_count") == [("/cart", 2)]
