"""A shop in which everything personal is marked with a token that occurs nowhere else, so that one look at some bytes tells
whose data is in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from session.keys import user_hash
from tools.store.models import Order, OrderLine, Shipment, TrackingEvent

ORDERS_EACH = 3
LIKED_EACH = 2
GENERIC = 40
TAGS = ["Pirates", "Adventure"]
"""Of what people like and of what everybody may find: with two in common a recommendation names the one that is liked."""


@dataclass(frozen=True)
class Person:
    """`user` is None for an anonymous caller, who bought nothing and likes nothing that anyone knows of. `liked` titles are
    those that the person owns; of a newcomer, who has no orders, those that the person looks at. `secret` is the only title that this person looks
    for: who else gets to see it has somebody's search. Titles are public; that one *has* them is not (`reasons`)."""

    user: str | None
    query: str
    criteria: str
    preference: str
    session: str
    key: str
    secret_id: str
    secret: str
    liked: dict[str, str] = field(default_factory=dict)
    orders: tuple[Order, ...] = ()

    @property
    def of_orders(self) -> list[str]:
        """What is known only to who may read these orders."""
        lines = [line.title for order in self.orders for line in order.lines]
        parcels = [parcel.tracking_number for order in self.orders for parcel in order.shipments]
        return [*(order.order_id for order in self.orders), *(order.note or "" for order in self.orders), *lines, *parcels]

    @property
    def typed(self) -> list[str]:
        """Free text."""
        return [self.query, self.criteria, self.preference]

    @property
    def states(self) -> str:
        """What the person asks to be remembered."""
        return f"{self.preference}, at most 9,000 yen a volume"

    @property
    def reasons(self) -> list[str]:
        """As recommendations tell why: names of what the person owns or has looked at."""
        return [f"{name}, which you" for name in self.liked.values()]

    @property
    def handles(self) -> list[str]:
        return [self.session, self.key]

    @property
    def names(self) -> list[str]:
        return [self.user] if self.user else []

    @property
    def hash(self) -> str:
        return user_hash(self.user)

    @property
    def searched(self) -> list[str]:
        return [self.secret_id, self.secret]

    @property
    def everything(self) -> list[str]:
        own_hash = [self.hash] if self.user else []
        return [*self.of_orders, *self.typed, *self.reasons, *self.handles, *self.names, *self.searched, *own_hash]


@dataclass(frozen=True)
class CanaryShop:
    """`catalog` and `orders` are files as the embedded backends and the seed command read them."""

    people: tuple[Person, ...]
    catalog: Path
    orders: Path

    @property
    def signed_in(self) -> list[Person]:
        return [person for person in self.people if person.user is not None]

    @classmethod
    def made(cls, seed: int, folder: Path, signed_in: int = 4, anonymous: int = 2) -> CanaryShop:
        """The last who signed in is a newcomer."""
        draw = Random(seed)
        kinds = [(n >= signed_in, n == signed_in - 1) for n in range(signed_in + anonymous)]
        people = tuple(_person(draw, anonymous=nobody, newcomer=new) for nobody, new in kinds)
        folder.mkdir(parents=True, exist_ok=True)
        orders = [{"owner": person.user, **asdict(order)} for person in people for order in person.orders]
        return cls(people, _lines(folder / "catalog.jsonl", _titles(people)), _lines(folder / "orders.jsonl", orders))


def found(data: bytes | str, canaries: Sequence[str]) -> list[str]:
    """Which of them are there, in whatever case."""
    text = (data.decode("utf-8", "replace") if isinstance(data, bytes) else data).casefold()
    return [canary for canary in canaries if canary.casefold() in text]


def _person(draw: Random, *, anonymous: bool, newcomer: bool) -> Person:
    secret = f"Zyx{_token(draw)}"
    common = {
        "query": f"q{_token(draw)}",
        "criteria": f"c{_token(draw)}",
        "preference": f"p{_token(draw)}",
        "session": f"s{_token(draw)}",
        "key": f"k{_token(draw)}",
        "secret_id": f"manga-9{draw.randrange(10**8):08}",
        "secret": secret,
    }
    if anonymous:
        return Person(None, **common)
    liked = {f"manga-8{draw.randrange(10**8):08}": f"Own{_token(draw)}" for _ in range(LIKED_EACH)}
    orders = () if newcomer else tuple(_order(draw, list(liked)) for _ in range(ORDERS_EACH))
    return Person(f"{_token(draw)}@例え.example", liked=liked, orders=orders, **common)


def _order(draw: Random, bought: list[str]) -> Order:
    order_id = "MNG-" + _token(draw).upper()[:8]
    tracking = f"t{_token(draw)}"
    lines = tuple(
        OrderLine(title_id, f"line{_token(draw)}", 1, None, "physical", 1, 500, "stock", None, tracking)
        for title_id in bought
    )
    at = "2026-10-01T00:00:00Z"
    parcel = Shipment("yamato", "takkyubin", tracking, "in_transit", at, None, (TrackingEvent("shipped", at, "東京都"),))
    subtotal = 500 * len(lines)
    return Order(
        order_id, "shipped", at, lines, subtotal, 0, subtotal, "Tokyo", (parcel,), "2026-10-08", f"note{_token(draw)}"
    )


def _token(draw: Random) -> str:
    """48 bits, with letters that are no hexadecimal digits: no hash and no id of a call looks so."""
    return "".join(draw.choice("ghjkmnpqrstvwxyz23456789") for _ in range(11))


def _titles(people: Sequence[Person]) -> list[dict[str, Any]]:
    generic = [
        {**_title(f"manga-{n:06}", f"Sea Story {n}", TAGS), "popularity_rank": n, "rating": 4.5}
        for n in range(1, GENERIC + 1)
    ]
    liked = [_title(title_id, name, TAGS) for person in people for title_id, name in person.liked.items()]
    secret = [_title(person.secret_id, person.secret, []) for person in people]
    return [*generic, *liked, *secret]


def _title(title_id: str, name: str, tags: list[str]) -> dict[str, Any]:
    return {
        "title_id": title_id,
        "title": {"en": name},
        "tags": tags,
        "offers": [{"format": "physical", "price_jpy": 500, "stock": 3}],
    }


def _lines(path: Path, records: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path
