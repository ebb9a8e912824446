"""JSON is decoded into the store's types; a mismatch is refused with its path."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.cases import cases
from tests.support.nouns import orders
from tools.store.models import Order, OrderLine, VolumeStock
from tools.store.shape import ShapeError, decode, decode_json


@settings(deadline=None, max_examples=50)
@given(orders())
def test_order_survives_serialization_to_json(order: Order) -> None:
    assert decode(Order, json.loads(json.dumps(asdict(order)))) == order
    assert decode_json(Order, json.dumps(asdict(order))) == order


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])), st.lists))
def test_value_that_is_no_object_is_refused_with_its_path(value: object) -> None:
    with pytest.raises(ShapeError, match=r"^\$ must be an object$"):
        decode(VolumeStock, value)


@given(st.sampled_from(["volume", "isbn", "format", "price_jpy", "stock"]))
def test_missing_required_field_is_named(name: str) -> None:
    record = asdict(VolumeStock(1, None, "physical", 528, 3))
    del record[name]
    with pytest.raises(ShapeError, match=f"lacks: {name}"):
        decode(VolumeStock, record)


ORDER = {
    "order_id": "MNG-AAAA0001",
    "ordered_at": "2026-10-01T00:00:00Z",
    **dict.fromkeys(("status", "prefecture"), "x"),
    **dict.fromkeys(("subtotal_jpy", "shipping_jpy", "total_jpy"), 0),
}


def test_wrong_nested_field_is_refused_with_its_path() -> None:
    line = asdict(OrderLine("m-1", "One", 1, None, "physical", 1, 500)) | {"quantity": "1"}
    with pytest.raises(ShapeError, match=r"\$\.lines\[0\]\.quantity must be a whole number"):
        decode(Order, {**ORDER, "lines": [line]})


def test_unknown_fields_are_refused_or_ignored_at_any_depth() -> None:
    line = asdict(OrderLine("m-1", "One", 1, None, "physical", 1, 500))
    record = {**ORDER, "lines": [{**line, "mood": "dark"}], "gift": {"wrapped": True}}
    assert decode(Order, record, unknown="ignore").lines == (OrderLine("m-1", "One", 1, None, "physical", 1, 500),)
    with pytest.raises(ShapeError, match=r"^\$\.lines\[0\] has unknown fields: mood$"):
        decode(Order, record)
    with pytest.raises(ShapeError, match=r"^\$ has unknown fields: gift"):
        decode(Order, {**record, "lines": [line]})


@cases("value", [float("nan"), {"a": {1, 2}}, object(), "\ud800"])
def test_value_of_a_wrong_type_is_refused(value: object) -> None:
    with pytest.raises(ShapeError):
        decode(VolumeStock, {**asdict(VolumeStock(1, None, "physical", 528, 3)), "stock": value})
