"""A client that goes away in the middle of a call: what becomes of the work it asked for."""

from __future__ import annotations

import asyncio
import gc
from contextlib import AsyncExitStack

from server.call import Call
from tests.chaos.holding import SOON, Held, holding
from tests.support.process import until
from tests.support.raw import INITIALIZE, INITIALIZED, VERSION_2025, Connection, ask, call, in_2026, message, post_2026
from tests.support.sse import SseClient

SEARCH = "search_manga_catalog"
MANY = 200
AT_ONCE = 25


async def session_2025(port: int) -> dict[str, str]:
    """Headers of a Streamable HTTP session that has been initialised."""
    answer = await ask(port, "POST", "/mcp", INITIALIZE)
    headers = {"mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": VERSION_2025}
    await ask(port, "POST", "/mcp", INITIALIZED, headers)
    return headers


async def test_the_work_of_an_sse_client_that_vanishes_stops() -> None:
    """Its search is cancelled with time to spare, and no task of the call is left."""
    async with holding() as held:
        async with SseClient.to(held.port) as client:
            await client.start(SEARCH, {"query": "berserk"})
            await held.begun()
            client.stream.close()
            await held.at_rest()
        assert len(held.catalog.stopped) == 1
        assert held.catalog.stopped[0] > 0


async def test_the_work_of_a_2026_client_that_vanishes_stops() -> None:
    """The same for a request of the stateless era whose connection is lost."""
    async with holding() as held:
        async with Connection.to(held.port) as connection:
            body, headers = in_2026(call(SEARCH, {"query": "berserk"}))
            await connection.ask("POST", "/mcp", body, headers)
            await held.begun()
            connection.close()
            await held.at_rest()
        assert len(held.catalog.stopped) == 1
        assert held.catalog.stopped[0] > 0


async def test_a_2025_call_runs_on_to_its_deadline_when_its_client_vanishes() -> None:
    """The client of that era may come back for the answer, so its going away cancels nothing."""
    async with holding(0.8) as held:
        headers = await session_2025(held.port)
        async with Connection.to(held.port) as connection:
            await connection.ask("POST", "/mcp", call(SEARCH, {"query": "berserk"}), headers)
            await held.begun()
            connection.close()
            await held.at_rest()
        assert len(held.catalog.stopped) == 1
        assert held.catalog.stopped[0] == 0


async def test_a_2025_call_stops_when_its_client_says_so() -> None:
    """notifications/cancelled ends the work at once."""
    async with holding() as held:
        headers = await session_2025(held.port)
        async with Connection.to(held.port) as connection:
            await connection.ask("POST", "/mcp", call(SEARCH, {"query": "berserk"}, number=7), headers)
            await held.begun()
            cancelled = message("notifications/cancelled", {"requestId": 7}, number=None)
            assert (await ask(held.port, "POST", "/mcp", cancelled, headers)).status == 202
            await held.at_rest()
        assert len(held.catalog.stopped) == 1
        assert held.catalog.stopped[0] > 0


async def test_an_sse_call_stops_when_its_client_says_so() -> None:
    """And the stream stays usable."""
    async with holding() as held:
        async with SseClient.to(held.port) as client:
            number = await client.start(SEARCH, {"query": "berserk"})
            await held.begun()
            await client.post(message("notifications/cancelled", {"requestId": number}, number=None))
            await held.at_rest()
            held.catalog.gate.set()
            assert not (await client.call(SEARCH, {"query": "berserk"}))["isError"]
        assert len(held.catalog.stopped) == 1
        assert held.catalog.stopped[0] > 0


async def test_work_that_two_wait_for_goes_on_when_one_of_them_vanishes() -> None:
    """Equal calls share a flight: it belongs to whoever is left."""
    async with holding() as held:
        body, headers = in_2026(call(SEARCH, {"query": "berserk"}))
        async with Connection.to(held.port) as first, Connection.to(held.port) as second:
            await first.ask("POST", "/mcp", body, headers)
            await held.begun()
            await second.ask("POST", "/mcp", body, headers)
            await until(lambda: held.server.app.pipeline.shed.under_way == 2, SOON, "two calls under way")
            await until(
                lambda: any(f.waiting == 2 for f in held.server.app.pipeline.cache.flights.values()), SOON, "both wait"
            )
            first.close()
            await until(lambda: held.server.app.pipeline.shed.under_way == 1, SOON, "one call under way")
            held.catalog.gate.set()
            assert not (await second.answer()).json()["result"]["isError"]
        assert held.catalog.begun == 1
        assert held.catalog.stopped == []


async def test_a_key_is_free_again_after_its_caller_vanished() -> None:
    """The retry of a caller that gave up is not told that its own dead call is still running."""
    async with holding() as held:
        meta = {"com.mangaassist/idempotencyKey": "once-1", "com.mangaassist/sessionId": "vanishing"}
        async with Connection.to(held.port) as connection:
            body, headers = in_2026(call(SEARCH, {"query": "berserk"}, meta))
            await connection.ask("POST", "/mcp", body, headers)
            await held.begun()
            connection.close()
            await held.at_rest()
        held.catalog.gate.set()
        again = (await post_2026(held.port, call(SEARCH, {"query": "berserk"}, meta)))["result"]
        assert not again["isError"], again


async def test_many_cancelled_calls_leave_nothing_behind() -> None:
    """No task, no call object, no place in the shed, and the next call is answered."""
    async with holding() as held:
        await post_nothing(held)
        before = len(asyncio.all_tasks())
        for batch in range(MANY // AT_ONCE):
            async with AsyncExitStack() as stack:
                for number in range(AT_ONCE):
                    connection = await stack.enter_async_context(Connection.to(held.port))
                    body, headers = in_2026(call(SEARCH, {"query": f"berserk {batch} {number}"}))
                    await connection.ask("POST", "/mcp", body, headers)
                await held.begun((batch + 1) * AT_ONCE)
            await held.at_rest()
        await until(lambda: len(asyncio.all_tasks()) <= before, SOON, f"as few tasks as before: {before}")
        gc.collect()
        assert [each for each in gc.get_objects() if isinstance(each, Call)] == []
        held.catalog.gate.set()
        answer = await post_2026(held.port, call(SEARCH, {"query": "naruto"}))
        assert answer["result"]["_meta"]["com.mangaassist/call"]["source"] == "live"


async def post_nothing(held: Held) -> None:
    """A first request, so that what a server makes once is there before anything is counted."""
    await post_2026(held.port, message("tools/list"))
