"""A landing folder written by hand: each test says the few lines it needs."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

Land = Callable[..., Path]


@pytest.fixture
def land(tmp_path: Path) -> Land:
    """land(orders=[dict or raw line, ...], customers="csv text") writes one more file per source and returns
    the landing folder.
    """

    def write(
        orders: Sequence[Any] = (), clicks: Sequence[Any] = (), customers: str = "", products: str = ""
    ) -> Path:
        texts = {
            "retail/orders": _json_lines(orders),
            "clickstream/clicks": _json_lines(clicks),
            "retail/customers": customers,
            "retail/products": products,
        }
        for folder, text in texts.items():
            if text:
                target = tmp_path / folder
                target.mkdir(parents=True, exist_ok=True)
                (target / f"{len(list(target.iterdir()))}.txt").write_text(text, encoding="utf-8")
        return tmp_path

    return write


@pytest.fixture
def order() -> Callable[..., dict[str, Any]]:
    """An order with one item; keyword arguments replace its fields."""

    def make(order_id: int, **fields: Any) -> dict[str, Any]:
        return {
            "order_id": order_id,
            "ordered_at": "2026-03-01T10:15:00.000Z",
            "updated_at": "2026-03-01T10:20:00.000Z",
            "customer_id": 1,
            "status": "paid",
            "payment": {"amount": 20.00, "method": "card"},
            "items": [{"line_no": 1, "sku": "A", "quantity": 2, "price": 10.00}],
        } | fields

    return make


def _json_lines(lines: Sequence[Any]) -> str:
    return "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
