"""Each possible error in a volume or an order, and its message."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import cases
from tests.support.store_lines import LINE, ORDER, VOLUME
from tools.store.identifiers import ORDER_ID, IdPattern
from tools.store.records.store_files import StoreFileError, read_orders, read_volumes

PARCEL = {
    "carrier": "yamato",
    "service": "takkyubin",
    "tracking_number": "1",
    "status": "accepted",
    "shipped_at": None,
    "delivered_at": None,
}
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A file of lines: objects as JSON, text and bytes as they are."""

    def file(name: str, *lines: Any) -> Path:
        raw = [line if isinstance(line, bytes) else _text(line).encode() for line in lines]
        (tmp_path / name).write_bytes(b"\n".join(raw))
        return tmp_path / name

    return file


def _text(line: Any) -> str:
    return line if isinstance(line, str) else json.dumps(line)


BAD_VOLUMES = [
    ("{", "not JSON"),
    ("[" * 100_000, "not JSON"),
    (b'{"title_id": "\xe9"}', "not JSON in UTF-8"),
    ("[]", r"\$ must be an object"),
    ({**VOLUME, "colour": "red"}, "unknown fields: colour"),
    ({"title_id": "m-1"}, r"\$ lacks: format, isbn, price_jpy, stock, volume"),
    ({**VOLUME, "title_id": ""}, r"\$.title_id must be text"),
    ({**VOLUME, "stock": "3"}, r"\$.stock must be a whole number"),
    ({**VOLUME, "stock": True}, r"\$.stock must be a whole number"),
    ({**VOLUME, "stock": 1.5}, r"\$.stock must be a whole number"),
    ({**VOLUME, "stock": -1}, r"\$.stock must be at least 0"),
    ({**VOLUME, "volume": -1}, r"\$.volume must be at least 0"),
    ({**VOLUME, "price_jpy": 0}, r"\$.price_jpy must be more than 0 \(physical\)"),
    ({**VOLUME, "price_jpy": -1, "format": "digital"}, r"\$.price_jpy must be at least 0"),
    ({**VOLUME, "stock": 10**30}, r"\$.stock must be at most 1000000000"),
    (json.dumps(VOLUME)[:-1] + ', "stock": 4}', "'stock' stands in one object twice"),
    ({**VOLUME, "format": ""}, r"\$.format must not be empty"),
    ({**VOLUME, "format": "\ud800"}, r"\$.format has half a character"),
    ({**VOLUME, "isbn": "9784000000117"}, r"\$.isbn must be 13 digits"),
    ({**VOLUME, "isbn": "4000000116"}, r"\$.isbn must be 13 digits"),
    ({**VOLUME, "restock_date": "2026-13-01"}, r"\$.restock_date must be a date"),
    ({**VOLUME, "release_date": "20261201"}, r"\$.release_date must be a date"),
]

BAD_ORDERS = [
    ({**ORDER, "owner": None}, r"\$.owner must be text"),
    ({**ORDER, "phone": "03"}, "unknown fields: phone"),
    ({**ORDER, "order_id": ""}, r"\$.order_id must have 1 to 64"),
    ({**ORDER, "order_id": "mng-aaaa0001"}, r"\$.order_id 'mng-aaaa0001' is not of the shop's pattern"),
    ({**ORDER, "order_id": "MNG-AAAA0001\n"}, r"\$.order_id must have 1 to 64"),
    ({**ORDER, "lines": []}, r"\$.lines must not be empty"),
    ({**ORDER, "lines": {}}, r"\$.lines must be a list"),
    ({**ORDER, "lines": [3]}, r"\$.lines\[0\] must be an object"),
    ({**ORDER, "lines": [LINE, {**LINE, "quantity": 0}]}, r"\$.lines\[1\].quantity must be at least 1"),
    ({**ORDER, "lines": [{**LINE, "unit_price_jpy": -1}]}, r"\$.lines\[0\].unit_price_jpy must be at least 0"),
    ({**ORDER, "lines": [{**LINE, "expected_date": "soon"}]}, r"\$.lines\[0\].expected_date must be a date"),
    ({**ORDER, "subtotal_jpy": 999}, r"\$.subtotal_jpy must be 1000"),
    ({**ORDER, "shipping_jpy": -680, "total_jpy": 320}, r"\$.shipping_jpy must be at least 0"),
    ({**ORDER, "total_jpy": 1681}, r"\$.total_jpy must be subtotal and shipping"),
    ({**ORDER, "ordered_at": "2026-10-01T09:00:00+09:00"}, r"\$.ordered_at must be an ISO 8601 time in UTC"),
    ({**ORDER, "ordered_at": "yesterday Z"}, r"\$.ordered_at must be an ISO 8601 time in UTC"),
    ({**ORDER, "ordered_at": "20261001T000000Z"}, r"\$.ordered_at must be an ISO 8601 time in UTC"),
    ({**ORDER, "status": ""}, r"\$.status must not be empty"),
    ({**ORDER, "lines": [{**LINE, "volume": 10**40}]}, r"\$.lines\[0\].volume must be at most 1000000000"),
    ({**ORDER, "note": "x" * 131_072}, r"the record has \d+ bytes, and may have 131072"),
    ({**ORDER, "return_until": "2026-1-1"}, r"\$.return_until must be a date"),
    ({**ORDER, "estimated_delivery": ""}, r"\$.estimated_delivery must be a date"),
    ({**ORDER, "shipments": [{**PARCEL, "shipped_at": "x"}]}, r"\$.shipments\[0\].shipped_at must be an ISO"),
    ({**ORDER, "shipments": [{**PARCEL, "delivered_at": "x"}]}, r"\$.shipments\[0\].delivered_at must be an ISO"),
    (
        {**ORDER, "shipments": [{**PARCEL, "events": [{"status": "s", "at": "x", "place": None}]}]},
        r"\$.shipments\[0\].events\[0\].at must be an ISO",
    ),
]


@cases(("line", "problem"), BAD_VOLUMES, ids=[problem for _, problem in BAD_VOLUMES])
def test_wrong_volume_is_refused_with_file_line_and_problem(write: Write, line: Any, problem: str) -> None:
    path = write("volumes.jsonl", {**VOLUME, "volume": 9}, "", line)
    with pytest.raises(StoreFileError, match=problem) as caught:
        read_volumes(path)
    assert (caught.value.name, caught.value.problems[0].line) == (str(path), 3)
    assert str(caught.value).startswith(f"{path}, line 3: ")


@cases(("line", "problem"), BAD_ORDERS, ids=[problem for _, problem in BAD_ORDERS])
def test_wrong_order_is_refused_with_file_line_and_problem(write: Write, line: Any, problem: str) -> None:
    path = write("orders.jsonl", {**ORDER, "order_id": "MNG-AAAA0009"}, line)
    with pytest.raises(StoreFileError, match=problem) as caught:
        read_orders(path, IdPattern(ORDER_ID))
    assert (caught.value.name, caught.value.problems[0].line) == (str(path), 2)


def test_duplicate_volume_isbn_or_order_is_refused_with_both_lines(write: Write) -> None:
    isbn = {**VOLUME, "isbn": "9784000000116"}
    twice: list[tuple[Callable[[Path], object], Path]] = [
        (read_volumes, write("same.jsonl", VOLUME, {**VOLUME, "stock": 4})),
        (read_volumes, write("isbn.jsonl", isbn, {**isbn, "title_id": "m-2"})),
        (read_volumes, write("renumbered.jsonl", isbn, {**isbn, "volume": 2})),
        (read_volumes, write("two_isbns.jsonl", isbn, {**isbn, "isbn": "9784000000123"})),
        (read_orders, write("order.jsonl", ORDER, {**ORDER, "owner": "somebody else"})),
    ]
    for read, path in twice:
        with pytest.raises(StoreFileError, match=r"line 2: .* is already on line 1"):
            read(path)


def test_unreadable_file_is_refused_without_a_line_number(tmp_path: Path) -> None:
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b"{}" * 1000)[:-9])
    for name in ("cut.jsonl.gz", "absent.jsonl"):
        with pytest.raises(StoreFileError, match=f"{name}: cannot read") as caught:
            read_orders(tmp_path / name)
        assert caught.value.problems[0].line == 0
