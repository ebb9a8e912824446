"""What a caller may do before Redis is asked: refusals count, names that nobody vouches for are no way round a limit."""

from __future__ import annotations

from typing import Any

import pytest

from server.identity import TrustTokens
from server.identity.caller_limits import CROWD, Caller, CallerLimits
from session.resilience.rate_limit import LocalLimits, Rate
from tests.support.cases import cases
from tests.support.clocks import HandClock
from tests.support.pipeline import Kit, Opener
from tools.store.failures import RateLimited

pytestmark = pytest.mark.virtual_time

RATE = Rate(1, 3)
GOOD, BAD = {"query": "pirates"}, {"query": 7}
ADDRESS = "10.1.1.1"


async def failures(kit: Kit, arguments: dict[str, Any], times: int, **stated: Any) -> list[str | None]:
    return [(await kit.ask("search_manga_catalog", arguments, **stated)).failure for _ in range(times)]


@pytest.mark.parametrize("who", [{"user": "u"}, {"session": "s"}, {"user": "u", "session": "s"}], ids=str)
async def test_what_is_refused_counts_and_then_nothing_of_its_caller_is_looked_at(
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
async def test_every_kind_of_refusal_counts(opener: Opener, wrong: dict[str, str]) -> None:
    kit = await opener(rate=RATE)
    assert await failures(kit, GOOD, 5, user="u", **wrong) == ["VALIDATION_ERROR"] * 3 + ["RATE_LIMITED"] * 2


async def test_a_tool_that_is_off_counts_too(opener: Opener) -> None:
    kit = await opener(rate=RATE)
    kit.switch(check_inventory=False)
    found = [(await kit.ask("check_inventory", {}, user="u")).failure for _ in range(4)]
    assert found == ["TOOL_NOT_FOUND"] * 3 + ["RATE_LIMITED"]


async def test_calls_that_are_let_in_are_counted_once_and_in_redis_alone(opener: Opener) -> None:
    """What a tool itself refuses has paid already."""
    kit = await opener(rate=RATE)
    found = [(await kit.ask("get_manga_details", {"title_id": "manga-999999"}, user="u")).failure for _ in range(3)]
    assert found == ["NOT_FOUND"] * 3
    assert await failures(kit, BAD, 1, user="u") == ["VALIDATION_ERROR"], "they were charged twice"


async def test_one_customers_refusals_cost_the_agents_other_customers_nothing(opener: Opener) -> None:
    """Not even those of whom nothing is known but the agent that speaks for them."""
    kit = await opener(rate=RATE, host="0.0.0.0", identifier=TrustTokens(["secret"]))
    agent = {"bearer": "secret", "origin": "agent-1", "address": ADDRESS}
    await failures(kit, BAD, 9, session="loud", **agent)
    assert await failures(kit, GOOD, 1, session="calm", **agent) == [None]
    assert await failures(kit, GOOD, 1, user="u", **agent) == [None]
    wrong_identity = {**agent, "bearer": "wrong"}
    assert await failures(kit, GOOD, 5, **wrong_identity) == ["FORBIDDEN"] * 3 + ["RATE_LIMITED"] * 2
    assert await failures(kit, GOOD, 1, session="calm", **agent) == [None]


async def test_on_loopback_nothing_is_known_of_a_caller_without_a_name_and_nothing_is_limited(opener: Opener) -> None:
    kit = await opener(rate=RATE)
    assert set(await failures(kit, BAD, 9, address="127.0.0.1")) == {"VALIDATION_ERROR"}
    assert await failures(kit, GOOD, 1, address="127.0.0.1") == [None]


def test_a_name_of_ones_own_for_each_call_is_no_way_round_the_limit() -> None:
    """Of one address, where nobody vouches for the names; another address has its own."""
    limits = CallerLimits(RATE, by_address=True, clock=HandClock())
    names = [Caller(session=f"s{n}", address=ADDRESS) for n in range(1000)]
    assert sum(admitted(limits, each) for each in names) == CROWD * RATE.burst
    assert not admitted(limits, Caller(user="u", address=ADDRESS))
    assert admitted(limits, Caller(session="s", address="10.1.1.2"))
    assert sum(admitted(limits, Caller(address=ADDRESS)) for _ in range(9)) == RATE.burst


def test_an_agent_that_was_proven_may_name_as_many_customers_as_it_has() -> None:
    limits = CallerLimits(RATE, by_address=True, clock=HandClock())
    assert all(admitted(limits, Caller(session=f"s{n}", address=ADDRESS, vouched=True)) for n in range(1000))
    assert sum(admitted(limits, Caller(address=ADDRESS, vouched=True)) for _ in range(9)) == RATE.burst, "it named nobody"


def test_without_a_rate_and_on_loopback_no_address_is_counted() -> None:
    for limits in (CallerLimits(None, by_address=True), CallerLimits(RATE)):
        assert all(admitted(limits, Caller(address=ADDRESS)) for _ in range(100))
    assert not any(CallerLimits(None).charge(Caller("u")) for _ in range(100))


def test_a_hundred_thousand_callers_are_kept_in_bounded_memory() -> None:
    """And whoever is being refused is not forgotten for it: to be refused is to be asked for."""
    clock = HandClock()
    limits = LocalLimits(RATE, clock, capacity=1000)
    for _ in range(4):
        limits.wait_ms("noisy")
    for n in range(100_000):
        limits.wait_ms(f"caller-{n}")
        if not n % 900:
            assert limits.next_ms("noisy")
    assert len(limits._buckets) == 1000


def admitted(limits: CallerLimits, caller: Caller) -> bool:
    try:
        limits.admit(caller)
    except RateLimited:
        return False
    return True
