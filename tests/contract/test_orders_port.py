"""What every OrdersPort does; above all, it never shows one user's order to another."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tools.store.failures import TimedOut
from tools.store.ports import OrdersPort

OWNERS = ["reader-1", "reader-2", "読者・太郎 🐟", "r" * 255, "caf\u00e9", "cafe\u0301"]
GUESSES = ["", "reader", "reader-1 ", " reader-1", "READER-1", "reader-1\x00", "reader-%", "*", "reader-1#MNG-AAAA0001"]
ODD_ORDER_IDS = ["", "mng-aaaa0001", "MNG-AAAA0001 ", "MNG-%", "MNG-AAAA000", "' OR 1=1 --", "\ud800", "M" * 2000]


@cases("owner", OWNERS, ids=lambda owner: ascii(owner)[:20])
async def test_owner_reads_every_order_of_theirs_in_full(
    orders_port: OrdersPort, shop: Any, soon: Deadline, owner: str
) -> None:
    mine = shop.orders_of(owner)
    assert mine
    for order_id, order in mine.items():
        assert await orders_port.order(owner, order_id, soon) == order


@cases("owner", OWNERS, ids=lambda owner: ascii(owner)[:20])
async def test_foreign_order_is_as_absent_as_a_missing_one(
    orders_port: OrdersPort, shop: Any, soon: Deadline, owner: str
) -> None:
    foreign = [order.order_id for of, order in shop.orders if of != owner]
    for order_id in (*foreign, "MNG-ZZZZ9999"):
        assert await orders_port.order(owner, order_id, soon) is None


@cases("guess", [*GUESSES, "r" * 254, "r" * 256, "\ud800"], ids=lambda guess: ascii(guess)[:25])
async def test_owner_with_a_similar_name_reads_no_order(
    orders_port: OrdersPort, shop: Any, soon: Deadline, guess: str
) -> None:
    for _, order in shop.orders:
        assert await orders_port.order(guess, order.order_id, soon) is None
    assert await orders_port.purchased(guess, soon) == ()


@cases("order_id", ODD_ORDER_IDS, ids=lambda order_id: ascii(order_id)[:20])
async def test_order_id_in_another_spelling_is_absent(orders_port: OrdersPort, soon: Deadline, order_id: str) -> None:
    assert await orders_port.order("reader-1", order_id, soon) is None


@cases("owner", OWNERS, ids=lambda owner: ascii(owner)[:20])
async def test_latest_orders_are_the_owners_only_and_latest_first(
    orders_port: OrdersPort, shop: Any, soon: Deadline, owner: str
) -> None:
    mine = sorted(shop.orders_of(owner).values(), key=lambda order: order.ordered_at, reverse=True)
    assert await orders_port.latest(owner, 10, soon) == tuple(mine)
    assert await orders_port.latest(owner, 3, soon) == tuple(mine[:3])


@cases("guess", [*GUESSES, "r" * 254, "\ud800"], ids=lambda guess: ascii(guess)[:25])
async def test_owner_with_a_similar_name_has_no_latest_orders(orders_port: OrdersPort, soon: Deadline, guess: str) -> None:
    assert await orders_port.latest(guess, 10, soon) == ()


async def test_purchases_are_distinct_titles_latest_first_without_cancelled_orders(
    orders_port: OrdersPort, soon: Deadline
) -> None:
    """A title bought twice counts from its latest order; cancelled and returned orders do not count."""
    assert await orders_port.purchased("reader-1", soon) == ("manga-000001", "manga-000003", "manga-000002")


@cases("owner", OWNERS[1:], ids=lambda owner: ascii(owner)[:20])
async def test_purchases_are_the_owners_alone(orders_port: OrdersPort, shop: Any, soon: Deadline, owner: str) -> None:
    (order,) = shop.orders_of(owner).values()
    assert await orders_port.purchased(owner, soon) == tuple(line.title_id for line in order.lines)


async def test_lines_bought_of_a_title_come_from_the_owners_orders_only(
    orders_port: OrdersPort, shop: Any, soon: Deadline
) -> None:
    """The latest order comes first, with only the lines of that title."""
    mine = shop.orders_of("reader-1")
    lines = [line for name in ("MNG-AAAA0002", "MNG-AAAA0001") for line in mine[name].lines]
    expected = tuple(line for line in lines if line.title_id == "manga-000001")
    assert len(expected) == 2
    assert await orders_port.bought("reader-1", "manga-000001", soon) == expected
    for owner in (*OWNERS[1:], *GUESSES, "\ud800"):
        assert await orders_port.bought(owner, "manga-000001", soon) == ()


@cases("title_id", ["manga-000004", "manga-000005", "manga-000009", "", "manga-00000", "\ud800", "m" * 3000])
async def test_cancelled_returned_or_never_ordered_titles_are_not_bought(
    orders_port: OrdersPort, soon: Deadline, title_id: str
) -> None:
    assert await orders_port.bought("reader-1", title_id, soon) == ()


async def test_concurrent_readers_each_get_their_own_orders(orders_port: OrdersPort, shop: Any, soon: Deadline) -> None:
    asked = [(owner, order) for owner, order in shop.orders for _ in range(4)]  # DynamoDB Local queues 50 connections
    answers = await asyncio.gather(*(orders_port.order(owner, order.order_id, soon) for owner, order in asked))
    assert answers == [order for _, order in asked]


async def test_expired_deadline_times_out_with_the_dependency_orders(orders_port: OrdersPort) -> None:
    late = Deadline.after(-1)
    for call in (
        orders_port.order("reader-1", "MNG-AAAA0001", late),
        orders_port.purchased("reader-1", late),
        orders_port.latest("reader-1", 10, late),
    ):
        with pytest.raises(TimedOut) as caught:
            await call
        assert caught.value.dependency == "orders"


async def test_health_of_working_orders_is_ok(orders_port: OrdersPort, soon: Deadline) -> None:
    assert (await orders_port.health(soon)).ok
