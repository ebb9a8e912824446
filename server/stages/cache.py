"""The result cache: keys, sealed texts, single flight and stale-while-revalidate."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from server.call import CACHE, LIVE, STALE, Call, Handler, Outcome
from session import keys
from session.begin import CachedResult, digest, encode
from session.memory import SessionMemory
from session.redis.keyvalue import Command, Step
from session.resilience.clocks import WallClock
from session.resilience.deadline import Deadline, Span
from session.resilience.tasks import start_task
from tools.conditions.remembered import LONGEST_QUOTE
from tools.contract import SILENT, Json
from tools.store.failures import BudgetExhausted, Failure, NotFound, TimedOut
from tools.store.search.text.characters import normalise


def cache_key(call: Call) -> str | None:
    """Names a result, the same for everybody unless the tool's results depend on the user. None where nothing is cached, as
    where a call is about what its session was shown last."""
    policy = call.tool.tool.cache
    if policy is None or call.tool.tool.is_about_last(call.arguments):
        return None
    owner = keys.user_hash(call.customer) if policy.per_user else ""
    return keys.cached_result(call.name, call.tool.form, digest(call.arguments, owner, *obeyed(call)))


def flight_key(call: Call) -> str:
    """Single-flight key. Includes user and session unless the result is public, the tool's version, and the call itself if
    the tool may ask its client."""
    tool, begun = call.tool.tool, call.begun
    shared = tool.cache is not None and not tool.cache.per_user and not tool.is_about_last(call.arguments)
    owner = "" if shared else json.dumps([call.customer, call.session])
    refers: tuple[object, ...] = (call.call_id,) if tool.asks else ()
    if begun and not shared:
        last = (begun.last.by, begun.last.query, begun.last_ids) if begun.last else ()
        refers += (last, begun.result_set or (), dict(begun.shared))
    return digest(call.name, call.tool.form, call.arguments, owner, refers, *obeyed(call))


def obeyed(call: Call) -> tuple[str, ...]:
    """What is remembered of its customer is a part of what was asked, where there is any."""
    return (call.obeys,) if call.obeys else ()


SHORTEST = 2
"""Characters that count as words of somebody's."""
PIECES = "pieces"


def words(call: Call) -> tuple[str, ...]:
    """What was not said in this call and stands in its answer, word for word: what is remembered of the customer, as far as
    it is told."""
    return tuple(each.text[:LONGEST_QUOTE] for each in call.preferences)


def sealed(result: Json, names: tuple[str, ...], asked: Json, words: Sequence[str] = ()) -> Json:
    """The result, with the texts under these names as pieces: a text of ours, or where theirs begins and ends, in what was
    asked or in `words`."""
    there = [name for name in names if name in result]
    if not there:
        return result
    said = _said(asked, words)
    pairs = {said[i : i + SHORTEST] for i in range(len(said) - 1)}
    return result | {name: _each(result[name], lambda text: {PIECES: list(_pieces(text, said, pairs))}) for name in there}


def opened(result: Json, names: tuple[str, ...], asked: Json, words: Sequence[str] = ()) -> Json | None:
    """The result as it was; None where it is none of ours."""
    there = [name for name in names if name in result]
    if not there:
        return result
    try:
        return result | {name: _joined(result[name], _said(asked, words)) for name in there}
    except (TypeError, ValueError, KeyError):
        return None


def _said(asked: Json, words: Sequence[str]) -> str:
    """All texts among the arguments, as words are read from them, and the words as they are."""
    return "\n".join([*(normalise(text) for text in _texts(asked)), *words])


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        yield from _texts(each)


def _each(value: Any, sealing: Callable[[str], Any]) -> Any:
    if isinstance(value, str):
        return sealing(value)
    if isinstance(value, list):
        return [_each(item, sealing) for item in value]
    return {name: _each(item, sealing) for name, item in value.items()} if isinstance(value, dict) else value


def _pieces(text: str, said: str, pairs: Container[str]) -> Iterator[str | list[int]]:
    """The longest run that was said, at each place. `pairs` of what was said tell quickly where none begins."""
    at = plain = 0
    while at < len(text):
        size = _run(text, at, said) if text[at : at + SHORTEST] in pairs else 0
        if size < SHORTEST:
            at += 1
            continue
        if plain < at:
            yield text[plain:at]
        start = said.find(text[at : at + size])
        yield [start, start + size]
        at = plain = at + size
    if plain < len(text):
        yield text[plain:]


def _run(text: str, at: int, said: str) -> int:
    """How many characters from here on stand together in what was said, by doubling and halving."""
    size, step = 0, 1
    while at + size + step <= len(text) and text[at : at + size + step] in said:
        size, step = size + step, 2 * step
    while step > 1:
        step //= 2
        if at + size + step <= len(text) and text[at : at + size + step] in said:
            size += step
    return size


def _joined(value: Any, said: str) -> Any:
    if isinstance(value, list):
        return [_joined(item, said) for item in value]
    if isinstance(value, dict) and set(value) == {PIECES}:
        return "".join(piece if isinstance(piece, str) else said[slice(*piece)] for piece in value[PIECES])
    if isinstance(value, dict):
        return {name: _joined(item, said) for name, item in value.items()}
    if isinstance(value, str):
        raise ValueError("a text that was not sealed")
    return value


@dataclass(slots=True)
class Flight:
    """`waiting` counts those who want its outcome; `degraded` is what the work did without; `kept` tells whether one of them
    has seen to it that the outcome is cached; `span` is where it is noted, if the call that began it is watched."""

    task: asyncio.Task[Outcome]
    degraded: set[str]
    span: Span | None = None
    waiting: int = 0
    kept: bool = False


class Flights(dict[str, Flight]):
    """By key, each until it has landed."""

    async def board(self, key: str, call: Call, inner: Handler) -> tuple[Outcome, Flight]:
        """The outcome of the flight of this key, which departs if there is none, and the flight. Raises what it raises, and
        `TimedOut` when the call's own time is over first."""
        flight = self.get(key)
        if flight is None or flight.task.done() or flight.task.cancelling():
            flight = self[key] = self._depart(key, call, inner)
        elif call.span is not None:
            with call.span.begin("work", "flight", joined=_name(flight)):
                return await _outcome(call, flight), flight
        return await _outcome(call, flight), flight

    def _depart(self, key: str, call: Call, inner: Handler) -> Flight:
        own = detached(call)
        task = asyncio.create_task(inner(own), name=f"flight {call.name}")
        flight = Flight(task, own.degraded, own.span)
        task.add_done_callback(lambda _: self._land(key, flight))
        return flight

    def _land(self, key: str, flight: Flight) -> None:
        if self.get(key) is flight:
            del self[key]
        if not flight.task.cancelled():
            flight.task.exception()  # seen, also when the last who waited has just left


def detached(call: Call) -> Call:
    """The work of a call, for whoever wants its outcome: with the tool's own time, and nothing of the caller's session."""
    return replace(
        call, degraded=set(), pending_writes=[], flight=Deadline.after(call.tool.tool.timeout_ms / 1000, call.clock)
    )


def _name(flight: Flight) -> str:
    """Returns the trace that its work is told in; "" where there is none."""
    return (flight.span and flight.span.traceparent) or ""


async def _outcome(call: Call, flight: Flight) -> Outcome:
    assert call.deadline is not None
    flight.waiting += 1
    try:
        done, _ = await asyncio.wait({flight.task}, timeout=call.deadline.remaining())
    finally:
        flight.waiting -= 1
        if not flight.waiting and not flight.task.done():
            flight.task.cancel()
    if not done or flight.task.cancelled():
        raise TimedOut("This took too long and was stopped.")
    return flight.task.result()


JITTER = 0.1


@dataclass(frozen=True, slots=True)
class ResultWrites:
    """There are none unless the cache is `enabled`."""

    enabled: bool
    draw: Callable[[], float] = random.random

    def of(self, call: Call, outcome: Outcome) -> Step | None:
        """Returns the write of a live result, as old as its own answer says; what came with more than JSON would not be
        whole. Its life is jittered, so that results made together do not expire together."""
        policy, key = call.tool.tool.cache, cache_key(call)
        if policy is None or key is None or not self.enabled or outcome.source != LIVE or outcome.content:
            return None
        if outcome.value is None or outcome.as_of is None:
            return None
        stored = encode(sealed(outcome.value, call.tool.tool.echoes, call.arguments, words(call)), outcome.as_of)
        seconds = round(policy.stale_seconds * (1 - JITTER * self.draw()))
        return Command(("SET", key, stored, "EX", seconds)) if stored else None

    def end_of(self, call: Call) -> list[Step]:
        """Returns the end of a copy whose source says that there is no such thing any more."""
        key = cache_key(call)
        return [Command(("UNLINK", key))] if key is not None else []


MOST_REFRESHES = 8
"""Background work yields to live calls: beyond this many, stale results are served without being refreshed."""


class Refreshes(dict[str, asyncio.Task[None]]):
    """By what is renewed, each until it is done. They run with the identity that was asked with, and write the cache and
    nothing of the session."""

    def __init__(self, memory: SessionMemory, writes: ResultWrites) -> None:
        super().__init__()
        self._memory = memory
        self._writes = writes

    def start(self, key: str, call: Call, inner: Handler) -> None:
        if key in self or len(self) >= MOST_REFRESHES:
            return
        unheard = replace(detached(call), client=SILENT, span=None)
        task = self[key] = start_task(self._refresh(unheard, inner), f"refresh {call.name}")
        task.add_done_callback(lambda _: self.pop(key, None))

    async def _refresh(self, call: Call, inner: Handler) -> None:
        try:
            outcome = await inner(call)
        except NotFound:
            await self._memory.end(self._writes.end_of(call))
            return
        except Failure:
            return  # which leaves the stale result as it is
        if not call.degraded and (step := self._writes.of(call, outcome)):
            await self._memory.end([step])


@dataclass(slots=True)
class CacheStage:
    """When it is not `enabled`, equal calls still share their flight: what they get is live."""

    memory: SessionMemory
    enabled: bool
    wall: WallClock
    flights: Flights = field(default_factory=Flights)
    writes: ResultWrites = field(init=False)
    refreshes: Refreshes = field(init=False)

    def __post_init__(self) -> None:
        self.writes = ResultWrites(self.enabled)
        self.refreshes = Refreshes(self.memory, self.writes)

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        policy = call.tool.tool.cache
        cached = call.begun.cached if call.begun else None
        exhausted = call.turn is not None and call.turn.exhausted
        if policy is not None and cached is not None and self.enabled:
            age = cached.age_seconds(self.wall())
            if age <= policy.fresh_seconds:
                return _given(cached, CACHE)
            if age <= 2 * policy.fresh_seconds and call.turn is not None and not exhausted:
                self._refresh(call, inner)
                return _given(cached, STALE)
        if exhausted:
            # Asked before there is a flight: others may still have time for one.
            raise BudgetExhausted("The time for this turn is used up. Answer with what you have.", details={"what": "time"})
        try:
            outcome, flight = await self.flights.board(flight_key(call), call, inner)
        except NotFound:
            if cached is not None:
                call.pending_writes += self.writes.end_of(call)
            raise
        call.degraded |= flight.degraded
        if not flight.degraded and not flight.kept and (step := self.writes.of(call, outcome)):
            flight.kept = True
            call.pending_writes.append(step)
        return outcome

    async def aclose(self) -> None:
        """Cancels whatever is still under way."""
        tasks = [*(flight.task for flight in self.flights.values()), *self.refreshes.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _refresh(self, call: Call, inner: Handler) -> None:
        key = flight_key(call)
        if key not in self.flights:
            self.refreshes.start(key, call, inner)


def _given(cached: CachedResult, source: str) -> Outcome:
    return Outcome(cached.value, source=source, as_of=cached.made_at)
