"""Rate limits before Redis is asked: refusals count, and unproven names do not evade a limit."""

from __future__ import annotations

from typing import Any

import pytest

from server.call import Call, RequestMetadata
from server.identity.caller_limits import Caller, CallerLimits, StatedIdentity
from server.identity.request_metadata import TrustTokens
from session.resilience.rate_limit import LocalLimits, Rate
from tests.support.cases import cases
from tests.support.clocks import HandClock
from tests.support.pipeline import Kit, Opener, registered
from tools.store.failures import RateLimited

pytestmark = pytest.mark.virtual_time

RATE = Rate(1, 3)
GOOD, BAD = {"query": "pirates"}, {"query": 7}
ADDRESS = "10.1.1.1"


async def failures(kit: Kit, arguments: dict[str, Any], times: int, **stated: Any) -> list[str | None]:
    return [(await kit.ask("search_manga_catalog", arguments, **stated)).failure for _ in range(times)]


@pytest.mark.parametrize("who", [{"user": "u"}, {"session": "s"}, {"user": "u", "session": "s"}], ids=str)
async def test_refused_calls_exhaust_the_callers_limit_before_any_backend_is_asked(
    opener: Opener, who: dict[str, str]
) -> None:
    kit = await opener(rate=RATE)
    assert await failures(kit, BAD, 5, **who) == ["VALIDATION_ERROR"] * 3 + ["RATE_LIMITED"] * 2
    assert kit.redis.trips == [], "it cost no backend call"
    answer = await kit.ask("search_manga_catalog", GOOD, **who)
    assert answer.failure == "RATE_LIMITED", "one limit for good calls and bad ones"
    assert 0 < answer.result["structuredContent"]["error"]["data"]["retry_after_ms"] <= 1000
    assert await failures(kit, GOOD, 1, user="another") == await failures(kit, GOOD, 1, session="another") == [None]


@cases(
    "wrong",
    [
        {"turn": "no spaces"},
        {"idempotency_key": "{}"},
        {"turn_budget_ms": "soon"},
        {"expected_calls": "0"},
    ],
    ids=str,
)
async def test_every_kind_of_refusal_counts_against_the_limit(opener: Opener, wrong: dict[str, str]) -> None:
    kit = await opener(rate=RATE)
    assert await failures(kit, GOOD, 5, user="u", **wrong) == ["VALIDATION_ERROR"] * 3 + ["RATE_LIMITED"] * 2


async def test_call_of_a_disabled_tool_counts_against_the_limit(opener: Opener) -> None:
    kit = await opener(rate=RATE)
    kit.switch(check_inventory=False)
    found = [(await kit.ask("check_inventory", {}, user="u")).failure for _ in range(4)]
    assert found == ["TOOL_NOT_FOUND"] * 3 + ["RATE_LIMITED"]


async def test_admitted_calls_are_counted_once(opener: Opener) -> None:
    """A call that its tool refuses has been counted already."""
    kit = await opener(rate=RATE)
    found = [(await kit.ask("get_manga_details", {"title_id": "manga-999999"}, user="u")).failure for _ in range(3)]
    assert found == ["NOT_FOUND"] * 3
    assert await failures(kit, BAD, 1, user="u") == ["VALIDATION_ERROR"], "they were charged twice"


async def test_refusals_of_one_customer_do_not_limit_the_agents_other_customers(opener: Opener) -> None:
    """Customers of whom only their agent is known are not limited either."""
    kit = await opener(rate=RATE, host="0.0.0.0", identifier=TrustTokens(["secret"]))
    agent = {"bearer": "secret", "origin": "agent-1", "address": ADDRESS}
    await failures(kit, BAD, 9, session="loud", **agent)
    assert await failures(kit, GOOD, 1, session="calm", **agent) == [None]
    assert await failures(kit, GOOD, 1, user="u", **agent) == [None]
    wrong_identity = {**agent, "bearer": "wrong"}
    assert await failures(kit, GOOD, 5, **wrong_identity) == ["FORBIDDEN"] * 3 + ["RATE_LIMITED"] * 2
    assert await failures(kit, GOOD, 1, session="calm", **agent) == [None]


async def test_anonymous_loopback_caller_is_not_limited(opener: Opener) -> None:
    kit = await opener(rate=RATE)
    assert set(await failures(kit, BAD, 9, address="127.0.0.1")) == {"VALIDATION_ERROR"}
    assert await failures(kit, GOOD, 1, address="127.0.0.1") == [None]


def test_changing_names_from_one_address_do_not_evade_the_limit() -> None:
    """Unproven names of one address share its limit; another address has its own."""
    limits = CallerLimits(RATE, by_address=True, clock=HandClock())
    names = [Caller(session=f"s{n}", address=ADDRESS) for n in range(1000)]
    assert sum(admitted(limits, each) for each in names) == 10 * RATE.burst
    assert not admitted(limits, Caller(user="u", address=ADDRESS))
    assert admitted(limits, Caller(session="s", address="10.1.1.2"))
    assert sum(admitted(limits, Caller(address=ADDRESS)) for _ in range(9)) == RATE.burst


def test_proven_agent_may_name_any_number_of_customers() -> None:
    limits = CallerLimits(RATE, by_address=True, clock=HandClock())
    assert all(admitted(limits, Caller(session=f"s{n}", address=ADDRESS, vouched=True)) for n in range(1000))
    assert sum(admitted(limits, Caller(address=ADDRESS, vouched=True)) for _ in range(9)) == RATE.burst, "it named nobody"


def test_no_address_is_limited_without_a_rate_or_on_loopback() -> None:
    for limits in (CallerLimits(None, by_address=True), CallerLimits(RATE)):
        assert all(admitted(limits, Caller(address=ADDRESS)) for _ in range(100))
    assert not any(CallerLimits(None).charge_refusal(Caller("u")) for _ in range(100))


def test_list_answers_are_limited_by_their_number_and_size() -> None:
    """Callers without user and session share the limit of their origin or address."""
    clock = HandClock()
    limits = CallerLimits(RATE, clock=clock)
    assert [limits.charge_bytes(Caller(session="s"), 4096) for _ in range(4)] == [0, 0, 0, 1000]
    assert [limits.charge_bytes(Caller(session="t"), size) for size in (4097, 4097, 1, 1)] == [0, 1000, 0, 1000]
    for _ in range(10 * RATE.burst):
        assert not limits.charge_bytes(Caller(origin="agent", address=ADDRESS), 1)
    assert limits.charge_bytes(Caller(origin="agent"), 1) == 100
    assert not limits.charge_bytes(Caller(origin="agent", session="u"), 1)
    assert not any(limits.charge_bytes(Caller(address=ADDRESS), 1) for _ in range(100)), "on loopback"
    limits = CallerLimits(RATE, by_address=True, clock=HandClock())
    assert [limits.charge_bytes(Caller(address=ADDRESS), 1) for _ in range(4)] == [0, 0, 0, 1000]
    assert not limits.charge_refusal(Caller(address=ADDRESS))
    assert not any(limits.charge_refusal(Caller()) for _ in range(100)), "of whom nothing is known"


@cases(
    "stated",
    [{"user": "u"}, {"user_token": "t"}, {"session": "s"}, {"transport_session": "x"}, {}],
    ids=["user", "token", "session", "stream", "nothing"],
)
def test_customer_is_stated_by_user_else_by_token_session_or_stream(stated: dict[str, str]) -> None:
    names = ("user", "user_token", "session", "transport_session")
    less = names[names.index(*stated) + 1 :] if stated else ()

    def named(**said: str) -> StatedIdentity:
        own = {"transport_session": said.pop("transport_session", None), "address": ADDRESS}
        return StatedIdentity.from_call(Call("c", registered("lookup_order"), {}, RequestMetadata(**said), 0.0, **own))

    alone = named(**stated)
    assert (alone.origin, bool(alone.customer)) == (ADDRESS, bool(stated))
    assert named(**stated, **dict.fromkeys(less, "other")) == alone
    assert not stated or named(**dict.fromkeys(stated, "another")) != alone


def test_refusals_for_overload_are_counted_for_stated_customers_only() -> None:
    limits = CallerLimits(RATE, clock=HandClock())
    for customer in ("", "c"):
        for _ in range(3):
            limits.check_stated(StatedIdentity("o", customer))
            limits.note_refusal(StatedIdentity("o", customer))
    limits.check_stated(StatedIdentity("o", ""))
    limits.check_stated(StatedIdentity("p", "c"))
    with pytest.raises(RateLimited) as caught:
        limits.check_stated(StatedIdentity("o", "c"))
    assert caught.value.retry_after_ms == 1000


def test_lists_under_changing_names_count_by_their_size_for_the_address() -> None:
    """Calls and lists share its limit. A proven agent may list for any number of customers."""
    limits = CallerLimits(RATE, by_address=True, clock=HandClock())
    names = [Caller(user=f"u{n}", address=ADDRESS) for n in range(150)]
    assert sum(not limits.charge_bytes(each, 8192) for each in names) == 10 * RATE.burst / 2
    assert not admitted(limits, Caller(session="s", address=ADDRESS))
    assert not limits.charge_bytes(Caller(user="u", address=ADDRESS, vouched=True), 8192)


def test_hundred_thousand_callers_take_bounded_memory_and_a_limited_one_is_kept() -> None:
    """A limited caller stays in memory, since each refusal counts as a use."""
    clock = HandClock()
    limits = LocalLimits(RATE, clock, capacity=1000)
    for _ in range(4):
        limits.wait_ms("noisy")
    for n in range(100_000):
        limits.wait_ms(f"caller-{n}")
        if not n % 900:
            assert limits.peek_wait_ms("noisy")
    assert len(limits._buckets) == 1000


def admitted(limits: CallerLimits, caller: Caller) -> bool:
    try:
        limits.admit(caller)
    except RateLimited:
        return False
    return True
