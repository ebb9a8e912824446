"""Lines of the store's files: the least that each must say."""

from __future__ import annotations

VOLUME = {"title_id": "m-1", "volume": 1, "isbn": None, "format": "physical", "price_jpy": 528, "stock": 3}
LINE = {
    "title_id": "m-1",
    "title": "One",
    "volume": 1,
    "isbn": None,
    "format": "physical",
    "quantity": 2,
    "unit_price_jpy": 500,
}
ORDER = {
    "owner": "reader",
    "order_id": "MNG-AAAA0001",
    "status": "paid",
    "ordered_at": "2026-10-01T00:00:00Z",
    "lines": [LINE],
    "subtotal_jpy": 1000,
    "shipping_jpy": 680,
    "total_jpy": 1680,
    "prefecture": "Tokyo",
}
