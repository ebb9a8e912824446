"""What the customers ask: searches of which most were asked before by somebody, and what follows from a search."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.load.open_loop.schedule import CALLS_A_TURN, Ask, Turn, arrivals, thinking

CATALOGUE = Path(__file__).resolve().parents[3] / "infra" / "demo" / "catalog.jsonl"
CUSTOMERS = 5000
KNOWN_QUERIES = 300
KNOWN_SHARE = 0.7
"""Of the searches: drawn from KNOWN_QUERIES by Zipf's law. The others were never asked before."""
BUYERS_SHARE = 0.06
"""Of the turns: they are the demo catalogue's customers, who have orders and ask for one."""
ORDERS = {
    "demo-user-1": ("MNG-DEMO1001", "MNG-DEMO1002"),
    "demo-user-2": ("MNG-DEMO2001",),
    "demo-user-3": ("MNG-DEMO3001",),
    "demo-user-4": ("MNG-DEMO4001",),
    "demo-user-5": ("MNG-DEMO5001",),
    "demo-user-6": ("MNG-DEMO6001",),
}
MOODS = ("dark", "funny", "quiet", "romantic", "violent", "sad", "hopeful", "strange", "short", "classic", "new", "long")
SEARCH, STOCK, DETAILS = "search_manga_catalog", "check_inventory", "get_manga_details"
RECOMMEND, ORDER = "get_recommendations", "lookup_order"


class Mix:
    """Turns made of the demo catalogue's own words. The same `seed` makes the same turns."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        records = [json.loads(line) for line in CATALOGUE.read_text("utf-8").splitlines()]
        self._ids = [record["title_id"] for record in records]
        self._tags = sorted({tag.lower() for record in records for tag in record["tags"]})
        self._never_asked = self._combinations()
        names = [name for record in records for name in _names(record)]
        self._random.shuffle(names)
        self._known = [*names[: KNOWN_QUERIES // 2], *itertools.islice(self._never_asked, KNOWN_QUERIES // 2)]
        self._random.shuffle(self._known)
        self._known_weights = _zipf(len(self._known))
        self._id_weights = _zipf(len(self._ids))

    def warming(self, run: str, calls_per_second: float, seconds: float) -> list[Turn]:
        """Everything that many ask, once, so that the first rate meets the same caches as the last. As long as it takes."""
        asks = [Ask(SEARCH, _search_for(query)) for query in self._known]
        asks += [Ask(DETAILS, _json({"title_id": title_id})) for title_id in self._ids]
        groups = [asks[at : at + CALLS_A_TURN] for at in range(0, len(asks) - CALLS_A_TURN + 1, CALLS_A_TURN)]
        return [
            Turn(
                number * CALLS_A_TURN / calls_per_second, group, (0, 0), buyer(number), f"{run}-{number}", f"{run}-{number}"
            )
            for number, group in enumerate(groups)
        ]

    def store(self, run: str, calls_per_second: float, seconds: float) -> list[Turn]:
        """Every turn begins with a search; then stock of what was found, details, recommendations, an order."""
        return [self._turn(run, number, due) for number, due in self._arrivals(calls_per_second, seconds)]

    def uncached(self, run: str, calls_per_second: float, seconds: float) -> list[Turn]:
        """Three calls that no cache can answer: a new search, new recommendations, and an order, which is never cached."""
        return [self._uncached_turn(run, number, due) for number, due in self._arrivals(calls_per_second, seconds)]

    def _arrivals(self, calls_per_second: float, seconds: float) -> Iterator[tuple[int, float]]:
        return enumerate(arrivals(calls_per_second, seconds, self._random))

    def _turn(self, run: str, number: int, due: float) -> Turn:
        draw = self._random
        if draw.random() < BUYERS_SHARE:
            user = draw.choice(list(ORDERS))
            last = Ask(ORDER, _json({"order_id": draw.choice(ORDERS[user])}))
            session = f"{run}-{number}"  # another chat each time, or these few would share theirs among many turns at once
        else:
            customer = number % CUSTOMERS
            user, session = buyer(customer), f"load-session-{customer}"
            last = draw.choices((self._details, self._recommendations, self._stock, self._search), (35, 25, 20, 20))[0]()
        second = draw.choices((self._stock, self._details, self._recommendations), (50, 30, 20))[0]()
        return Turn(due, (self._search(), second, last), thinking(draw), user, session, f"{run}-{number}")

    def _uncached_turn(self, run: str, number: int, due: float) -> Turn:
        customer = number % CUSTOMERS
        asks = (
            Ask(SEARCH, _search_for(next(self._never_asked))),
            Ask(RECOMMEND, _json({"criteria": next(self._never_asked), "count": 5})),
            Ask(ORDER, _json({"order_id": order_of(customer)})),
        )
        return Turn(due, asks, thinking(self._random), buyer(customer), f"load-session-{customer}", f"{run}-{number}")

    def _search(self) -> Ask:
        return Ask(SEARCH, _search_for(self._query()))

    def _query(self) -> str:
        if self._random.random() < KNOWN_SHARE:
            return self._random.choices(self._known, cum_weights=self._known_weights)[0]
        return next(self._never_asked)

    def _stock(self) -> Ask:
        """Of the last search; of some titles when that search was refused, so that as many calls are made."""
        return Ask(STOCK, "{}", instead=_json({"title_ids": self._titles(5)}))

    def _details(self) -> Ask:
        return Ask(DETAILS, _json({"title_id": self._titles(1)[0]}))

    def _recommendations(self) -> Ask:
        return Ask(RECOMMEND, _json({"criteria": self._query(), "count": 5}))

    def _titles(self, count: int) -> list[str]:
        return list(dict.fromkeys(self._random.choices(self._ids, cum_weights=self._id_weights, k=count)))

    def _combinations(self) -> Iterator[str]:
        """Moods and themes in pairs, shuffled; some 100,000, none of them twice."""
        pairs = list(itertools.permutations(self._tags, 2))
        self._random.shuffle(pairs)
        for mood in itertools.chain(MOODS, ("",)):
            for one, other in pairs:
                yield f"something {mood} with {one} and {other}".replace("  ", " ")


def _search_for(query: str) -> str:
    return _json({"query": query, "max_results": 5})


def buyer(customer: int) -> str:
    return f"load-user-{customer}"


def order_of(customer: int) -> str:
    return f"MNG-L{customer:07}"


def _names(record: dict[str, Any]) -> list[str]:
    return [record["title"][script] for script in ("en", "ja") if record["title"].get(script)]


def _zipf(count: int) -> list[float]:
    """Cumulative weights 1, 1/2, 1/3, …"""
    return list(itertools.accumulate(1 / rank for rank in range(1, count + 1)))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
