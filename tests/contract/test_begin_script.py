"""The script that opens a call, line by line, over a real Valkey at times of the test's. What it means for turns, with several
processes and Redis coming and going, is in `test_turns.py`."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from session.redis.keyvalue import Evaluation, Reply
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.deadline import Deadline
from session.scripts import Script
from session.turn import FLOOR_MS, FORGET_MS, RESERVE_MS
from tests.support.clocks import HandClock
from tests.support.valkey import Clocked, ask

TOTAL, TTL = 3000, 1_800_000
SESSION, TURNS = "{s}", "{s}:turns"
OVER = TOTAL - RESERVE_MS - FLOOR_MS
"""Ms after its start, a turn has just too little left."""
NAMED, TRACE = "n:a", "t:a"


@dataclass
class Opened:
    elapsed: int
    total: int
    renewed: int
    now: int
    tokens: int
    spent: int
    ids: bytes | None
    query: bytes | None
    by: bytes | None


class Opening:
    def __init__(self, redis: MultiplexedRedis) -> None:
        self.redis = redis
        self.clock = HandClock(5000.0)
        self.clocked = Clocked(redis, self.clock)
        self.begun_at = self.now

    @property
    def now(self) -> int:
        return round((self.clock() + 1_000_000) * 1000)

    def passes(self, ms: int) -> None:
        self.clock.now = round(self.clock.now + ms / 1000, 3)

    async def call(
        self,
        turn: str = NAMED,
        age: int = 0,
        call_age: int | None = None,
        stated: int = -1,
        ttl: int = TTL,
        tokens: tuple[int, int] = (-1, -1),
    ) -> Opened:
        """`call_age` is the age where it is not given; `tokens` are those that are configured, and those that are stated. Of
        what the session remembers, what was shown last is looked at."""
        ages = (age, age if call_age is None else call_age)
        own = (
            ttl,
            turn,
            int(turn.startswith("n:")),
            *ages,
            TOTAL,
            stated,
            RESERVE_MS,
            FLOOR_MS,
            FORGET_MS,
            0,
            0,
            1,
            *tokens,
        )
        reply: Reply
        (reply,) = await self.clocked.trip([Evaluation(Script.load("begin"), (SESSION, TURNS), own)], Deadline.after(5))
        refused, *rest = reply
        assert refused == 0
        return Opened(*rest[:9], *[None] * (9 - len(rest)))

    async def kept(self, turn: str = NAMED) -> tuple[int, int, int] | None:
        """When it started, in ms from the first call on; its total; its calls."""
        stored = await ask(self.redis, "HGET", TURNS, turn)
        if stored is None:
            return None
        start, total, calls = map(int, stored.split()[:3])
        return start - self.begun_at, total, calls

    async def names(self) -> set[bytes]:
        return set(await ask(self.redis, "HKEYS", TURNS))


@pytest.fixture
def opening(redis: MultiplexedRedis) -> Opening:
    return Opening(redis)


async def test_first_call_starts_its_turn_at_its_arrival(opening: Opening) -> None:
    assert await opening.call(age=120) == Opened(120, TOTAL, 0, opening.now, -1, 0, None, None, None)
    assert await opening.kept() == (-120, TOTAL, 1)


async def test_earlier_of_two_starts_wins_and_calls_are_counted(opening: Opening) -> None:
    await opening.call(age=100)
    opening.passes(500)
    assert (await opening.call(age=50)).elapsed == 600, "this process has seen it for a shorter time"
    assert (await opening.call(age=900)).elapsed == 900, "this one for a longer"
    assert await opening.kept() == (-400, TOTAL, 3)
    assert (await opening.call()).elapsed == 900, "the others hear of it"


@pytest.mark.parametrize("stated", [0, 1, 700])
async def test_stated_budget_is_what_is_left_at_this_call_even_if_zero(opening: Opening, stated: int) -> None:
    assert (await opening.call(age=30, stated=stated)).total == 30 + stated


@pytest.mark.parametrize(("elapsed", "renewed"), [(OVER - 1, 0), (OVER, 1), (OVER + 1, 1)])
async def test_unnamed_turn_is_renewed_once_it_is_exhausted_and_a_named_one_never(
    opening: Opening, elapsed: int, renewed: int
) -> None:
    await opening.call(TRACE)
    await opening.call(NAMED)
    opening.passes(elapsed)
    found = await opening.call(TRACE, age=7)
    assert (found.renewed, found.elapsed, found.total) == (renewed, 7 if renewed else elapsed, TOTAL)
    assert await opening.kept(TRACE) == ((elapsed - 7, TOTAL, 1) if renewed else (0, TOTAL, 2)), (
        "a new turn has had one call"
    )
    assert (await opening.call(NAMED)).renewed == 0


async def test_renewed_turn_has_the_budget_stated_by_its_own_call(opening: Opening) -> None:
    await opening.call(TRACE, stated=2000)
    opening.passes(1900)
    found = await opening.call(TRACE, age=10, stated=600)
    assert (found.renewed, found.elapsed, found.total) == (1, 10, 610)
    assert await opening.kept(TRACE) == (1890, 610, 1)
    opening.passes(600)
    assert (await opening.call(TRACE)).total == TOTAL, "what was stated of the old one does not bind the new one"


async def test_new_turn_with_a_stated_budget_below_the_floor_is_not_renewed(opening: Opening) -> None:
    """A renewed turn would have no more time."""
    assert (await opening.call(TRACE, age=10, stated=FLOOR_MS + RESERVE_MS)).renewed == 0
    assert await opening.kept(TRACE) == (-10, 10 + FLOOR_MS + RESERVE_MS, 1)


@pytest.mark.parametrize(
    ("age", "renewed", "elapsed"), [(OVER - 1, 0, OVER - 1), (OVER, 1, 4), (OVER + 1, 1, 4), (3 * TOTAL, 1, 4)]
)
async def test_exhausted_turn_known_to_the_process_only_is_renewed_from_this_call_on(
    opening: Opening, age: int, renewed: int, elapsed: int
) -> None:
    """Redis has lost the turn, and it is used up."""
    found = await opening.call(TRACE, age=age, call_age=4)
    assert (found.renewed, found.elapsed) == (renewed, elapsed)


@pytest.mark.parametrize(("age", "elapsed"), [(OVER - 1, OVER - 1), (OVER, 4)])
async def test_turn_renewed_by_the_process_keeps_its_new_start(opening: Opening, age: int, elapsed: int) -> None:
    """Redis was away: it knows the old turn, and learns of the new one by its age, while that has time left."""
    await opening.call(TRACE)
    opening.passes(OVER + 5000)
    found = await opening.call(TRACE, age=age, call_age=4)
    assert (found.renewed, found.elapsed, found.total) == (1, elapsed, TOTAL)


@pytest.mark.parametrize(("after", "calls"), [(FORGET_MS, 2), (FORGET_MS + 1, 1)])
async def test_named_turn_is_forgotten_a_minute_after_its_end(opening: Opening, after: int, calls: int) -> None:
    await opening.call(stated=1000)
    opening.passes(1000 + after)
    found = await opening.call()
    assert (found.elapsed, found.total) == ((1000 + after, 1000) if calls == 2 else (0, TOTAL))
    kept = await opening.kept()
    assert kept is not None
    assert kept[2] == calls


@pytest.mark.parametrize(("after", "stays"), [(FORGET_MS - 1, True), (FORGET_MS, True), (FORGET_MS + 1, False)])
async def test_full_session_is_cleared_of_turns_past_their_minute(opening: Opening, after: int, stays: bool) -> None:
    """An exhausted turn is kept for its minute: a call that names it again must not get a new one."""
    await opening.call()
    opening.passes(TOTAL + after)
    for n in range(14):
        await opening.call(f"n:{n}")
    await ask(opening.redis, "HSET", TURNS, "n:odd", "nonsense")
    assert len(await opening.names()) == 16
    await opening.call("n:one more")
    left = await opening.names()
    assert (NAMED.encode() in left) is stays
    assert b"n:odd" not in left, "what is no turn goes"
    assert {f"n:{n}".encode() for n in range(14)} < left


async def test_session_is_cleared_at_16_32_and_64_turns_and_not_between(opening: Opening) -> None:
    looked_at = []
    for n in range(70):
        await ask(opening.redis, "HDEL", TURNS, "n:odd")
        before = len(await opening.names())
        await ask(opening.redis, "HSET", TURNS, "n:odd", "nonsense")
        await opening.call(f"n:{n}")
        if b"n:odd" not in await opening.names():
            looked_at.append(before + 1)
    assert looked_at == [16, 32, 64]


async def test_call_of_a_known_turn_clears_nothing(opening: Opening) -> None:
    for n in range(15):
        await opening.call(f"n:{n}")
    await ask(opening.redis, "HSET", TURNS, "n:odd", "nonsense")
    await opening.call("n:3")
    assert b"n:odd" in await opening.names()


async def test_turns_expire_with_their_session_or_a_minute_after_the_last_one(opening: Opening) -> None:
    """Turns without a session expire a minute after the end of the one called last."""
    await opening.call(age=500, stated=1500)
    assert TTL - 5000 < await ask(opening.redis, "PTTL", TURNS) <= TTL
    await ask(opening.redis, "DEL", TURNS)
    await opening.call(age=500, stated=1500, ttl=0)
    assert 1500 + FORGET_MS - 5000 < await ask(opening.redis, "PTTL", TURNS) <= 1500 + FORGET_MS


async def test_last_search_ids_are_returned_and_the_session_lifetime_extended(opening: Opening) -> None:
    await ask(opening.redis, "HSET", SESSION, "ids", "a b")
    await ask(opening.redis, "PEXPIRE", SESSION, 1000)
    assert (await opening.call(ttl=0)).ids is None, "a call without a session has none"
    assert await ask(opening.redis, "PTTL", SESSION) <= 1000
    assert (await opening.call()).ids == b"a b"
    assert await ask(opening.redis, "PTTL", SESSION) > 1000
    assert await ask(opening.redis, "HKEYS", SESSION) == [b"ids"], "without a limit there is no bucket"


async def spent(opening: Opening, tokens: int, turn: str = NAMED) -> int:
    reply: Reply
    (reply,) = await opening.clocked.trip([Evaluation(Script.load("spend"), (TURNS,), (turn, tokens))], Deadline.after(5))
    return int(reply)


async def counted(opening: Opening, turn: str = NAMED, tokens: tuple[int, int] = (-1, -1)) -> tuple[int, int]:
    open_token_budget = await opening.call(turn, tokens=tokens)
    return open_token_budget.tokens, open_token_budget.spent


async def test_tokens_are_counted_only_with_a_token_budget(opening: Opening) -> None:
    await opening.call()
    assert await spent(opening, 100) == 0
    assert await counted(opening) == (-1, 0)
    assert await spent(opening, 100, "n:never") == 0


async def test_spent_tokens_add_up_and_a_stated_budget_only_shortens(opening: Opening) -> None:
    assert await counted(opening, tokens=(-1, 1000)) == (1000, 0)
    assert await spent(opening, 300) == 1
    assert await spent(opening, 200) == 1
    assert await counted(opening) == (1000, 500)
    assert await counted(opening, tokens=(-1, 5000)) == (1000, 500), "a statement never lengthens"
    assert await counted(opening, tokens=(-1, 100)) == (600, 500)
    assert await counted(opening, tokens=(-1, 0)) == (500, 500)


async def test_configured_token_budget_applies_from_the_first_call_on(opening: Opening) -> None:
    assert await counted(opening, tokens=(4000, -1)) == (4000, 0)
    assert await counted(opening, tokens=(9000, -1)) == (4000, 0)
    assert await counted(opening, NAMED + "b", tokens=(4000, 300)) == (300, 0)


async def test_renewed_turn_has_a_new_token_budget(opening: Opening) -> None:
    await opening.call(TRACE, tokens=(-1, 1000))
    await spent(opening, 900, TRACE)
    opening.passes(TOTAL)
    assert await counted(opening, TRACE, tokens=(-1, 700)) == (700, 0)


async def test_refused_call_does_not_reset_spent_tokens(opening: Opening) -> None:
    await opening.call(tokens=(-1, 1000))
    await spent(opening, 250)
    await opening.call()
    await opening.clocked.trip([Evaluation(Script.load("abandon"), (TURNS,), (NAMED,))], Deadline.after(5))
    assert await counted(opening) == (1000, 250)
