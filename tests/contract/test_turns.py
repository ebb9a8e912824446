"""The turn's arithmetic over a real Valkey, with several processes, by clocks in the test's hand.

Each process has a monotonic clock with an origin of its own; Redis's clock may step. Only the scripts' TIME is replaced.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from session.begin import BeginRequest, BeginResult
from session.memory import SessionMemory
from session.redis.address import RedisAddress
from session.redis.keyvalue import KeyValue
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.breaker import BreakerPolicy, CircuitBreaker
from session.resilience.deadline import Deadline
from session.resilience.rate_limit import LocalLimits, Rate
from session.turn import (
    FLOOR_MS,
    FORGET_MS,
    IMPLICIT,
    RESERVE_MS,
    TurnClock,
    TurnKind,
    TurnName,
    TurnRequest,
    Turns,
)
from tests.support.clocks import HandClock
from tests.support.redis_kinds import cluster_address, forget_everything, reached
from tests.support.valkey import Clocked, ask

BUDGET_MS = 3000
ROUNDING = 0.003
"""Ages are told and clocks are read in whole ms."""
A, B = TurnName(TurnKind.NAMED, "a"), TurnName(TurnKind.NAMED, "b")
TRACE = TurnName(TurnKind.TRACE, "0" * 31 + "1")


class Process:
    """A server process: its own clock, memory and view of turns, over a Valkey that all share."""

    counts = TurnClock.WALL

    def __init__(self, world: HandClock, origin: float, redis: KeyValue) -> None:
        self.world = world
        self.origin = origin
        self.redis = Clocked(redis, world, lasting=True)
        self.restart()

    def clock(self) -> float:
        return self.world() + self.origin

    def restart(self) -> None:
        breaker = CircuitBreaker("redis", BreakerPolicy(0.04), self.clock)
        turns = Turns(BUDGET_MS, self.clock, counts=self.counts)
        self.memory = SessionMemory(self.redis, breaker, turns, None, LocalLimits(Rate(), self.clock), self.clock)

    async def begin(
        self,
        name: TurnName = A,
        session: str | None = "s",
        user: str | None = "u",
        *,
        stated: int | None = None,
        age: float = 0,
        tokens: int | None = None,
    ) -> BeginResult:
        key = f"{session}|{user}|{name.field}"
        request = TurnRequest(key, name, self.clock() - age, stated, tokens)
        return await self.memory.begin(BeginRequest(session, user, request))

    async def gives(self, tokens: int, name: TurnName = A, session: str | None = "s", user: str | None = "u") -> None:
        request = TurnRequest(f"{session}|{user}|{name.field}", name, self.clock())
        await self.memory.end(self.memory.spend(BeginRequest(session, user, request), tokens))

    def ends(self, begun: BeginResult) -> float:
        """When the turn is over, in the world's time."""
        return begun.turn.ends.at - self.origin


@pytest.fixture(params=["valkey", "cluster of three"])
async def redis(request: pytest.FixtureRequest, valkey: RedisAddress) -> AsyncIterator[KeyValue]:
    """One that remembers nothing."""
    clustered = request.param == "cluster of three"
    address = cluster_address(request.getfixturevalue("redis_cluster_url")) if clustered else valkey
    async with reached(address) as own:
        await forget_everything(own)
        yield own


@pytest.fixture
def world() -> HandClock:
    return HandClock(0.0)


@pytest.fixture
def one(world: HandClock, redis: KeyValue) -> Process:
    return Process(world, 0.0, redis)


@pytest.fixture
def two(world: HandClock, redis: KeyValue) -> Process:
    return Process(world, 5e6, redis)


async def left(process: Process, name: TurnName = A, **more: Any) -> Ms:
    return Ms((await process.begin(name, **more)).turn.remaining_ms())


class Ms(int):
    """Equal within the one ms that whole numbers and seconds in floating point may differ by, and never more than told."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int) and 0 <= other - int(self) <= 1

    __hash__ = int.__hash__


# -- the letter of the design


async def test_turn_starts_with_its_first_call_and_keeps_back_the_reserve(one: Process) -> None:
    assert await left(one) == BUDGET_MS - RESERVE_MS


async def test_time_between_calls_counts_and_parallel_calls_count_once(world: HandClock, one: Process, two: Process) -> None:
    assert [await left(one), await left(one), await left(two)] == [2800, 2800, 2800]
    world.advance(1.5)
    assert [await left(two), await left(one)] == [1300, 1300]


async def test_waiting_time_before_a_call_begins_counts(one: Process, two: Process) -> None:
    assert await left(one, age=0.5) == 2300
    assert await left(two) == 2300


async def test_named_turn_is_exhausted_in_every_process(world: HandClock, one: Process, two: Process) -> None:
    await one.begin()
    world.advance(2.7)
    for process in (one, two):
        begun = await process.begin()
        assert (Ms(begun.turn.remaining_ms()), begun.turn.exhausted) == (100, True)
    world.advance(30)
    assert [await left(one), await left(two)] == [0, 0]


async def test_turn_with_101_ms_left_is_not_exhausted(world: HandClock, one: Process) -> None:
    await one.begin()
    world.advance(2.699)
    assert not (await one.begin()).turn.exhausted


@pytest.mark.parametrize("name", [TRACE, IMPLICIT], ids=str)
async def test_unnamed_turn_is_replaced_when_exhausted(world: HandClock, one: Process, two: Process, name: TurnName) -> None:
    await one.begin(name)
    world.advance(2.69)
    assert await left(two, name) == 110
    world.advance(0.01)
    assert [await left(two, name), await left(one, name)] == [2800, 2800]
    world.advance(1.0)
    assert [await left(one, name), await left(two, name)] == [1800, 1800]


async def test_named_turn_is_forgotten_a_minute_after_its_end(world: HandClock, one: Process, two: Process) -> None:
    await one.begin()
    world.advance(62.999)
    assert [await left(one), await left(two)] == [0, 0]
    world.advance(0.01)
    assert [await left(two), await left(one)] == [2800, 2800]


@pytest.mark.parametrize("stated", [0, 100, 301, 1500])
async def test_stated_budget_is_what_is_left_at_this_call_in_every_process(
    world: HandClock, one: Process, two: Process, stated: int
) -> None:
    await one.begin()
    world.advance(0.5)
    assert await left(two, stated=stated) == max(0, stated - RESERVE_MS)
    assert await left(one) == max(0, stated - RESERVE_MS), "the others hear of it"


async def test_stated_budget_never_extends_a_turn(world: HandClock, one: Process, two: Process) -> None:
    assert await left(one, stated=100_000) == 2800
    world.advance(1.0)
    assert [await left(one, stated=3000), await left(two, stated=10**9)] == [1800, 1800]


async def test_stated_budget_counts_from_the_arrival_of_the_call(one: Process) -> None:
    assert await left(one, stated=1000, age=0.3) == 500


async def test_stated_budget_holds_in_a_replaced_turn(world: HandClock, one: Process) -> None:
    await one.begin(IMPLICIT)
    world.advance(2.9)
    assert await left(one, IMPLICIT, stated=900) == 700
    world.advance(0.1)
    assert await left(one, IMPLICIT) == 600


async def test_named_turn_without_a_session_belongs_to_its_user(world: HandClock, one: Process, two: Process) -> None:
    await one.begin(session=None)
    world.advance(1.0)
    assert await left(two, session=None) == 1800
    assert await left(two, session=None, user="v") == 2800
    assert await left(two, B, session=None) == 2800
    assert await left(two, session="s") == 2800


async def test_anonymous_callers_without_a_session_share_no_turn(world: HandClock, one: Process, two: Process) -> None:
    """They may use equal turn ids; callers that want to share a turn's time name a session, or the time left."""
    for process in (one, two, one):
        assert await left(process, session=None, user=None) == 2800
        world.advance(2.9)
    one.redis.away = True
    assert await left(one, session=None, user=None) == 2800
    assert await left(one, session=None, user=None, stated=900) == 700


@pytest.mark.parametrize("name", [TRACE, IMPLICIT], ids=str)
async def test_unnamed_turn_without_a_session_is_of_one_call(world: HandClock, one: Process, name: TurnName) -> None:
    await one.begin(name, session=None)
    world.advance(1.0)
    assert await left(one, name, session=None) == 2800
    assert await left(one, name, session=None, stated=700, age=0.1) == 400


async def test_turns_of_one_session_are_kept_apart(world: HandClock, one: Process) -> None:
    for name in (A, B, TRACE, IMPLICIT):
        assert await left(one, name) == 2800
        world.advance(0.5)
    assert [await left(one, name) for name in (A, B, TRACE, IMPLICIT)] == [800, 1300, 1800, 2300]


async def test_session_does_not_accumulate_finished_turns(redis: KeyValue, world: HandClock, one: Process) -> None:
    for n in range(60):
        await one.begin(TurnName(TurnKind.NAMED, f"t{n}"))
        world.advance(10)
    (name,) = [name for name in await ask(redis, "KEYS", "*") if name.endswith(b":turns")]
    assert await ask(redis, "HLEN", name) <= 17
    assert await left(one, TurnName(TurnKind.NAMED, "t59")) == 0, "one that is not yet to be forgotten was"


async def test_malformed_turn_entry_is_ignored(redis: KeyValue, one: Process, two: Process) -> None:
    await one.begin()
    (name,) = [name for name in await ask(redis, "KEYS", "*") if name.endswith(b":turns")]
    await ask(redis, "HSET", name, A.field, "nonsense")
    for n in range(20):
        await ask(redis, "HSET", name, f"n:x{n}", "nonsense")
    assert not (await two.begin()).degraded
    assert await left(two, B) == 2800


# -- Redis lost and back, clocks that step


async def test_lost_and_recovered_redis_only_shortens_a_turn(
    world: HandClock, redis: KeyValue, one: Process, two: Process
) -> None:
    await one.begin(stated=2000)
    world.advance(0.5)
    one.redis.away = True
    assert await left(one) == 1300
    await ask(redis, "FLUSHALL")
    one.redis.away = False
    world.advance(0.5)
    assert await left(one) == 800
    assert await left(two) <= 1800, "the age that one process knows is told to Redis"


async def test_stated_budget_shortens_a_turn_without_redis(world: HandClock, one: Process) -> None:
    one.redis.away = True
    await one.begin()
    world.advance(0.5)
    assert await left(one, stated=900) == 700
    world.advance(0.1)
    assert await left(one, stated=5000) == 600
    one.redis.away = False
    assert await left(one) == 600


@pytest.mark.parametrize("step_ms", [-3_600_000, -1000, -1, 1, 1000, 10_000, 3_600_000])
async def test_clock_step_of_redis_neither_extends_nor_shortens_a_turn(world: HandClock, one: Process, step_ms: int) -> None:
    """Only elapsed time counts, and not the step of the clock."""
    await one.begin()
    world.advance(0.5)
    one.redis.skew_ms = step_ms
    assert 2299 <= await left(one) <= 2300
    world.advance(1)
    assert 1299 <= await left(one) <= 1300


@pytest.mark.parametrize("step_ms", [1000, 10_000, 3_600_000])
async def test_clock_step_while_redis_was_away_shortens_no_turn(world: HandClock, one: Process, step_ms: int) -> None:
    """A call answered without Redis keeps the known difference of the two clocks."""
    await one.begin()
    one.redis.away = True
    world.advance(0.5)
    assert await left(one) == 2300
    one.redis.away, one.redis.skew_ms = False, step_ms
    world.advance(0.5)
    assert 1799 <= await left(one) <= 1800


async def test_unnamed_turn_is_replaced_in_the_process_without_redis(world: HandClock, one: Process) -> None:
    one.redis.away = True
    await one.begin(IMPLICIT)
    world.advance(2.7)
    assert await left(one, IMPLICIT) == 2800


async def test_slow_round_trip_is_charged_to_the_turn(world: HandClock, redis: KeyValue) -> None:
    """The remaining time counts from when the script was sent, so a late reply grants nothing."""
    process = Process(world, 0.0, redis)
    trip = process.redis.trip

    async def slowly(steps: list, deadline: Deadline) -> list:  # type: ignore[type-arg]
        replies = await trip(steps, deadline)
        world.advance(0.04)
        return replies

    process.redis.trip = slowly  # type: ignore[method-assign, assignment]
    begun = await process.begin()
    assert abs(process.ends(begun) - 3.0) < ROUNDING
    assert begun.turn.remaining_ms() == 2760


@pytest.mark.parametrize("name", [TRACE, IMPLICIT], ids=str)
@pytest.mark.parametrize("left_ms", [99, 100, 100.4, 101, 110, 139])
async def test_slow_round_trip_does_not_exhaust_an_unnamed_turn(
    world: HandClock, redis: KeyValue, name: TurnName, left_ms: float
) -> None:
    """Enough when it was asked for and too little when the answer came: a new turn, as if it had been found a moment sooner."""
    process = Process(world, 0.0, redis)
    await process.begin(name)
    world.advance(2.8 - left_ms / 1000)
    process.redis.trip = slowed(process, 0.04)  # type: ignore[method-assign]
    turn = (await process.begin(name)).turn
    assert not turn.exhausted
    assert 2700 < turn.remaining_ms() <= 2800
    assert (await process.begin(name)).turn.remaining_ms() <= turn.remaining_ms()


@pytest.mark.parametrize("left_ms", [100, 100.4, 100.999, 101])
async def test_fraction_of_a_ms_does_not_exhaust_an_unnamed_turn_without_redis(
    world: HandClock, one: Process, left_ms: float
) -> None:
    one.redis.away = True
    await one.begin(IMPLICIT)
    world.advance(2.8 - left_ms / 1000)
    assert not (await one.begin(IMPLICIT)).turn.exhausted


async def test_turn_is_judged_exhausted_at_the_beginning_of_a_call_only(world: HandClock, one: Process) -> None:
    await one.begin()
    world.advance(2.699)
    turn = (await one.begin()).turn
    world.advance(0.05)
    assert (turn.exhausted, turn.may_start()) == (False, False)


async def test_stated_budget_below_the_floor_exhausts_an_unnamed_turn(one: Process) -> None:
    """A new turn would have no more time, and no answer may come later than stated."""
    assert (await one.begin(IMPLICIT, stated=300)).turn.exhausted
    assert not (await one.begin(IMPLICIT, stated=302)).turn.exhausted


def slowed(process: Process, seconds: float) -> Any:
    trip = process.redis.trip

    async def slowly(steps: list, deadline: Deadline) -> list:  # type: ignore[type-arg]
        replies = await trip(steps, deadline)
        process.world.advance(seconds)
        return replies

    return slowly


# -- any history


@dataclass
class Seen:
    """A named turn by the letter of the design, in seconds, and the end that each process was told."""

    start: float
    total: float = BUDGET_MS / 1000
    disturbed: bool = False
    by_process: dict[int, float] = field(default_factory=dict)

    @property
    def ends(self) -> float:
        return self.start + self.total

    def called(self, now: float, arrived: float, stated: int | None) -> None:
        self.start = min(self.start, arrived)
        if stated is not None:
            self.total = min(self.total, now - self.start + stated / 1000)


def machine_over(address: RedisAddress, runner: asyncio.Runner) -> type[RuleBasedStateMachine]:
    """`runner` has the loop in which the machine's connections live."""

    class Turns(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.world = HandClock(0.0)
            self.connections = [MultiplexedRedis(address) for _ in range(3)]
            for connection in self.connections:
                runner.run(connection.connect(Deadline.after(5)))
            runner.run(_forget_all(self.connections[0]))
            origins = (0.0, 7e5, 123.456)
            self.processes = [Process(self.world, o, c) for o, c in zip(origins, self.connections, strict=True)]
            self.seen: dict[tuple[str | None, str], Seen] = {}

        def teardown(self) -> None:
            for connection in self.connections:
                runner.run(connection.aclose())

        @rule(ms=st.one_of(st.integers(0, 400), st.sampled_from([1, 2500, 2700, 2800, 3000, 59_999, 60_000, 63_001])))
        def time_passes(self, ms: int) -> None:
            self.world.advance(ms / 1000)

        @rule(
            callers=st.lists(st.integers(0, 2), min_size=1, max_size=4),
            turn=st.sampled_from(["a", "b"]),
            session=st.sampled_from(["s", None]),
            stated=st.none() | st.integers(0, 4000),
            age_ms=st.integers(0, 60),
        )
        def calls_in_a_named_turn(
            self, callers: list[int], turn: str, session: str | None, stated: int | None, age_ms: int
        ) -> None:
            """All at once: they interleave as they like."""
            name = TurnName(TurnKind.NAMED, turn)
            age = age_ms / 1000
            arrived = self.world() - age
            seen = self._known((session, turn), arrived)
            seen.called(self.world(), arrived, stated)
            calls = [self.processes[c].begin(name, session, stated=stated, age=age) for c in callers]
            for caller, begun in zip(callers, runner.run(_all(calls)), strict=True):
                self._judge(seen, caller, begun, arrived, stated)

        @rule(
            caller=st.integers(0, 2),
            name=st.sampled_from([TRACE, IMPLICIT]),
            stated=st.none() | st.integers(0, 4000),
            age_ms=st.integers(0, 60),
        )
        def calls_in_a_turn_that_nobody_named(self, caller: int, name: TurnName, stated: int | None, age_ms: int) -> None:
            process, arrived = self.processes[caller], self.world() - age_ms / 1000
            begun = runner.run(process.begin(name, "s", stated=stated, age=age_ms / 1000))
            self._bounds(process, begun, arrived, stated)
            if stated is None:
                # A call that came before the first one that was seen moves the turn's start by as much.
                assert begun.turn.remaining_ms() >= FLOOR_MS - age_ms - 2, "only a named turn can be exhausted"

        @rule(caller=st.integers(0, 2), away=st.booleans())
        def redis_comes_and_goes_for_one(self, caller: int, away: bool) -> None:
            self.processes[caller].redis.away = away

        @rule()
        def redis_forgets_everything(self) -> None:
            runner.run(_forget_all(self.connections[0]))
            self._disturbed()

        @rule(step_ms=st.integers(-100_000, 100_000))
        def rediss_clock_steps(self, step_ms: int) -> None:
            for process in self.processes:
                process.redis.skew_ms += step_ms
            self._disturbed()

        @precondition(lambda self: self.seen)
        @rule(caller=st.integers(0, 2))
        def a_process_restarts(self, caller: int) -> None:
            self.processes[caller].restart()
            for seen in self.seen.values():
                seen.by_process.pop(caller, None)

        @invariant()
        def nothing_is_remembered_for_ever(self) -> None:
            names = runner.run(ask(self.connections[0], "KEYS", "*"))
            ttls = runner.run(_all([ask(self.connections[0], "PTTL", name) for name in names]))
            assert -1 not in ttls

        def _known(self, key: tuple[str | None, str], arrived: float) -> Seen:
            """The turn as it is known; a new one when it has been over for a minute. On the very edge either is right."""
            seen = self.seen.get(key)
            forgotten_at = seen.ends + FORGET_MS / 1000 if seen is not None else 0.0
            if seen is None or self.world() > forgotten_at - ROUNDING:
                on_the_edge = seen is not None and (seen.disturbed or self.world() < forgotten_at + ROUNDING)
                away = any(process.redis.away for process in self.processes)
                seen = self.seen[key] = Seen(arrived, disturbed=on_the_edge or away)
            return seen

        def _disturbed(self) -> None:
            for seen in self.seen.values():
                seen.disturbed = True

        def _judge(self, seen: Seen, caller: int, begun: BeginResult, arrived: float, stated: int | None) -> None:
            process = self.processes[caller]
            self._bounds(process, begun, arrived, stated)
            ends = process.ends(begun)
            earlier = seen.by_process.get(caller, float("inf"))
            if self.world() > earlier + FORGET_MS / 1000 - ROUNDING:
                earlier = float("inf")  # a turn that was cut short is forgotten as much earlier
            assert ends <= earlier + 1e-6, "extended"
            seen.by_process[caller] = min(ends, earlier)
            if begun.degraded or any(each.redis.away for each in self.processes):
                seen.disturbed = True
            if not seen.disturbed:
                asked = seen.ends if stated is None else min(seen.ends, arrived + stated / 1000)
                assert abs(ends - min(asked, earlier)) <= ROUNDING, "not what the design says"

        def _bounds(self, process: Process, begun: BeginResult, arrived: float, stated: int | None) -> None:
            turn, ends = begun.turn, process.ends(begun)
            assert turn.remaining_ms() >= 0
            assert turn.total_ms >= 0
            assert ends <= arrived + BUDGET_MS / 1000 + 1e-6, "more than the budget in total"
            assert stated is None or ends <= arrived + stated / 1000 + 1e-6, "a stated budget did not shorten"
            assert 0 <= turn.allowance_ms(800, 1) <= max(0, min(800, turn.remaining_ms() - 50))

    return Turns


async def _forget_all(redis: KeyValue) -> None:
    await ask(redis, "FLUSHALL")


async def _all(work: list) -> list:  # type: ignore[type-arg]
    return list(await asyncio.gather(*work))


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as own:
        yield own


def test_turn_is_never_extended_beyond_its_budget_in_any_history(valkey: RedisAddress, runner: asyncio.Runner) -> None:
    """Three processes, concurrent calls, stated budgets, lost or emptied Redis, clock steps and restarts."""
    run_state_machine_as_test(
        machine_over(valkey, runner),
        settings=settings(
            max_examples=80,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )


# -- tokens


async def tokens_left(process: Process, **more: Any) -> int | None:
    tokens = (await process.begin(**more)).turn.tokens
    return None if tokens is None else tokens.remaining


async def test_tokens_of_a_turn_are_counted_across_processes(one: Process, two: Process) -> None:
    assert await tokens_left(one) is None
    assert await tokens_left(one, tokens=1000) == 1000
    assert await tokens_left(two) == 1000
    await two.gives(300)
    await one.gives(200)
    assert (await tokens_left(one), await tokens_left(two)) == (500, 500)
    assert await tokens_left(one, name=B) is None


async def test_tokens_of_a_turn_without_a_session_are_counted_by_user(one: Process, two: Process) -> None:
    assert await tokens_left(one, session=None, tokens=1000) == 1000
    await one.gives(300, session=None)
    assert await tokens_left(two, session=None) == 700


async def test_tokens_are_counted_in_process_while_redis_is_away(one: Process, two: Process) -> None:
    await tokens_left(one, tokens=1000)
    one.redis.away = True
    await one.gives(400)
    assert await tokens_left(one) == 600
    one.redis.away = False
    assert await tokens_left(one) == 600, "what it has seen itself still counts"


# -- a turn that counts only the time inside its calls


class ToolsClock(Process):
    counts = TurnClock.TOOLS

    async def end(self, name: TurnName = A) -> None:
        request = BeginRequest("s", "u", TurnRequest(f"s|u|{name.field}", name, self.clock()))
        await self.memory.end(self.memory.pause(request))
        self.memory.leave(request)


@pytest.fixture
def tools(world: HandClock, redis: KeyValue) -> ToolsClock:
    return ToolsClock(world, 0.0, redis)


@pytest.fixture
def other_tools(world: HandClock, redis: KeyValue) -> ToolsClock:
    return ToolsClock(world, 5e6, redis)


async def test_time_between_calls_does_not_count_with_the_tools_clock(
    world: HandClock, tools: ToolsClock, other_tools: ToolsClock
) -> None:
    found = []
    for process in (tools, other_tools, tools, other_tools):
        found.append(await left(process))
        world.advance(0.5)
        await process.end()
        world.advance(4.0)
    assert found == [2800, 2300, 1800, 1300]


async def test_parallel_calls_count_once_across_processes(
    world: HandClock, tools: ToolsClock, other_tools: ToolsClock
) -> None:
    await tools.begin()
    world.advance(0.4)
    assert await left(other_tools) == 2400
    world.advance(0.4)
    await tools.end()
    world.advance(0.4)
    assert await left(tools) == 1600, "the other process's call is still under way"
    await tools.end()
    await other_tools.end()
    world.advance(5.0)
    assert await left(other_tools) == 1600


async def test_dead_call_counts_no_longer_than_its_maximum_duration(
    world: HandClock, tools: ToolsClock, other_tools: ToolsClock
) -> None:
    await tools.begin()
    world.advance(20.0)
    assert (await other_tools.begin()).turn.exhausted, "the longest that it may take is more than the turn has"


@pytest.mark.parametrize(
    ("name", "pause", "lives"), [(A, 59, True), (A, 61, False), (IMPLICIT, 9, True), (IMPLICIT, 11, False)]
)
async def test_turn_ends_after_a_long_pause(
    world: HandClock, tools: ToolsClock, other_tools: ToolsClock, name: TurnName, pause: int, lives: bool
) -> None:
    await tools.begin(name)
    world.advance(1.0)
    await tools.end(name)
    world.advance(pause)
    assert await left(other_tools, name) == (1800 if lives else 2800)
    assert await left(tools, name) == (1800 if lives else 2800)


async def test_only_time_inside_calls_counts_without_redis_with_the_tools_clock(world: HandClock, tools: ToolsClock) -> None:
    tools.redis.away = True
    await tools.begin()
    world.advance(0.5)
    await tools.end()
    world.advance(5.0)
    assert await left(tools) == 2300


async def test_turn_reports_whether_it_ran_out_between_its_calls(world: HandClock, one: Process) -> None:
    thinking = await one.begin()
    one.memory.leave(BeginRequest("s", "u", TurnRequest(f"s|u|{A.field}", A, one.clock())))
    world.advance(3.0)
    over = await one.begin()
    assert (thinking.turn.over_between, over.turn.exhausted, over.turn.over_between) == (False, True, True)
    world.advance(3.0)
    assert not (await one.begin(B)).turn.over_between
    world.advance(3.0)
    inside = await one.begin(B)
    assert (inside.turn.exhausted, inside.turn.over_between) == (True, False), "the first call was under way all the time"
