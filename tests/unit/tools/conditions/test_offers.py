"""Live stock decides which of the titles found by recorded offers stay in the result."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tools.conditions.offers import Pending, filter_by_stock, sale_facts, satisfies_sale, with_offers
from tools.store.models import DIGITAL, PAPER, SET, USED_SET, Availability, Conditions, Offer, Range, VolumeStock
from tools.store.stock import StockReading


def row(title_id: str, *offers: Offer, volumes: tuple[VolumeStock, ...] = ()) -> Availability:
    return Availability(title_id, offers, volumes, "2026-11-22T00:00:00Z")


def volume(number: int, stock: int, release_date: str | None = None) -> VolumeStock:
    return VolumeStock(number, None, PAPER, 500, stock, release_date=release_date)


def card(title_id: str, volumes: int | None = 3) -> dict[str, Any]:
    return {"title_id": title_id, "title": title_id, "volumes": volumes}


HERE, SOLD_OUT, DEAR = Offer(PAPER, 500, 3), Offer(PAPER, 500, 0), Offer(PAPER, 900, 3)
IN_STOCK = Conditions(in_stock=True)


def test_nothing_is_pending_without_conditions_on_price_or_stock() -> None:
    assert Pending.from_conditions(Conditions(genres=("josei",), without_tags=("Gore",)), 5) is None


def test_pending_conditions_survive_serialization() -> None:
    """Titles by name are checked without the remembered budget."""
    asked = Conditions(price=Range(None, 600), format=DIGITAL, in_stock=True, all_volumes=True, years=Range(1980))
    pending = Pending.from_conditions(asked, 5, 10, recorded=False)
    assert pending is not None
    assert Pending.from_json(json.loads(json.dumps(pending.as_json()))) == pending
    assert pending.conditions.stated == ("price", "format", "in_stock", "all_volumes")
    budget = Pending(Conditions(price=Range(None, 600)), 2)
    assert budget.but_for((), IN_STOCK) is budget.but_for(("a",), None) is budget
    named = budget.but_for(["a"], Conditions(in_stock=True, genres=("josei",)))
    assert Pending.from_json(json.loads(json.dumps(named.as_json()))) == named
    assert (named.asked_of("a"), named.asked_of("b")) == (IN_STOCK, budget.conditions)
    reading = StockReading({each: row(each, DEAR) for each in "ab"})
    assert [each["title_id"] for each in filter_by_stock(named, [card("a"), card("b")], reading).cards] == ["a"]


def test_title_sold_out_in_live_stock_is_replaced_by_the_next() -> None:
    reading = StockReading({"a": row("a", SOLD_OUT), "b": row("b", HERE), "c": row("c", HERE), "d": row("d", HERE)})
    settled = filter_by_stock(Pending(IN_STOCK, 2), [card(each) for each in "abcd"], reading)
    assert [each["title_id"] for each in settled.cards] == ["b", "c"]
    assert (settled.passed, settled.dropped, settled.unchecked, settled.places) == (3, 1, False, [2, 3])
    assert settled.cards[0] | {"price_jpy": 500, "in_stock": True} == settled.cards[0]


@cases(
    ("stock", "pending", "told"),
    [
        ("hhh", {"most": 2}, {"total": 9, "next_offset": 2}),
        ("shh", {"most": 2}, {"total": 8, "next_offset": 3, "places": [2, 3]}),
        ("hhh", {"most": 2, "offset": 6}, {"total": 9, "next_offset": 8}),
        ("hhh", {"most": 2, "offset": 7}, {"total": 9}),
        (
            "sss",
            {"most": 2, "offset": 6},
            {"total": 6, "note": "Told. Matching titles cannot be bought like this at the moment.", "places": []},
        ),
    ],
    ids=["all in stock", "one sold out", "one left", "none left", "nothing in stock"],
)
async def test_page_goes_on_after_the_last_title_that_was_checked(
    stock: str, pending: dict[str, int], told: dict[str, Any]
) -> None:
    rows = {each: row(each, HERE if how == "h" else SOLD_OUT) for each, how in zip("abc", stock, strict=True)}

    async def read(*_: object) -> StockReading:
        return StockReading(rows)

    names = SimpleNamespace(note=lambda *_: None)
    store = SimpleNamespace(names=names, stock=SimpleNamespace(read_available=read))
    context: Any = SimpleNamespace(store=store, degraded=set(), deadline=Deadline.after(60))
    result = {"results": [card(each) for each in "abc"], "total": 9, "note": "Told.", "next_offset": 99}
    found = await with_offers(context, result | {"pending": Pending(IN_STOCK, **pending).as_json()}, "results")
    assert {name: each for name, each in found.items() if name not in ("results", "result_set")} == {"note": "Told."} | told


def test_title_no_longer_sold_is_dropped() -> None:
    settled = filter_by_stock(Pending(IN_STOCK, 5), [card("a")], StockReading({}, unknown=("a",)))
    assert (settled.cards, settled.dropped) == ([], 1)


@cases(("recorded", "shown"), [(True, 1), (False, 0)])
def test_unchecked_title_stays_only_if_its_recorded_offer_satisfied_the_conditions(*, recorded: bool, shown: int) -> None:
    pending = Pending(IN_STOCK, 5, recorded=recorded)
    settled = filter_by_stock(pending, [card("a")], StockReading({}, unanswered=("a",)))
    assert (len(settled.cards), settled.unchecked) == (shown, recorded)


@cases(
    ("asked", "had"),
    [
        (Conditions(price=Range(None, 600)), True),
        (Conditions(price=Range(None, 499)), False),
        (Conditions(series_price=Range(None, 1500)), True),
        (Conditions(series_price=Range(None, 1499)), False),
        (Conditions(format=DIGITAL), False),
        (Conditions(format=PAPER, in_stock=True), True),
    ],
)
def test_live_price_and_format_decide_whether_a_title_can_be_had(asked: Conditions, *, had: bool) -> None:
    assert satisfies_sale(row("a", HERE), 3, asked) is had


def test_series_of_unknown_length_satisfies_no_series_price() -> None:
    assert not satisfies_sale(row("a", HERE), None, Conditions(series_price=Range(None, 10**6)))


def test_price_of_a_set_is_not_taken_for_that_of_a_volume() -> None:
    """The set's price is that of all its volumes together."""
    sold = row("a", Offer(SET, 1_500, 1), Offer(USED_SET, 400, 1), HERE)
    assert sale_facts(sold, None) == {"price_jpy": 500, "in_stock": True}
    assert not satisfies_sale(sold, 3, Conditions(price=Range(None, 499)))
    assert not satisfies_sale(row("a", Offer(USED_SET, 400, 1)), 3, Conditions(price=Range(None, 499)))
    assert satisfies_sale(sold, None, Conditions(series_price=Range(None, 400), format=USED_SET))
    assert not satisfies_sale(sold, 3, Conditions(series_price=Range(None, 400), format=SET))


def test_all_volumes_condition_counts_released_volumes_only() -> None:
    asked = Conditions(all_volumes=True)
    assert satisfies_sale(row("a", HERE, volumes=(volume(1, 2), volume(2, 1), volume(3, 0, "2027-01-01"))), 2, asked)
    assert not satisfies_sale(row("a", HERE, volumes=(volume(1, 2), volume(2, 0))), 2, asked)


def test_card_shows_price_and_stock_of_the_requested_format() -> None:
    both = row("a", DEAR, Offer(DIGITAL, 400))
    assert sale_facts(both, DIGITAL) == {"price_jpy": 400, "in_stock": True}
    assert sale_facts(both, None) == {"price_jpy": 900, "in_stock": True}
    assert satisfies_sale(both, 3, Conditions(price=Range(None, 600), format=DIGITAL))
    assert not satisfies_sale(both, 3, Conditions(price=Range(None, 600))), "without a format it is the paper one's price"
