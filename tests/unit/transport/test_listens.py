"""Subscriptions of the 2026 era: how many there may be, of whom, and of what."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import mcp_types as types
import pytest
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.subscriptions import InMemorySubscriptionBus, SubscriptionBus, ToolsListChanged
from mcp.shared.exceptions import MCPError

from server.transport.changes import LONGEST_URI, MOST_URIS
from server.transport.http.bodies import MOST_BYTES, Admission
from server.transport.http.slots import ASK_FOR_LESS, METHOD, Subscriptions
from server.transport.messages import Posted
from tests.support.cases import cases


class Subscriber:
    """One that listens; `told` are the notifications that it got."""

    def __init__(
        self, subscriptions: Subscriptions, principal: str, uris: list[str] | None = None, bus: SubscriptionBus | None = None
    ) -> None:
        self.told: list[str] = []
        self._news = asyncio.Event()
        scope = scope_of(principal)
        session = SimpleNamespace(send_notification=self._tell)
        ctx: Any = SimpleNamespace(request_id=1, session=session, request=SimpleNamespace(scope=scope))
        wanted = types.SubscriptionFilter(tools_list_changed=True, resource_subscriptions=uris)
        params = types.SubscriptionsListenRequestParams(notifications=wanted)
        self.task = asyncio.create_task(subscriptions.serve(ctx, params, bus or InMemorySubscriptionBus()))

    async def _tell(self, notification: Any, related_request_id: Any) -> None:
        self.told.append(notification.method)
        self._news.set()

    async def begun(self) -> None:
        async with asyncio.timeout(30):
            await self._news.wait()


def scope_of(principal: str) -> dict[str, Any]:
    return {"type": "http", "headers": [], "user": AuthenticatedUser(AccessToken(token="", client_id=principal, scopes=[]))}


def asking(size: int = 10) -> Posted:
    return Posted(METHOD, "1", {}, size)


@asynccontextmanager
async def listening(
    subscriptions: Subscriptions, *principals: str, bus: SubscriptionBus | None = None
) -> AsyncIterator[list[Subscriber]]:
    subscribers = [Subscriber(subscriptions, each, bus=bus) for each in principals]
    try:
        for each in subscribers:
            await each.begun()
        yield subscribers
    finally:
        for each in subscribers:
            each.task.cancel()
        await asyncio.gather(*(each.task for each in subscribers), return_exceptions=True)


async def test_whoever_holds_every_subscription_gives_one_to_a_newcomer() -> None:
    """It ends with a result, as the protocol wants it; and those that go on hear what changes."""
    bus = InMemorySubscriptionBus()
    subscriptions = Subscriptions(most=3)
    async with listening(subscriptions, "a", "a", "a", bus=bus) as (longest, *others):
        assert not subscriptions.is_open_to(scope_of("a"))
        async with listening(subscriptions, "b", bus=bus) as (newcomer,):
            async with asyncio.timeout(30):
                assert (await longest.task).meta == {"io.modelcontextprotocol/subscriptionId": 1}
            await bus.publish(ToolsListChanged())
            for each in (*others, newcomer):
                while len(each.told) < 2:
                    await asyncio.sleep(0)
            assert len(subscriptions) == 3
        assert len(subscriptions) == 2
    assert len(subscriptions) == 0


async def test_a_subscription_too_many_is_told_to_come_back() -> None:
    """503 by HTTP, before the SDK sees it; an error where there is no HTTP."""
    subscriptions = Subscriptions(most=1)
    admission = Admission(subscriptions)
    assert admission.refusal(scope_of("a"), asking()) is None
    async with listening(subscriptions, "a"):
        refused = admission.refusal(scope_of("a"), asking())
        assert refused is not None
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        with pytest.raises(MCPError, match="as many subscriptions"):
            await Subscriber(subscriptions, "a").task


@cases("uris", [["x:"] * (MOST_URIS + 1), ["x:" + "y" * LONGEST_URI]])
async def test_what_a_subscription_names_is_bounded(uris: list[str]) -> None:
    """It is kept for as long as that lasts."""
    with pytest.raises(MCPError, match=ASK_FOR_LESS):
        await Subscriber(Subscriptions(), "a", uris).task


async def test_all_of_them_end_when_the_server_stops() -> None:
    """Each with its result."""
    subscriptions = Subscriptions()
    async with listening(subscriptions, "a", "b") as subscribers:
        subscriptions.close()
        async with asyncio.timeout(30):
            await asyncio.gather(*(each.task for each in subscribers))


def test_only_calls_may_be_long() -> None:
    """Whatever else is kept of a message, such as of a subscription, is as short as what it has to say."""
    admission = Admission(Subscriptions())
    for method in ("initialize", "tools/list", METHOD, "notifications/cancelled", "anything"):
        refused = admission.refusal(scope_of("a"), Posted(method, "1", {}, MOST_BYTES + 1))
        assert refused is not None
        assert refused.status_code == 413
        assert admission.refusal(scope_of("a"), Posted(method, "1", {}, MOST_BYTES)) is None
    assert admission.refusal(scope_of("a"), Posted("tools/call", "1", {}, 10 * MOST_BYTES)) is None
