"""What the customers say: turns of three calls, some of it said before and some never, some of it too late."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.catalogue import unpopular_id

Json = dict[str, Any]
STATED = "com.mangaassist/"
TURN_MS = 3000
SHORT_TURN_MS = 700
THINKING_SECONDS = 0.9
"""How long an agent with a short turn thinks before its third call, which is then too late."""
REPEATED = (
    "ワンピース",
    "slam dunk",
    "a boy who wants to be a pirate",
    "urasawa",
    "basketball",
    "進撃の巨人",
    "vampires",
    "cooking",
)
THEMES = (
    "chess and ghosts",
    "a detective in Osaka",
    "idols who fail",
    "giant robots",
    "料理と友情",
    "time travel",
    "a quiet village",
)
ORDERS = {f"demo-user-{number}": f"MNG-DEMO{number}001" for number in range(1, 7)}
KNOWN = ("manga-001001", "manga-001002")
TELLS = ("without ", "may be missing")
"""How a note says what an answer had to do without: parts of it, or the memory of the conversation."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One call. `new`: nobody has asked this before, so that no cache can answer it."""

    tool: str
    arguments: Json
    meta: Json
    new: bool = False
    pause: float = 0.0


@dataclass(slots=True)
class Customer:
    """One session of one user."""

    number: int
    user: str
    _turns: Iterator[int] = field(default_factory=itertools.count)

    @classmethod
    def numbered(cls, number: int) -> Customer:
        demo = list(ORDERS)
        return cls(number, demo[number] if number < len(demo) else f"chaos-user-{number}")

    def turn(self) -> Turn:
        return Turn(self, next(self._turns))


@dataclass(slots=True)
class Turn:
    """A search, the stock of what was found, and something more about it."""

    customer: Customer
    number: int

    @property
    def total_ms(self) -> int:
        return SHORT_TURN_MS if self.late else TURN_MS

    @property
    def late(self) -> bool:
        return (self.customer.number + self.number) % 10 == 9

    def asks(self) -> Iterator[Ask]:
        """To be resumed with the answer to each (`send`): the third is about the first's best hit."""
        found = yield self._search()
        # Whoever was told that there is nothing asks for something else.
        yield Ask("check_inventory", {} if found.get("results") else {"title_ids": list(KNOWN)}, self._meta(2))
        yield self._more(found)

    def _search(self) -> Ask:
        place = self.customer.number * 7919 + self.number
        if place % 2:
            query = f"{THEMES[place % len(THEMES)]}, chapter {place}"
            return Ask("search_manga_catalog", {"query": query}, self._meta(3), new=True)
        return Ask("search_manga_catalog", {"query": REPEATED[place // 2 % len(REPEATED)]}, self._meta(3))

    def _more(self, found: Json) -> Ask:
        meta, pause = self._meta(1), THINKING_SECONDS if self.late else 0.0
        if (order := ORDERS.get(self.customer.user)) and not self.late and self.number % 2:
            return Ask("lookup_order", {"order_id": order}, meta)
        if self.number % 4 == 1 and not self.late:  # when a turn is over only what somebody keeps can be told
            # Nobody keeps it, and nobody has looked at it before: with one backend gone it is another that knows it.
            title_id = unpopular_id(self.customer.number * 90 + self.number // 4)
            return Ask("get_manga_details", {"title_id": title_id}, meta, pause=pause)
        best = next(iter(found.get("results", ())), None)
        if best is None or self.number % 3 == 0:
            return Ask("get_recommendations", {"criteria": REPEATED[self.number % len(REPEATED)]}, meta, pause=pause)
        return Ask("get_manga_details", {"title_id": best["title_id"]}, meta, pause=pause)

    def _meta(self, steps_left: int) -> Json:
        meta: Json = {
            "sessionId": f"chaos-{self.customer.number}",
            "userId": self.customer.user,
            "turnId": f"turn-{self.customer.number}-{self.number}",
            "expectedCalls": steps_left,
        }
        if self.late and steps_left == 3:
            meta["turnBudgetMs"] = SHORT_TURN_MS
        return {STATED + name: value for name, value in meta.items()}


def untruths(tool: str, value: Mapping[str, Any], told: Mapping[str, Any], texts: list[str]) -> list[str]:
    """What an answer says of itself that does not go together, or is left unsaid."""
    source, degraded = told.get("source"), told.get("degraded", [])
    note = str(value.get("note", ""))
    wrong = [] if [json.loads(text) for text in texts] == [value] else ["a text that is not the structure"]
    if source not in ("live", "cache", "stale", "fallback"):
        wrong.append(f"source {source!r}")
    if source == "fallback" and not (told.get("fallback") and "fallback" in note):
        wrong.append("a fallback that does not say so")
    if source == "stale" and not (told.get("asOf") and "out of date" in note):
        wrong.append("a stale answer that does not say so")
    if source == "live" and degraded and not any(word in note for word in TELLS):
        wrong.append("a partial answer that does not tell the model")
    if tool == "check_inventory":
        wrong += _about_stock(value, source, degraded)
    cards = [*value.get("results", ()), *value.get("recommendations", ())]
    if any(card.get("in_stock") is None and card.get("price_jpy") is None for card in cards) and "stock" not in degraded:
        wrong.append("prices are missing and nothing says so")
    return wrong


def _about_stock(value: Mapping[str, Any], source: Any, degraded: list[str]) -> list[str]:
    wrong = []
    last_known = [item["availability"] == "last_known" for item in value["items"]]
    if source == "fallback" and not all(last_known):
        wrong.append("a snapshot that claims to be current")
    if any(item["in_stock"] for item, old in zip(value["items"], last_known, strict=True) if old):
        wrong.append("last known and yet in stock")
    if value["unanswered"] and source != "fallback" and "stock" not in degraded:
        wrong.append("titles are unanswered and nothing says so")
    return wrong
