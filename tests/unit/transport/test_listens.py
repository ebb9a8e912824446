"""Subscriptions of the 2026 era are limited in number, per holder, and in what they name."""

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

from server.transport.http.bodies import Admission
from server.transport.http.slots import METHOD, Subscriptions
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


async def test_holder_of_all_subscriptions_loses_one_to_a_newcomer() -> None:
    """The lost one ends with a result, as the protocol demands; the others still get notifications."""
    bus = InMemorySubscriptionBus()
    subscriptions = Subscriptions(most=3)
    async with listening(subscriptions, "a", "a", "a", bus=bus) as (longest, *others):
        assert not subscriptions.has_room_for(scope_of("a"))
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


async def test_subscription_beyond_the_limit_gets_503_or_an_error() -> None:
    """HTTP gets 503 before the SDK sees the request; other transports get an error."""
    subscriptions = Subscriptions(most=1)
    admission = Admission(subscriptions)
    assert admission.refusal(scope_of("a"), METHOD, 10) is None
    async with listening(subscriptions, "a"):
        refused = admission.refusal(scope_of("a"), METHOD, 10)
        assert refused is not None
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        with pytest.raises(MCPError, match="as many subscriptions"):
            await Subscriber(subscriptions, "a").task


@cases("uris", [["x:"] * 65, ["x:" + "y" * 255]])
async def test_number_and_length_of_subscribed_uris_are_limited(uris: list[str]) -> None:
    """URIs are kept for as long as their subscription lasts."""
    with pytest.raises(
        MCPError, match="A subscription names at most 64 resources, each with at most 256 characters"
    ) as refused:
        await Subscriber(Subscriptions(), "a", uris).task
    assert refused.value.code == types.INVALID_PARAMS
    within = Subscriber(Subscriptions(), "a", [each[:256] for each in uris[:64]])
    await within.begun()
    within.task.cancel()
    await asyncio.gather(within.task, return_exceptions=True)


async def test_subscriptions_end_with_a_result_when_the_server_stops() -> None:
    """Each subscription gets its own result."""
    subscriptions = Subscriptions()
    async with listening(subscriptions, "a", "b") as subscribers:
        subscriptions.close()
        async with asyncio.timeout(30):
            await asyncio.gather(*(each.task for each in subscribers))


def test_only_tools_call_messages_may_exceed_the_small_byte_limit() -> None:
    """Whatever else is kept of a message, such as of a subscription, is as short as what it has to say."""
    admission = Admission(Subscriptions())
    for method in ("initialize", "tools/list", METHOD, "notifications/cancelled", "anything"):
        refused = admission.refusal(scope_of("a"), method, 32 * 1024 + 1)
        assert refused is not None
        assert refused.status_code == 413
        assert admission.refusal(scope_of("a"), method, 32 * 1024) is None
    assert admission.refusal(scope_of("a"), "tools/call", 320 * 1024) is None
