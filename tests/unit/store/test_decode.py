"""Items of a backend become models, or are refused with the field that is wrong."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.store.backends.decode import ShapeError, decode
from tools.store.models import Order, OrderLine, VolumeStock


@given(st.from_type(Order))
def test_an_order_survives_the_way_through_json(order: Order) -> None:
    assert decode(Order, json.loads(json.dumps(asdict(order)))) == order


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_what_is_no_object_is_refused_with_its_place(value: object) -> None:
    with pytest.raises(ShapeError, match=r"^\$ must be an object$"):
        decode(VolumeStock, value)


@given(st.sampled_from(["volume", "isbn", "format", "price_jpy", "stock"]))
def test_a_required_field_that_lacks_is_named(name: str) -> None:
    record = asdict(VolumeStock(1, None, "physical", 528, 3))
    del record[name]
    with pytest.raises(ShapeError, match=f"lacks: {name}"):
        decode(VolumeStock, record)


def test_the_place_of_a_nested_fault_is_named() -> None:
    line = asdict(OrderLine("m-1", "One", 1, None, "physical", 1, 500)) | {"quantity": "1"}
    with pytest.raises(ShapeError, match=r"\$\.lines\[0\]\.quantity must be a whole number"):
        decode(
            Order,
            {
                **dict.fromkeys(("order_id", "status", "ordered_at", "prefecture"), "x"),
                **dict.fromkeys(("subtotal_jpy", "shipping_jpy", "total_jpy"), 0),
                "lines": [line],
            },
        )
