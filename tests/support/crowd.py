"""Several people and anonymous callers, all at once, with the same session, turn and idempotency key, over one shared stream
and over connections of their own; and every byte that each of them got."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.support.canaries import Person
from tests.support.raw import ask, in_2026, message
from tests.support.sse import SseClient

PREFIX = "com.mangaassist/"
WAYS = ("shared stream", "own stream", "2026")
UPDATED = b"notifications/resources/updated"
NOT_NOW = {"TIMEOUT", "BUDGET_EXHAUSTED", "CIRCUIT_OPEN", "DEPENDENCY_FAILURE", "SERVER_BUSY"}
"""What a slow machine may answer to anything: it gives nothing away, and proves nothing."""
Json = dict[str, Any]
Round = Callable[..., Awaitable[None]]
"""What one person does in a round: the crowd, the person, the turn and the idempotency key."""


class MixedUp(AssertionError):
    """Somebody was answered what is another's."""


def demand(condition: bool, problem: str) -> None:
    if not condition:
        raise MixedUp(problem)


@dataclass(frozen=True)
class Got:
    """What came back for one request, byte for byte, and what it says; `asked` is the tool, or the method."""

    person: Person
    asked: str
    raw: bytes
    answer: Json

    @property
    def call_id(self) -> str | None:
        """As the log knows it; None for what was no call."""
        told = self.answer.get("result", {}).get("_meta", {}).get("com.mangaassist/call")
        return str(told["callId"]) if told else None

    @property
    def success(self) -> Json | None:
        """What a call gave; None for a failure."""
        result = self.answer.get("result", {})
        return None if result.get("isError") else result.get("structuredContent")

    @property
    def failure(self) -> str | None:
        """The name of a failure that says something."""
        result = self.answer.get("result", {})
        name = result["structuredContent"]["error"]["name"] if result.get("isError") else None
        return None if name in NOT_NOW else name


class Stream(SseClient):
    """A stream that keeps the bytes of each event."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.raw: dict[str, bytes] = {}
        self.unasked = b""

    def _hear(self, event: str) -> None:
        before = len(self.heard)
        super()._hear(event)
        if len(self.heard) > before and "id" in self.heard[-1]:
            self.raw[str(self.heard[-1]["id"])] = event.encode()
        else:
            self.unasked += event.encode()


@dataclass
class Crowd:
    """`got` is everything that anybody was answered. `deck` are the rounds that are to come: each kind once, after people have
    looked at what they like, and then whatever is drawn. `kept` are addresses of whole results, and whose they are."""

    port: int
    people: tuple[Person, ...]
    draw: Random
    rounds: Sequence[Round]
    shared: Stream
    own: dict[int, Stream]
    session: str
    ways: tuple[str, ...] = WAYS
    got: list[Got] = field(default_factory=list)
    deck: list[Any] = field(default_factory=list)
    kept: dict[str, Person] = field(default_factory=dict)
    _number: Any = field(default_factory=itertools.count)

    @classmethod
    @asynccontextmanager
    async def at(
        cls, port: int, people: tuple[Person, ...], seed: int, first: Sequence[Round], rounds: Sequence[Round]
    ) -> AsyncIterator[Crowd]:
        """`first` come first of all, and then each of the `rounds`."""
        draw = Random(seed)
        async with AsyncExitStack() as stack:
            shared = await stack.enter_async_context(Stream.to(port))
            own = {n: await stack.enter_async_context(Stream.to(port)) for n in range(len(people))}
            deck = [*first, *draw.sample(rounds, len(rounds))]
            yield cls(port, people, draw, rounds, shared, own, f"shared-{seed}", deck=deck)  # type: ignore[arg-type]

    @property
    def unasked(self) -> bytes:
        """What came over streams as the answer to nothing."""
        return b"".join(stream.unasked for stream in (self.shared, *self.own.values()))

    @property
    def told_of_silence(self) -> bool:
        """Whether somebody heard of a session in which nobody called."""
        return any(UPDATED in stream.unasked for stream in self.own.values())

    async def round(self) -> None:
        """One thing, asked by everybody at the same moment."""
        kind = self.deck.pop(0) if self.deck else self.draw.choice(self.rounds)
        turn, key = f"turn-{next(self._number)}", f"key-{self.draw.randrange(4)}"
        await asyncio.gather(*(kind(self, person, turn, key) for person in self.draw.sample(self.people, len(self.people))))

    async def call(self, person: Person, tool: str, arguments: Json, **stated: str) -> Got:
        """By one of the ways there are. What is `stated` beside the user goes into `_meta`."""
        meta = {PREFIX + name: value for name, value in stated.items()}
        return await self.request(person, "tools/call", {"name": tool, "arguments": arguments}, meta)

    async def request(self, person: Person, method: str, params: Json, meta: Json) -> Got:
        user = {PREFIX + "userId": person.user} if person.user is not None else {}
        body = message(method, {**params, "_meta": {**meta, **user}}, f"r{next(self._number)}")
        way = self.draw.choice(self.ways)
        if way == "2026":
            given, headers = in_2026(body)
            answer = await ask(self.port, "POST", "/mcp", given, headers)
            raw, says = answer.body + json.dumps(answer.headers).encode(), answer.json()
        else:
            stream = self.shared if way == "shared stream" else self.own[self.people.index(person)]
            posted = await stream.post(body)
            assert posted.status == 202, posted
            says = await stream.answer_to(body["id"])
            raw = stream.raw[body["id"]] + posted.body + json.dumps(posted.headers).encode()
        got = Got(person, params.get("name", method), raw, says)
        self.got.append(got)
        return got

    async def by_hand(self, person: Person, target: str) -> Got:
        """A GET in this person's name."""
        headers = {"x-user-id": person.user.encode().decode("latin-1")} if person.user else {}
        answer = await ask(self.port, "GET", target, headers=headers)
        got = Got(person, target, answer.body + json.dumps(answer.headers).encode(), answer.json())
        self.got.append(got)
        return got

    async def forget(self, person: Person, session: str) -> int:
        """DELETE /sessions/{id} in this person's name."""
        headers = {"x-user-id": person.user.encode().decode("latin-1")} if person.user else {}
        answer = await ask(self.port, "DELETE", f"/sessions/{session}", headers=headers)
        return answer.status
