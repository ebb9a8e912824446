"""What a session remembers, over a real Valkey and over Redis by TCP, by TLS and as a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from session import keys
from session.begin import BeginRequest, BeginResult, CachedResult, CacheKey, ClaimRequest, ClaimState, encode
from session.failures import MemoryRefused, MemoryUnavailable
from session.history import RECOMMENDATIONS, HistoryEntry, LastShown, as_fields, own_fields
from session.memory import SESSION_TTL_MS, Conversation, SessionMemory, pack
from session.recent import RecentState
from session.redis.address import RedisAddress
from session.redis.keyvalue import Command, KeyValue, Step
from session.resilience.breaker import BreakerPolicy, BreakerState, CircuitBreaker
from session.resilience.deadline import Deadline
from session.resilience.rate_limit import LocalLimits, Rate
from session.stated_preferences import StatedPreferences
from session.turn import IMPLICIT, TurnKind, TurnName, TurnRequest, Turns
from tests.support.breakers import mend, trip
from tests.support.cases import cases
from tests.support.clocks import HandClock
from tests.support.redis_kinds import STACK_URLS, all_keys, cluster_address, flush_scripts, forget_everything, reached
from tests.support.valkey import Clocked, Recorded, answering, ask, connected, private_valkey
from tools.store.backends.embedded.customers import EmbeddedCustomers

BUDGET = 3000
CACHED = CacheKey("c", bytes(32))


@dataclass
class Memory:
    """A process's memory, with what went to Redis and the clocks in the test's hands."""

    memory: SessionMemory
    recorded: Recorded
    clock: HandClock
    breaker: CircuitBreaker

    def record(
        self,
        session: str,
        user: str | None,
        entry: HistoryEntry,
        shown: LastShown | None = None,
        shared: Mapping[str, str] | None = None,
        whole: bytes = b"",
    ) -> Step:
        """As the memory's own, with what the call showed and shared instead of its writes; this process does not keep it."""
        state = RecentState(self.clock).keep(self.request(session, user), shown, shared or {})
        return self.memory.record(session, user, entry, state, whole)

    async def begin(
        self, session: str | None = "s", user: str | None = "u", turn: str | None = None, **more: Any
    ) -> BeginResult:
        return await self.memory.begin(self.request(session, user, turn, **more))

    def request(
        self,
        session: str | None = "s",
        user: str | None = "u",
        turn: str | None = None,
        *,
        stated: int | None = None,
        trace: str | None = None,
        **more: Any,
    ) -> BeginRequest:
        name = TurnName(TurnKind.NAMED, turn) if turn else TurnName(TurnKind.TRACE, trace) if trace else IMPLICIT
        key = f"{session}|{user}|{name.field}"
        return BeginRequest(session, user, TurnRequest(key, name, self.clock(), stated), **more)


@pytest.fixture(params=["unix", *STACK_URLS])
async def redis(request: pytest.FixtureRequest, valkey: RedisAddress) -> AsyncIterator[KeyValue]:
    """A connection to one that knows nothing: no key and no script."""
    url = request.getfixturevalue(STACK_URLS[request.param]) if request.param in STACK_URLS else None
    address = valkey if url is None else cluster_address(url) if "cluster" in request.param else RedisAddress.parse(url)
    async with reached(address) as own:
        await forget_everything(own)
        yield own


@pytest.fixture
def hand() -> HandClock:
    return HandClock()


@pytest.fixture
def process(redis: KeyValue, hand: HandClock) -> Callable[..., Memory]:
    """A process of its own over the same Valkey; they share the clock in the test's hand, with another origin each."""

    def make(rate: Rate | None = None, over: KeyValue | None = None) -> Memory:
        recorded = Recorded(over or Clocked(redis, hand))
        breaker = CircuitBreaker("redis", BreakerPolicy(0.04), hand)
        arithmetic = Turns(BUDGET, hand)
        limits = LocalLimits(rate or Rate(), hand)
        return Memory(SessionMemory(recorded, breaker, arithmetic, rate, limits, hand), recorded, hand, breaker)

    return make


@pytest.fixture
def own(process: Callable[..., Memory]) -> Memory:
    return process()


def entry(tool: str = "search_manga_catalog", *, ok: bool = True, hit: bool = False, at: float = 1.0) -> HistoryEntry:
    return HistoryEntry(tool, {"max_results": 5}, "5 of 9 titles", ok, 12, hit, 40, at)


async def leave(own: Memory, *steps: Step) -> None:
    assert await own.memory.end(list(steps))


# -- begin and end


async def test_whole_call_makes_two_round_trips_whatever_it_reads_and_writes(
    own: Memory, process: Callable[..., Memory]
) -> None:
    own = process(Rate())
    claim = ClaimRequest(CacheKey(keys.idempotency("u", "s", "k"), bytes(32)), "args", "call-1")
    begun = await own.begin(claim=claim, cached=CACHED, result_set=keys.result_set("rs_x"))
    assert not begun.degraded
    steps = [
        own.record("s", "u", entry(), LastShown(("manga-1",), ("One",), "one")),
        own.memory.settle(claim, b"1 {}"),
    ]
    await leave(own, *steps, Command(("SET", "c", b"1 {}")))
    assert [len(trip) for trip in own.recorded.trips] == [5, 3]


async def test_caller_without_session_and_user_makes_no_round_trip(own: Memory) -> None:
    begun = await own.begin(session=None, user=None)
    assert own.recorded.trips == []
    assert (begun.degraded, begun.turn.remaining_ms()) == (False, BUDGET - 200)
    assert await own.memory.end([])
    assert own.recorded.trips == []


async def test_begin_returns_last_search_cached_result_and_result_set(own: Memory) -> None:
    await leave(own, own.record("s", "u", entry(), LastShown(("manga-1", "manga-2"), ("A", "B"), "q")))
    await leave(own, Command(("SET", "c", encode({"a": 1}, 5.0, CACHED) or b"")), Command(("SET", "set", "manga-9 manga-8")))
    begun = await own.begin(cached=CACHED, result_set="set")
    assert begun.last_ids == ("manga-1", "manga-2")
    assert begun.cached is not None
    assert (begun.cached.value, begun.cached.made_at) == ({"a": 1}, 5.0)
    assert begun.result_set == ("manga-9", "manga-8")


async def test_missing_entries_are_none_and_an_empty_result_set_is_empty(own: Memory) -> None:
    await leave(own, Command(("SET", "empty", "-")))
    begun = await own.begin(cached=CACHED, result_set="none")
    assert (begun.last_ids, begun.cached, begun.result_set) == ((), None, None)
    assert (await own.begin(result_set="empty")).result_set == ()


async def test_empty_search_is_remembered_as_the_last_one(own: Memory) -> None:
    await leave(own, own.record("s", "u", entry(), LastShown(("manga-1",), ("A",), "q")))
    await leave(own, own.record("s", "u", entry(), LastShown((), (), "nothing")))
    assert (await own.begin()).last_ids == ()
    assert (await own.memory.recall("s", "u")).last_shown == LastShown((), (), "nothing")


async def test_recommended_titles_are_remembered_as_shown_by_recommendations(own: Memory) -> None:
    """The list shown last counts, together with the tool that showed it."""
    shown = LastShown(("manga-7",), ("Seven",), "something sad", RECOMMENDATIONS)
    await leave(own, own.record("s", "u", entry(), LastShown(("manga-1",), ("A",), "q")))
    await leave(own, own.record("s", "u", entry("get_recommendations"), shown))
    assert (await own.begin()).last == replace(shown, titles=())
    assert (await own.memory.recall("s", "u")).last_shown == shown
    await leave(own, own.record("s", "u", entry(), LastShown((), (), "nothing")))
    assert (await own.begin()).last == LastShown((), (), "nothing")


async def test_call_that_is_no_search_leaves_the_last_search_unchanged(own: Memory) -> None:
    await leave(own, own.record("s", "u", entry(), LastShown(("manga-1",), ("A",), "q")))
    await leave(own, own.record("s", "u", entry("check_inventory"), None))
    assert (await own.begin()).last_ids == ("manga-1",)


async def test_last_twenty_calls_are_kept_latest_first(own: Memory) -> None:
    for n in range(25):
        await leave(own, own.record("s", "u", entry(f"tool-{n}", at=n), None))
    calls = (await own.memory.recall("s", "u")).calls
    assert [call.tool for call in calls] == [f"tool-{n}" for n in range(24, 4, -1)]
    assert calls[0] == entry("tool-24", at=24)


async def test_totals_count_more_calls_than_are_kept(own: Memory) -> None:
    for n in range(25):
        await leave(own, own.record("s", "u", entry(ok=n % 5 > 0, hit=n % 2 == 0), None))
    totals = (await own.memory.recall("s", "u")).totals
    assert totals == {"calls": 25, "failures": 5, "cache_hits": 13, "latency_ms": 300, "tokens_out": 1000}


async def test_begin_returns_history_on_request_in_the_same_round_trip(own: Memory) -> None:
    shown = LastShown(("manga-1",), ("One",), "one")
    for n in range(3):
        left = replace(entry(f"tool-{n}"), words="言葉", shown=(("manga-1", "One"),))
        await leave(own, own.record("s", "u", left, shown))
    assert (await own.begin()).history is None
    begun = await own.begin(history=2)
    assert begun.history is not None
    assert [call.tool for call in begun.history] == ["tool-2", "tool-1", "tool-0"], "to choose from: all of them"
    assert begun.history[0] == replace(entry("tool-2"), words="言葉", shown=(("manga-1", "One"),))
    assert begun.last == shown, "with the names"
    assert [len(trip) for trip in own.recorded.trips[-2:]] == [1, 3]
    assert (await own.begin("s", "v", history=20)).history == ()
    assert (await own.begin(None, "u", "t", history=20)).history is None


async def test_shared_values_are_kept_until_replaced_or_cleared(own: Memory) -> None:
    title = {"title_id": "manga-1", "title": "ひとつ"}
    await leave(own, own.record("s", "u", entry(), None, title))
    await leave(own, own.record("s", "u", entry(), None, {"order_id": "MNG-DEMO1001"}))
    assert (await own.begin()).shared == title | {"order_id": "MNG-DEMO1001"}
    await leave(own, own.record("s", "u", entry(), None, {"title_id": "", "title": ""}))
    assert (await own.begin()).shared == {"order_id": "MNG-DEMO1001"} == (await own.memory.recall("s", "u")).shared
    assert (await own.begin("s", "v")).shared == {}


async def test_shared_values_of_tools_are_read_by_key_and_kept_apart(own: Memory) -> None:
    for tool in ("one", "other"):
        await leave(own, own.record("s", "u", entry(), None, as_fields({f"{tool}.a": "1", f"{tool}.b": "二"})))
    await leave(own, own.record("s", "u", entry(), None, as_fields({"one.a": "3"})))
    assert (await own.begin()).shared == {}
    assert (await own.begin(own_fields=own_fields(["one.a", "title_id"]))).shared == {"one.a": "3"}
    everything = {"one.a": "3", "other.a": "1", "other.b": "二"}
    assert (await own.begin(own_fields=own_fields(everything))).shared == everything
    assert (await own.memory.recall("s", "u")).shared == everything


async def test_later_of_two_states_written_without_redis_wins(
    redis: KeyValue, hand: HandClock, process: Callable[..., Memory]
) -> None:
    """While Redis is away neither process knows of the other; on return both write, with or without a call."""
    links = [Clocked(redis, hand), Clocked(redis, hand)]
    one, other = (process(over=link) for link in links)

    async def show(own: Memory, link: Clocked, title: str, order: str = "") -> None:
        request = own.request(turn=title)
        begun = await own.memory.begin(request)
        shown = LastShown((title,), (title,), title)
        shared = {"title_id": title, "title": title} | ({"order_id": order} if order else {})
        left = own.memory.recent.keep(request, shown, shared)
        if not begun.degraded and await own.memory.end([own.memory.record("s", "u", entry(), left)]):
            own.memory.recent.mark_written(left)
        assert begun.degraded is link.away
        hand.advance(1.0)

    async def known(own: Memory) -> tuple[str, str, str | None, bool]:
        begun = await own.begin(turn="next")
        assert begun.last is not None
        return begun.last.query, begun.shared["title_id"], begun.shared.get("order_id"), begun.degraded

    await other.begin()  # from which it knows Redis's clock, which is nobody's of today
    await show(one, links[0], "first")
    links[1].away = True
    await show(other, links[1], "alone", "MNG-DEMO1001")
    assert await known(other) == ("alone", "alone", "MNG-DEMO1001", True)
    await show(one, links[0], "later")
    links[1].away = False
    for own in (other, one):
        assert await known(own) == ("later", "later", "MNG-DEMO1001", False), "the order has no later one"
    links[1].away = True
    await show(other, links[1], "latest")
    links[1].away = False
    await other.memory._catch_up()
    for own in (one, other):
        assert await known(own) == ("latest", "latest", "MNG-DEMO1001", False)


async def test_record_written_late_does_not_replace_a_later_one(
    redis: KeyValue, hand: HandClock, process: Callable[..., Memory]
) -> None:
    one, other = process(), process()
    await one.begin()
    late = one.record("s", "u", entry(), LastShown(("manga-1",), ("A",), "earlier"))
    hand.advance(1.0)
    await other.begin()
    await leave(other, other.record("s", "u", entry(), LastShown(("manga-2",), ("B",), "later")))
    await leave(one, late)
    assert (await other.begin()).last_ids == ("manga-2",)


async def test_last_five_whole_results_are_kept_by_name(redis: KeyValue, own: Memory) -> None:
    for n in range(7):
        await leave(own, own.record("s", "u", replace(entry(), result=f"call-{n}"), None, None, pack(b"\x00 %d" % n)))
    await leave(own, own.record("s", "u", entry(), None))
    mine = Conversation(own.memory, "s", "u")
    found = [await mine.whole_result(f"call-{n}") for n in range(7)]
    assert found == [None, None, *(b"\x00 %d" % n for n in range(2, 7))]
    for session, user, name in (("s", "v", "call-6"), ("t", "u", "call-6"), ("s", "u", "call"), ("s", "u", "")):
        assert await Conversation(own.memory, session, user).whole_result(name) is None
    assert 1_790_000 < await ask(redis, "PTTL", keys.SessionKeys.of("s", "u").results) <= 1_800_000
    await own.memory.forget("s", "u")
    assert await mine.whole_result("call-6") is None


async def test_begin_returns_whether_the_session_has_listeners(redis: KeyValue, own: Memory) -> None:
    await own.memory.mark_listened_to("s", "u")
    assert await ask(redis, "PTTL", keys.SessionKeys.of("s", "u").base) > SESSION_TTL_MS * 0.9
    assert (await own.begin()).listened
    assert not (await own.begin("s", "v")).listened
    await own.memory.forget("s", "u")
    assert not (await own.begin()).listened


async def test_malformed_history_entry_degrades_begin_and_fails_recall(redis: KeyValue, own: Memory) -> None:
    """Calls run without memory, and a reader of the history gets an error."""
    await ask(redis, "LPUSH", keys.SessionKeys.of("s", "u").history, "[]")
    begun = await own.begin(history=1)
    assert (begun.history, begun.degraded) == (None, True)
    with pytest.raises(MemoryUnavailable):
        await own.memory.recall("s", "u")


async def test_unknown_session_recalls_as_empty(own: Memory) -> None:
    recollection = await own.memory.recall("never", "u")
    assert (recollection.calls, recollection.last_shown, set(recollection.totals.values())) == ((), None, {0})


async def test_texts_in_any_script_are_stored_unchanged(own: Memory) -> None:
    search = LastShown(("manga-1",), ('進撃の巨人 "x" 🐟',), "進撃\n🐟")
    await leave(own, own.record("s", "u", entry(), search))
    assert (await own.memory.recall("s", "u")).last_shown == search


@cases("others", [("s", None), ("s", "v"), ("t", "u"), ("s", "U"), ("s", "anonymous"), ("s", "u ")])
async def test_session_is_kept_apart_for_each_user(own: Memory, others: tuple[str, str | None]) -> None:
    await leave(own, own.record("s", "u", entry(), LastShown(("manga-1",), ("A",), "q")))
    assert (await own.begin(*others)).last_ids == ()
    assert (await own.memory.recall(*others)).calls == ()
    await own.memory.forget(*others)
    assert (await own.begin("s", "u")).last_ids == ("manga-1",)


@cases("user", ["読者・太郎 🐟", "x" * 255, "a}b{c:d e\r\nf", "\ud800", "e\u0301", "\u00e9"])
async def test_any_user_may_have_a_session_and_no_key_contains_the_user(redis: KeyValue, own: Memory, user: str) -> None:
    await own.begin("s", user, "t")
    await leave(own, own.record("s", user, entry(), LastShown(("manga-1",), ("A",), "q")))
    assert (await own.begin("s", user)).last_ids == ("manga-1",)
    names = [name.decode("ascii") for name in await all_keys(redis)]
    assert names
    assert not any(user in name for name in names)


async def test_forget_removes_the_whole_session_and_returns_whether_it_existed(redis: KeyValue, own: Memory) -> None:
    await own.begin("s", "u", "t")
    await leave(own, own.record("s", "u", entry(), LastShown(("manga-1",), ("A",), "q")))
    assert await own.memory.forget("s", "u")
    (left,) = await all_keys(redis)
    assert await ask(redis, "HKEYS", left) == [b"ended"]
    assert not await own.memory.forget("s", "u")


@cases("late", [False, True])
async def test_session_ended_by_another_process_is_over(own: Memory, process: Callable[..., Memory], late: bool) -> None:
    """It is over even in mid-turn, and for state that this process had not written yet."""
    session = f"ended-{late}"
    other, shown = process(), LastShown(("manga-1",), ("A",), "q")
    begun = await own.begin(session, "u", "t")
    written = own.memory.recent.keep(begun.request, shown, {"order_id": "MNG-1"})
    if not late:
        await leave(own, own.record(session, "u", entry(), shown, {"order_id": "MNG-1"}))
        own.memory.recent.mark_written(written)
    own.clock.advance(1)
    await other.memory.forget(session, "u")
    own.clock.advance(1)
    for each in (own, other, own):
        again = await each.begin(session, "u", "t")
        assert (again.last_ids, again.shared, again.degraded, again.lost_by_redis) == ((), {}, False, False)
    await leave(own, own.record(session, "u", entry(), LastShown(("manga-2",), ("B",), "q")))
    assert (await other.begin(session, "u", "t")).last_ids == ("manga-2",)


async def test_every_written_key_expires(redis: KeyValue, own: Memory, process: Callable[..., Memory]) -> None:
    own = process(Rate())
    claim = ClaimRequest(CacheKey(keys.idempotency("u", "s", "k"), bytes(32)), "args", "call-1")
    await own.begin("s", "u", "t", claim=claim)
    await own.begin(None, "u", "t")
    await own.begin("s", None)
    await leave(own, own.record("s", "u", entry(), LastShown(("manga-1",), ("A",), "q")))
    left = {name.decode(): await ask(redis, "PTTL", name) for name in await all_keys(redis)}
    assert len(left) == 8
    for name, ttl in left.items():
        most = SESSION_TTL_MS if ":session:" in name else 15000 if ":once:" in name else 63000 if ":turn:" in name else 4000
        assert most * 0.9 < ttl <= most, name


async def test_session_lifetime_is_extended_by_each_call(redis: KeyValue, own: Memory) -> None:
    await own.begin()
    await leave(own, own.record("s", "u", entry(), None))
    names = await all_keys(redis)
    for name in names:
        await ask(redis, "PEXPIRE", name, 1000)
    await own.begin()
    await leave(own, own.record("s", "u", entry(), None))
    assert all([await ask(redis, "PTTL", name) > 1_795_000 for name in names])


async def test_flushed_scripts_are_reloaded_transparently(redis: KeyValue, own: Memory) -> None:
    await own.begin()
    await flush_scripts(redis)
    begun = await own.begin()
    assert not begun.degraded
    await flush_scripts(redis)
    await leave(own, own.record("s", "u", entry(), LastShown(("manga-1",), ("A",), "q")))
    assert (await own.begin()).last_ids == ("manga-1",)


# -- idempotency keys


def a_claim(
    call: str = "call-1", arguments: str = "args", user: str | None = "u", session: str | None = "s"
) -> ClaimRequest:
    return ClaimRequest(CacheKey(keys.idempotency(user, session, "key"), bytes(32)), arguments, call)


async def claimed(own: Memory, request: ClaimRequest) -> ClaimState | None:
    begun = await own.begin(claim=request)
    return begun.claim.state if begun.claim else None


async def test_first_claim_of_a_key_is_new_and_the_second_running(own: Memory) -> None:
    assert await claimed(own, a_claim()) is ClaimState.NEW
    assert await claimed(own, a_claim("call-2")) is ClaimState.RUNNING
    assert await claimed(own, a_claim("call-3", "others")) is ClaimState.OTHER


async def test_settled_key_returns_its_result_for_ten_minutes(redis: KeyValue, own: Memory) -> None:
    await claimed(own, a_claim())
    await leave(own, own.memory.settle(a_claim(), encode({"a": "値"}, 3.0, a_claim().record)))
    begun = await own.begin(claim=a_claim("call-2"))
    assert begun.claim is not None
    assert begun.claim.state is ClaimState.DONE
    assert begun.claim.result is not None
    assert begun.claim.result.value == {"a": "値"}
    ttl = await ask(redis, "PTTL", a_claim().record.name)
    assert 594_000 < ttl <= 600_000


async def test_released_key_can_be_claimed_again(own: Memory) -> None:
    await claimed(own, a_claim())
    await leave(own, own.memory.settle(a_claim(), None))
    assert await claimed(own, a_claim("call-2")) is ClaimState.NEW


async def test_idempotency_key_is_settled_by_its_claimant_only(own: Memory) -> None:
    await claimed(own, a_claim())
    await leave(own, own.memory.settle(a_claim("call-2"), b"1 {}"), own.memory.settle(a_claim("call-3"), None))
    assert await claimed(own, a_claim("call-4")) is ClaimState.RUNNING


async def test_exactly_one_of_many_concurrent_claims_is_new(process: Callable[..., Memory]) -> None:
    processes = [process() for _ in range(5)]
    states = await asyncio.gather(*(claimed(processes[n % 5], a_claim(f"call-{n}")) for n in range(40)))
    assert sorted(state.value for state in states if state) == ["new"] + ["running"] * 39


def test_idempotency_records_differ_by_owner() -> None:
    """Two users, two anonymous sessions and a user named like a session's owner share no record."""
    owners = [("u", "s"), ("v", "s"), (None, "s"), (None, "t"), ("session:s", "x")]
    assert len({keys.idempotency(user, session, "key") for user, session in owners}) == len(owners)
    assert keys.idempotency("u", "s", "key") == keys.idempotency("u", "t", "key")


# -- limits


async def test_rate_limited_user_starts_no_turn_and_claims_no_key(process: Callable[..., Memory]) -> None:
    own = process(Rate(10, 2))
    for _ in range(2):
        assert not (await own.begin(None, "u")).retry_after_ms
    claim = a_claim()
    refused = await own.begin("s", "u", "t", claim=claim)
    assert 0 < refused.retry_after_ms <= 100
    assert refused.claim is None
    own.clock.advance(2.0)
    begun = await own.begin("s", "u", "t", claim=a_claim("call-2"))
    assert begun.turn.remaining_ms() == BUDGET - 200, "the refused call started the turn"
    assert begun.claim is not None
    assert begun.claim.state is ClaimState.NEW


async def test_refused_call_takes_back_only_its_own_part_of_a_turn(process: Callable[..., Memory]) -> None:
    own = process(Rate(1, 1))
    await own.begin("s", "u", "t")
    own.clock.advance(0.5)
    assert (await own.begin("s", "u", "t")).retry_after_ms
    assert (await own.begin("s", "u", "t")).retry_after_ms
    other = process()
    assert (await other.begin("s", "u", "t")).turn.remaining_ms() == BUDGET - 200 - 500, "the turn was lost"


async def test_refused_call_makes_at_most_two_round_trips(process: Callable[..., Memory]) -> None:
    own = process(Rate(1, 1))
    await own.begin("s", "u", "t")
    own.recorded.trips.clear()
    assert (await own.begin("s", "u", "t", claim=a_claim())).retry_after_ms
    assert len(own.recorded.trips) == 2


async def test_session_without_a_user_is_limited_by_session(process: Callable[..., Memory]) -> None:
    own = process(Rate(10, 3))
    waits = [(await own.begin("s", None, "t")).retry_after_ms for _ in range(5)]
    assert waits == [0, 0, 0, 100, 100]
    assert not (await own.begin("other", None)).retry_after_ms
    own.clock.advance(0.1)
    assert not (await own.begin("s", None, "t")).retry_after_ms


async def test_rate_limited_anonymous_session_starts_no_turn_and_claims_no_key(process: Callable[..., Memory]) -> None:
    own = process(Rate(1, 1))
    await own.begin("s", None)
    claim = a_claim(user=None)
    assert (await own.begin("s", None, "t", claim=claim)).retry_after_ms == 1000
    own.clock.advance(1.5)
    begun = await own.begin("s", None, "t", claim=claim)
    assert begun.turn.remaining_ms() == BUDGET - 200
    assert begun.claim is not None
    assert begun.claim.state is ClaimState.NEW


async def test_user_is_limited_across_sessions_and_processes(process: Callable[..., Memory]) -> None:
    one, two = process(Rate(10, 4)), process(Rate(10, 4))
    waits = [(await own.begin(f"s{n}", "u")).retry_after_ms for n in range(3) for own in (one, two)]
    assert [wait > 0 for wait in waits] == [False] * 4 + [True] * 2
    assert not (await one.begin("s0", "v")).retry_after_ms


@cases("user", ["u", None])
@cases("away", [False, True])
async def test_call_counts_for_its_cost_in_the_limit(process: Callable[..., Memory], user: str | None, away: bool) -> None:
    """A cost above the burst takes all of it."""
    own = process(Rate(10, 5), over=Failing(MemoryUnavailable("away")) if away else None)
    waits = [(await own.begin("s", user, "t", cost=cost)).retry_after_ms for cost in (4, 1, 4)]
    assert waits == [0, 0, 400]
    own.clock.advance(0.5)
    assert [(await own.begin("s", user, "t", cost=99)).retry_after_ms for _ in range(2)] == [0, 500]


async def test_nobody_is_limited_without_a_rate(own: Memory) -> None:
    assert not any([(await own.begin()).retry_after_ms for _ in range(100)])


# -- Redis late, refusing or away


class Failing:
    """A Redis that cannot be used, in the way that a test says."""

    def __init__(self, how: Exception | list[Any]) -> None:
        self.how = how

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Any]:
        if isinstance(self.how, Exception):
            raise self.how
        return (self.how * len(steps))[: len(steps)]

    async def aclose(self) -> None:
        pass


LIES: list[list[Any]] = [
    [b"OK"],
    [None],
    [[]],
    [[b"x"]],
    [7],
    [[0, None, None]],
    [[b"0", b"a", b"b", b"c", b"\xff\xfe"]],
    [[[]]],
]


@cases("how", [MemoryUnavailable("away"), [MemoryRefused("LOADING")]], ids=["away", "refusing"])
async def test_call_without_redis_is_degraded_with_a_turn_in_the_process(process: Callable[..., Memory], how: Any) -> None:
    own = process(over=Failing(how))
    first = await own.begin(turn="t", claim=a_claim(), cached=CACHED, result_set="set")
    left = first.turn.remaining_ms()
    own.clock.advance(1.0)
    second = await own.begin(turn="t")
    assert (first.degraded, first.claim, first.cached, first.result_set, first.last_ids) == (True, None, None, None, ())
    assert (left, second.turn.remaining_ms()) == (2800, 1800)
    assert not await own.memory.end([own.record("s", "u", entry(), None)])


@cases("lie", LIES, ids=repr)
async def test_malformed_redis_reply_stops_no_call(process: Callable[..., Memory], lie: list[Any]) -> None:
    own = process(Rate(), over=Failing(lie))
    begun = await own.begin(turn="t", claim=a_claim(), cached=CACHED, result_set="set")
    assert begun.turn.remaining_ms() <= BUDGET - 200
    assert begun.cached is None


async def test_limits_are_kept_in_the_process_without_redis(process: Callable[..., Memory]) -> None:
    own = process(Rate(10, 2), over=Failing(MemoryUnavailable("away")))
    for session, user in (("s", "u"), ("s", None)):
        waits = [(await own.begin(session, user)).retry_after_ms for _ in range(4)]
        assert waits == [0, 0, 100, 100]
    assert not any([(await own.begin(None, None, "t")).retry_after_ms for _ in range(9)]), "nobody to limit"


async def test_limit_without_redis_is_per_user_and_else_per_anonymous_session(
    process: Callable[..., Memory],
) -> None:
    """The bucket refills."""
    own = process(Rate(10, 2), over=Failing(MemoryUnavailable("away")))
    waits = [(await own.begin(session, "u")).retry_after_ms for session in ("s", "t", None, "s")]
    assert waits == [0, 0, 100, 100]
    assert [(await own.begin("s", user)).retry_after_ms for user in ("v", None)] == [0, 0]
    own.clock.advance(0.1)
    assert [(await own.begin("x", "u")).retry_after_ms for _ in range(2)] == [0, 100]
    trip(own.breaker)
    assert (await own.begin("y", "u")).retry_after_ms == 100, "an open breaker lifts no limit"


async def test_nobody_is_limited_without_redis_and_rate(process: Callable[..., Memory]) -> None:
    own = process(over=Failing(MemoryUnavailable("away")))
    assert not any([(await own.begin()).retry_after_ms for _ in range(100)])


async def test_call_refused_without_redis_starts_no_turn(process: Callable[..., Memory]) -> None:
    own = process(Rate(1, 1), over=Failing(MemoryUnavailable("away")))
    await own.begin("s", "u")
    assert (await own.begin("s", "u", "t")).retry_after_ms
    own.clock.advance(2.0)
    assert (await own.begin("s", "u", "t")).turn.remaining_ms() == BUDGET - 200


async def test_cancelled_round_trip_leaves_the_breaker_closed(process: Callable[..., Memory]) -> None:
    never = asyncio.Event()

    class Hanging(Failing):
        async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Any]:
            await never.wait()
            raise AssertionError

    own = process(over=Hanging([]))
    for _ in range(10):
        task = asyncio.create_task(own.begin())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert own.breaker.state is BreakerState.CLOSED


async def test_breaker_opens_after_five_failures_and_closes_on_recovery(
    process: Callable[..., Memory], redis: KeyValue
) -> None:
    failing = Failing(MemoryUnavailable("away"))
    own = process(over=failing)
    for _ in range(5):
        await own.begin()
    assert own.breaker.state is BreakerState.OPEN
    trips = len(own.recorded.trips)
    assert (await own.begin()).degraded
    assert not await own.memory.end([own.record("s", "u", entry(), None)])
    with pytest.raises(MemoryUnavailable):
        await own.memory.recall("s", "u")
    assert len(own.recorded.trips) == trips, "an open breaker lets nothing through"
    own.recorded.inner = Clocked(redis, own.clock)
    own.clock.advance(1.0)
    assert not (await own.begin()).degraded
    assert not (await own.begin()).degraded
    assert own.breaker.state is BreakerState.CLOSED


@cases("code", ["WRONGTYPE x", "CROSSSLOT x", "NOSCRIPT x", "NOPERM x", "ERR x", "BUSYGROUP x", "x"])
async def test_refusal_of_one_command_leaves_the_breaker_closed(process: Callable[..., Memory], code: str) -> None:
    """The call that sent it runs without memory, and other calls keep theirs."""
    own = process(over=Failing([MemoryRefused(code)]))
    for _ in range(30):
        assert (await own.begin()).degraded
    assert own.breaker.state is BreakerState.CLOSED


@cases("code", ["LOADING x", "READONLY x", "OOM x", "MASTERDOWN x", "CLUSTERDOWN x", "BUSY x", "MISCONF x"])
async def test_refusal_that_concerns_every_call_opens_the_breaker(process: Callable[..., Memory], code: str) -> None:
    own = process(over=Failing([MemoryRefused(code), MemoryRefused("WRONGTYPE y")]))
    for _ in range(5):
        assert (await own.begin(cached=CACHED)).degraded
    assert own.breaker.state is BreakerState.OPEN


async def test_malformed_session_does_not_degrade_other_sessions(process: Callable[..., Memory], redis: KeyValue) -> None:
    own = process(Rate(100, 100))
    await ask(redis, "HSET", keys.SessionKeys.of("spoilt", None).base, "tokens", "no number", "refilled", 1)
    for _ in range(10):
        assert (await own.begin("spoilt", None, turn="t")).degraded
        assert not (await own.begin("s", "v", turn="t")).degraded


async def test_key_of_another_type_counts_as_absent_and_is_written_anew(
    process: Callable[..., Memory], redis: KeyValue
) -> None:
    own = process(Rate(100, 100))
    session, wrong = keys.SessionKeys.of("s", "u"), [("LPUSH", "c"), ("LPUSH", "set"), ("LPUSH", keys.preferences("u"))]
    wrong += [("SET", name) for name in (*session, keys.limit("u"), a_claim().record.name)]
    for command, name in wrong:
        await ask(redis, command, name, "of another type")
    asked = {"cached": CACHED, "result_set": "set", "preferences": keys.preferences("u"), "history": 3}
    assert (await own.memory.recall("s", "u")).known
    assert await Conversation(own.memory, "s", "u").whole_result("call-1") is None
    first = await own.begin("s", "u", turn="t", claim=a_claim(), **asked)
    assert (first.degraded, first.cached, first.result_set, first.preferences, first.history) == (False, *[None] * 4)
    assert first.claim is not None
    assert first.claim.state is ClaimState.NEW
    stated = StatedPreferences(EmbeddedCustomers(), own.memory)
    written = [
        Command(("SET", "c", encode({"a": 1}, 1.0, CACHED) or b"")),
        Command(("SET", "set", "manga-1")),
        stated.copy("u", ()),
        own.record("s", "u", replace(entry(), result="call-1"), LastShown(("manga-1",), ("A",), "q"), whole=pack(b"whole")),
        own.memory.settle(a_claim(), encode({"a": 1}, 1.0, a_claim().record)),
    ]
    await leave(own, *written)
    again = await own.begin("s", "u", turn="t", claim=a_claim("call-2"), **asked)
    assert (again.degraded, again.cached, again.preferences) == (False, CachedResult({"a": 1}, 1.0), ())
    assert again.result_set == again.last_ids == ("manga-1",)
    assert len(again.history or ()) == 1
    assert again.claim is not None
    assert again.claim.state is ClaimState.DONE
    assert await Conversation(own.memory, "s", "u").whole_result("call-1") == b"whole"


async def test_session_of_another_type_can_be_forgotten(own: Memory, redis: KeyValue) -> None:
    await ask(redis, "SET", keys.SessionKeys.of("s", "u").base, "no hash")
    assert await own.memory.forget("s", "u")
    assert not await own.memory.forget("s", "u")


class Timed(Failing):
    """Says for how long each trip was to be waited for, in ms; answers nothing."""

    def __init__(self) -> None:
        super().__init__(MemoryUnavailable("away"))
        self.allowed: list[int] = []

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Any]:
        self.allowed.append(round(deadline.remaining() * 1000))
        return await super().trip(steps, deadline)


async def test_each_round_trip_has_a_timeout_of_at_most_fifty_ms(process: Callable[..., Memory]) -> None:
    """The second trip has at most the rest of its call."""
    timed = Timed()
    own = process(over=timed)
    await own.begin(turn="t")
    for seconds in (0.05, 0.02, 0.0, 7.0):
        assert not await own.memory.end([own.record("s", "u", entry(), None)], seconds)
        await mend(own.breaker)
    assert timed.allowed == [50, 50, 20, 0, 50]


async def test_begin_of_an_exhausted_named_turn_has_half_the_timeout(process: Callable[..., Memory]) -> None:
    """Its answer is due at once. A turn with time left and an unnamed one have the whole timeout."""
    timed = Timed()
    own = process(over=timed)
    await own.begin(turn="t")
    own.clock.advance((BUDGET - 301) / 1000)
    await own.begin(turn="t")
    own.clock.advance(0.002)
    await own.begin(turn="t")
    await own.begin(trace="0" * 31 + "1")
    assert timed.allowed == [50, 50, 25, 50]


@cases(("took_ms", "state"), [(25, BreakerState.CLOSED), (55, BreakerState.OPEN)])
async def test_round_trip_cut_short_by_its_call_leaves_the_breaker_closed(
    process: Callable[..., Memory], took_ms: int, state: BreakerState
) -> None:
    """A trip that had its full fifty ms does count against Redis."""

    class Slow(Failing):
        async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Any]:
            own.clock.advance(took_ms / 1000)
            return await super().trip(steps, deadline)

    own = process(over=Slow(MemoryUnavailable("late")))
    for _ in range(6):
        await own.memory.end([own.record("s", "u", entry(), None)], 0.02)
    assert own.breaker.state is state


async def test_ping_bypasses_the_breaker_and_reports_the_state_of_redis(process: Callable[..., Memory]) -> None:
    await process().memory.ping(Deadline.after(5))
    with pytest.raises(MemoryRefused):
        await process(over=Failing([MemoryRefused("LOADING")])).memory.ping(Deadline.after(5))
    with pytest.raises(MemoryUnavailable):
        await process(over=Failing(MemoryUnavailable("away"))).memory.ping(Deadline.after(5))


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Redis that works may take its time on a busy machine."""
    monkeypatch.setattr("session.redis.keyvalue.TRIP_SECONDS", 2.0)


@pytest.mark.usefixtures("patience")
async def test_read_only_redis_degrades_and_recovers() -> None:
    with private_valkey() as valkey:
        async with connected(valkey.address) as redis:
            memory = real_memory(redis)
            await ask(redis, "REPLICAOF", "127.0.0.1", 1)
            assert (await memory.begin(real_request())).degraded
            await ask(redis, "REPLICAOF", "NO", "ONE")
            assert not (await memory.begin(real_request())).degraded


async def test_redis_out_of_memory_degrades() -> None:
    with private_valkey("--maxmemory", "1kb", "--maxmemory-policy", "noeviction") as valkey:
        async with connected(valkey.address) as redis:
            assert (await real_memory(redis).begin(real_request())).degraded


async def test_hanging_redis_costs_fifty_ms_until_the_breaker_opens() -> None:
    with private_valkey() as valkey:
        async with connected(valkey.address) as redis:
            breaker = CircuitBreaker("redis", BreakerPolicy(0.04))
            memory = real_memory(redis, breaker)
            assert not (await memory.begin(real_request())).degraded
            valkey.hang()
            begun = [await memory.begin(real_request()) for _ in range(5)]
            assert all(each.degraded for each in begun)
            assert breaker.state is BreakerState.OPEN
            valkey.go_on()
            await answering(redis)
            deadline = Deadline.after(5)
            while (await memory.begin(real_request())).degraded:
                assert not deadline.expired(), "Redis was not found again"
                await asyncio.sleep(0.01)


@pytest.mark.usefixtures("patience")
async def test_restarted_redis_is_used_again_and_no_turn_is_extended() -> None:
    with private_valkey() as valkey:
        async with connected(valkey.address) as redis:
            memory = real_memory(redis)
            first = await memory.begin(real_request(arrived=-1.0))
            valkey.kill()
            away = await memory.begin(real_request())
            valkey.start_again()
            await answering(redis)
            back = await memory.begin(real_request())
            assert (first.degraded, away.degraded, back.degraded) == (False, True, False)
            assert first.turn.ends.at >= away.turn.ends.at >= back.turn.ends.at, "a turn was extended"
            other = await real_memory(redis).begin(real_request())
            assert other.turn.remaining_ms() <= 1800 + 5, "what one process knows is told to all of them"


def real_memory(redis: KeyValue, breaker: CircuitBreaker | None = None) -> SessionMemory:
    """With real clocks, as it is wired."""
    breaker = breaker or CircuitBreaker("redis", BreakerPolicy(0.04))
    return SessionMemory(redis, breaker, Turns(BUDGET), None, LocalLimits(Rate()))


def real_request(arrived: float = 0.0) -> BeginRequest:
    name = TurnName(TurnKind.NAMED, "t")
    return BeginRequest("s", "u", TurnRequest("key", name, Deadline.after(arrived).at))


# -- names


def test_missing_user_and_a_user_named_anonymous_differ() -> None:
    assert keys.user_hash(None) == "anonymous"
    assert keys.user_hash("anonymous") != "anonymous"


def test_all_keys_of_a_session_are_in_one_cluster_slot() -> None:
    own = keys.SessionKeys.of("s:1", "u")
    assert {name[name.index("{") : name.index("}")] for name in own} == {"{s:1"}
    base, turns = keys.sessionless_turn("u", "t")
    assert turns.startswith(base)
