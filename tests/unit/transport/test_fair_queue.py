"""A holder or customer with many waiting messages delays nobody else."""

from __future__ import annotations

import asyncio
import json

from server.transport.http.bodies import MESSAGES_PER_ROUND, FairQueue, customer_of_message

FLOOD = 20 * MESSAGES_PER_ROUND


def arriving(queue: FairQueue, order: list[str], holder: str, number: int, customer: str = "") -> list[asyncio.Task[None]]:
    async def one() -> None:
        await queue.wait_turn(holder, customer.encode())
        order.append(customer or holder)

    return [asyncio.create_task(one()) for _ in range(number)]


async def test_single_message_overtakes_a_flood_of_another_holder() -> None:
    queue, order = FairQueue(), list[str]()
    flood = arriving(queue, order, "greedy", FLOOD)
    await asyncio.gather(*flood, *arriving(queue, order, "modest", 1))
    assert order.index("modest") <= MESSAGES_PER_ROUND
    assert len(order) == FLOOD + 1


async def test_waiting_flood_does_not_delay_another_holder() -> None:
    queue, order = FairQueue(), list[str]()
    flood = arriving(queue, order, "greedy", FLOOD)
    await asyncio.sleep(0)
    await asyncio.gather(*arriving(queue, order, "modest", 1))
    assert len(order) <= 5 * MESSAGES_PER_ROUND
    await asyncio.gather(*flood)


async def test_holders_take_turns() -> None:
    """Two floods that began one after the other progress at the same rate."""
    queue, order = FairQueue(), list[str]()
    both = arriving(queue, order, "a", FLOOD) + arriving(queue, order, "b", FLOOD)
    await asyncio.gather(*both)
    assert abs(order[:FLOOD].count("a") - order[:FLOOD].count("b")) <= MESSAGES_PER_ROUND


async def test_customers_of_one_holder_take_turns() -> None:
    """A customer that comes after two floods is served before nearly all of them."""
    queue, order = FairQueue(), list[str]()
    floods = [each for name in ("a", "b") for each in arriving(queue, order, "agent", FLOOD, name)]
    await asyncio.sleep(0)
    await asyncio.gather(*arriving(queue, order, "agent", 1, "modest"))
    assert len(order) <= 5 * MESSAGES_PER_ROUND
    await asyncio.gather(*floods)
    assert abs(order[:FLOOD].count("a") - order[:FLOOD].count("b")) <= 2 * MESSAGES_PER_ROUND


def test_customer_of_a_message_is_read_from_meta_before_headers() -> None:
    """The user precedes the session and `_meta` precedes a header; the words of a text do not count."""
    headers = [(b"mcp-session-id", b"h"), (b"x-user-id", b"u")]
    meta = {"com.mangaassist/sessionId": "s", "com.mangaassist/userId": "v"}
    text = {"query": json.dumps(meta)}
    for body, said in ((meta, b"v"), (dict([*meta.items()][:1]), b"s"), (text, b"u"), ({"_meta": meta, **text}, b"v")):
        assert customer_of_message(json.dumps(body).encode(), headers) == said
    assert customer_of_message(b"", headers[:1]) == b"h"
    assert customer_of_message(b"", []) == b""
    named = [(b"mcp-session-id", b"m"), (b"x-session-id", b"s"), (b"x-user-id", b"u"), (b"x", b"y")]
    assert [customer_of_message(b"", named[:length]) for length in range(4)] == [b"", b"m", b"s", b"u"]
    assert customer_of_message(b"", reversed(named)) == b"u"
    for length, kept in ((511, 511), (512, 512), (513, 512)):
        assert len(customer_of_message(b"", [(b"x-user-id", b"x" * length)])) == kept


async def test_cancelled_messages_take_no_turn_and_leave_nothing_behind() -> None:
    queue, order = FairQueue(), list[str]()
    flood = arriving(queue, order, "greedy", FLOOD)
    await asyncio.sleep(0)
    for task in flood:
        task.cancel()
    await asyncio.gather(*flood, return_exceptions=True)
    order.clear()
    await asyncio.gather(*arriving(queue, order, "greedy", MESSAGES_PER_ROUND))
    assert order == ["greedy"] * MESSAGES_PER_ROUND
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not queue._waiting
    assert not queue._passed
