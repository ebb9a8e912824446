"""An item written to DynamoDB is read back unchanged."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.keys import user_hash
from session.profile import KEPT_DAYS, Event, EventKind
from tests.support.cases import cases
from tools.store.backends.dynamodb.items import (
    attribute,
    decode_stock,
    event_item,
    event_of,
    order_item,
    owner_key,
    stock_item,
    to_plain,
)
from tools.store.models import Offer, Order, OrderLine, VolumeStock
from tools.store.shape import ShapeError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_plain_value_survives_the_attribute_format(value: object) -> None:
    assert to_plain(attribute(value), "$") == value


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda v: st.lists(v) | st.dictionaries(st.sampled_from(["S", "N", "M", "L", "NULL", "x"]), v),
        max_leaves=20,
    )
)
def test_any_attribute_value_is_decoded_or_raises_shape_error(value: object) -> None:
    """Decoders raise no exception but ShapeError."""
    item = {"title_id": {"S": "m"}, "offers": value, "volumes": value}
    event = item | {"owner": value}
    for read in (lambda: to_plain(value, "$"), lambda: decode_stock(item, "now"), lambda: event_of(event, "o")):
        with suppress(ShapeError):
            read()


def test_float_is_refused_as_an_attribute_when_written() -> None:
    with pytest.raises(TypeError, match="float"):
        attribute(4.5)


def test_owner_key_begins_with_the_user_hash_of_the_log() -> None:
    assert owner_key("reader").startswith(user_hash("reader"))
    assert len({owner_key(owner) for owner in ("a", "A", "a ", "", "caf\u00e9", "cafe\u0301", "\ud800")}) == 7


def test_duplicate_volume_is_refused_when_written() -> None:
    volume = VolumeStock(1, None, "physical", 500, 1)
    with pytest.raises(ValueError, match="volume 1 \\(physical\\) of m-1 is there twice"):
        stock_item("m-1", [], [volume, volume])


def test_volume_with_negative_stock_is_refused_when_written() -> None:
    with pytest.raises(ValueError, match="stock"):
        stock_item("m-1", [], [VolumeStock(1, None, "physical", 500, -1)])


def test_cheaper_of_two_offers_in_one_format_is_kept() -> None:
    offers = [Offer("physical", 500, 1), Offer("physical", 400, 2), Offer("physical", 600, 3)]
    assert decode_stock(stock_item("m-1", offers, []), "now").offers == (Offer("physical", 400, 2),)


def test_order_with_a_wrong_sum_is_refused_when_written() -> None:
    line = OrderLine("m-1", "T", 1, None, "physical", 1, 500)
    with pytest.raises(ValueError, match="total"):
        order_item("reader", Order("MNG-AAAA0001", "paid", "2026-10-01T00:00:00Z", (line,), 500, 0, 1, "Tokyo"))


def test_event_expires_half_a_year_after_it_happened() -> None:
    event = Event.make_event(EventKind.SEARCHED, "x" * 900, datetime(2026, 1, 1, tzinfo=UTC))
    item = event_item("reader", event)
    assert int(item["expires_at"]["N"]) == int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) + KEPT_DAYS * 86400
    assert event_of(item, "reader") == event


@cases(
    ("subject", "at"),
    [
        ("", "2026-11-02T09:30:00.000Z"),
        ("\ud800", "2026-11-02T09:30:00.000Z"),
        ("m", "2026-11-02"),
        ("m", "2026-13-02T09:30:00.000Z"),
    ],
)
def test_event_with_a_malformed_subject_or_time_is_refused(subject: str, at: str) -> None:
    with pytest.raises(ValueError):
        Event(EventKind.VIEWED, subject, at)
