"""What every StockPort does, in each implementation."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tools.store.failures import TimedOut
from tools.store.models import Offer
from tools.store.ports import StockPort

ODD_IDS = ["", " ", "manga-000001 ", "MANGA-000001", "manga-%", "' OR 1=1 --", "進撃", "\ud800", "a\x00b", "m" * 2000]


async def test_volumes_of_a_title_are_returned_in_order(stock_port: StockPort, shop: Any, soon: Deadline) -> None:
    page = await stock_port.availability(["manga-000200", "manga-000201"], soon)
    for title_id in ("manga-000200", "manga-000201"):
        assert page.rows[title_id].volumes == shop.volumes[title_id]


async def test_offer_of_a_title_with_volumes_is_the_sum_of_them(stock_port: StockPort, soon: Deadline) -> None:
    page = await stock_port.availability(["manga-000200"], soon)
    assert set(page.rows["manga-000200"].offers) == {Offer("digital", 473, None), Offer("physical", 528, 7)}


async def test_title_without_volumes_is_answered_by_its_offers(stock_port: StockPort, shop: Any, soon: Deadline) -> None:
    row = (await stock_port.availability(["manga-000042"], soon)).rows["manga-000042"]
    assert set(row.offers) == set(shop.offers["manga-000042"])
    assert row.volumes == ()
    assert row.title_id == "manga-000042"


async def test_sets_and_campaigns_are_returned_as_written(stock_port: StockPort, shop: Any, soon: Deadline) -> None:
    """No backend decides whether a campaign runs."""
    row = (await stock_port.availability(["manga-000204"], soon)).rows["manga-000204"]
    assert row.offers == shop.offers["manga-000204"]


async def test_free_offers_and_free_first_volumes_are_written_and_read(
    stock_port: StockPort, shop: Any, soon: Deadline
) -> None:
    """A free first volume does not change the price of the others."""
    rows = (await stock_port.availability(["manga-000202", "manga-000203"], soon)).rows
    assert rows["manga-000202"].offers == (Offer("digital", 0, None),)
    assert rows["manga-000203"].offers == (Offer("digital", 452, 27),)
    assert rows["manga-000203"].volumes == shop.volumes["manga-000203"]


async def test_title_not_sold_is_neither_answered_nor_unanswered(stock_port: StockPort, soon: Deadline) -> None:
    page = await stock_port.availability(["manga-000300", "manga-999999", "manga-000001"], soon)
    assert set(page.rows) == {"manga-000001"}
    assert page.unanswered == ()


@cases("title_id", ODD_IDS, ids=lambda title_id: ascii(title_id)[:25])
async def test_unknown_id_is_absent_from_the_result(stock_port: StockPort, soon: Deadline, title_id: str) -> None:
    page = await stock_port.availability([title_id, "manga-000001"], soon)
    assert set(page.rows) == {"manga-000001"}
    assert page.unanswered == ()


async def test_hundred_ids_are_answered_at_once(stock_port: StockPort, shop: Any, soon: Deadline) -> None:
    wanted = [f"manga-{n:06}" for n in range(1, 101)]
    page = await stock_port.availability(wanted, soon)
    assert {title_id: set(row.offers) for title_id, row in page.rows.items()} == {i: set(shop.offers[i]) for i in wanted}


async def test_no_ids_make_an_empty_page(stock_port: StockPort, soon: Deadline) -> None:
    page = await stock_port.availability([], soon)
    assert (dict(page.rows), page.unanswered) == ({}, ())


async def test_id_asked_twice_is_answered_once(stock_port: StockPort, soon: Deadline) -> None:
    page = await stock_port.availability(["manga-000001", "manga-000001"], soon)
    assert list(page.rows) == ["manga-000001"]


async def test_as_of_is_the_time_of_the_read_in_utc(stock_port: StockPort, soon: Deadline) -> None:
    before = datetime.now(UTC)
    row = (await stock_port.availability(["manga-000001"], soon)).rows["manga-000001"]
    read_at = datetime.fromisoformat(row.as_of)
    assert row.as_of.endswith("Z")
    assert before - timedelta(seconds=1) <= read_at <= datetime.now(UTC) + timedelta(seconds=1)


async def test_concurrent_readers_get_the_same_answer(stock_port: StockPort, soon: Deadline) -> None:
    wanted = ["manga-000200", "manga-000201", "manga-000001"]
    pages = await asyncio.gather(*(stock_port.availability(wanted, soon) for _ in range(50)))
    answers = {tuple((row.title_id, row.offers, row.volumes) for row in page.rows.values()) for page in pages}
    assert len(answers) == 1


async def test_expired_deadline_times_out_with_the_dependency_stock(stock_port: StockPort) -> None:
    with pytest.raises(TimedOut) as caught:
        await stock_port.availability(["manga-000001"], Deadline.after(-1))
    assert caught.value.dependency == "stock"


async def test_health_of_a_working_stock_is_ok(stock_port: StockPort, soon: Deadline) -> None:
    assert (await stock_port.health(soon)).ok
