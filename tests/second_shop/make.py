"""Another shop's files, all of it invented: other ids and order numbers than the demo's, dollars, English only, tags in
lower case.

`python -m tests.second_shop.make` writes them into `data`: the same text on every machine.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

Json = dict[str, Any]
DATA = Path(__file__).parent / "data"
SEED = 20261126
TITLES = 400
SHIPPING = 595
"""Cents."""
COVERS = "covers.halfmoon.example"
SHOP = "https://halfmoon.example/manga"
PUBLISHERS = ("Lantern Row", "Pelican & Moss", "Third Harbour Press")
READERSHIPS = ("shonen", "seinen", "shojo", "josei", "kodomo", None)
GIVEN = ("Ada", "Bram", "Cleo", "Dov", "Edda", "Finn", "Greta", "Hugo", "Ines", "Jory", "Kit", "Lotte", "Milo", "Nell")
FAMILY = (
    "Ashdown",
    "Birkett",
    "Coldwell",
    "Dunmore",
    "Ellery",
    "Farrow",
    "Garrick",
    "Hollis",
    "Iverson",
    "Jessop",
    "Kestrel",
)
FIRST = (
    "Amber",
    "Brass",
    "Crooked",
    "Distant",
    "Evening",
    "Fallow",
    "Glass",
    "Hollow",
    "Idle",
    "Juniper",
    "Kindly",
    "Lonely",
)
FIRST += (
    "Marble",
    "Northern",
    "Opal",
    "Paper",
    "Quiet",
    "Russet",
    "Silver",
    "Tidal",
    "Upland",
    "Velvet",
    "Winter",
    "Yonder",
)
SECOND = (
    "Anchors",
    "Bakery",
    "Clockwork",
    "Dominion",
    "Elevens",
    "Ferry",
    "Gardens",
    "Hearts",
    "Islands",
    "Jury",
    "Kitchen",
)
SECOND += (
    "Ledger",
    "Meridian",
    "Nocturne",
    "Orchard",
    "Parade",
    "Quarry",
    "Railway",
    "Signal",
    "Theatre",
    "Umbrella",
    "Voyage",
)
PLOTS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("romance", "school"),
        "Two pupils who cannot stand one another have to run the school's radio, and fall in love over the air",
    ),
    (("heartthrobs", "workplace"), "A clerk writes love letters for others until one of them is answered to her"),
    (("cooking", "slice of life"), "A cook without a kitchen makes supper for a whole street"),
    (("fantasy", "adventure"), "A map that draws itself leads three thieves beyond the last kingdom"),
    (
        ("fantasy", "romance"),
        "A knight who may not speak guards a princess who will not be quiet, and their love ends a war",
    ),
    (("sci-fi", "space"), "The crew of a slow freighter wakes a hundred years too late, with cargo that nobody ordered"),
    (("mystery", "detective"), "An inspector who forgets every face solves murders by the shoes"),
    (("horror", "hauntings"), "The tenants of a boarding house hear the same footsteps, and one by one they follow them"),
    (("sports", "football"), "A village without a pitch enters the cup, and wins it by what it learned on the slopes"),
    (("historical", "drama"), "A printer's daughter carries forbidden pages over a frozen river"),
    (("railways", "slice of life"), "The keeper of a branch line that nobody rides sells one ticket a day"),
    (("tea rooms", "comedy"), "Four aunts keep a tea room, a parrot and a secret from the revenue"),
    (("animals", "family"), "A boy and a heron with a broken wing share a summer on the marsh"),
    (("action", "gore"), "Swords, blood and a debt: the last of a company hunts those who sold it"),
)
"""Tags as the shop writes them, with what such a title tells. Two are words of its own file of tags, and one is in no file."""


def one(random: Random, choices: Sequence[Any]) -> Any:
    """`Random.random` gives the same on every release of Python, `choice` need not."""
    return choices[int(random.random() * len(choices))]


def between(random: Random, least: int, most: int) -> int:
    return least + int(random.random() * (most - least + 1))


def dollars(cents: int) -> float:
    return cents / 100


def isbn(number: int) -> str:
    digits = f"97819{number:07d}"
    total = sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits))
    return f"{digits}{-total % 10}"


def titles(random: Random) -> list[Json]:
    names = [f"{first} {second}" for first in FIRST for second in SECOND]
    names.sort(key=lambda _: random.random())
    made = []
    for number, name in enumerate(names[:TITLES], 1):
        tags, plot = PLOTS[number % len(PLOTS)]
        title_id = f"hb-{number:05d}"
        volumes, price = between(random, 1, 9), dollars(between(random, 6, 15) * 100 - 1)
        ended = random.random() < 0.6
        made.append(
            {
                "title_id": title_id,
                "title": {"en": name},
                "authors": [{"name": f"{one(random, FAMILY)}, {one(random, GIVEN)}"}],
                "genre": READERSHIPS[number % len(READERSHIPS)],
                "tags": list(tags),
                "synopsis": {"en": f"{plot}. {name} is told in {volumes} {'volume' if volumes == 1 else 'volumes'}."},
                "rating": round(2.5 + 2.4 * random.random(), 1),
                "rating_count": between(random, 3, 900),
                "popularity_rank": number,
                "volumes": volumes,
                "status": "Finished" if ended else "Publishing",
                "start_year": between(random, 1996, 2024),
                "publisher": one(random, PUBLISHERS),
                "edition_language": "en-US",
                "currency": "USD",
                "cover_url": f"https://{COVERS}/{title_id}.jpg",
                "product_url": f"{SHOP}/{title_id}",
                "offers": [{"format": "physical", "price_usd": price, "stock": 0}],
            }
        )
    return made


def volumes(random: Random, of: Iterable[Json]) -> list[Json]:
    """Of each title what is in its offer too: the price of a volume, and in stock as many as all of them."""
    made: list[Json] = []
    for title in of:
        offer = title["offers"][0]
        day = date(title["start_year"], between(random, 1, 12), between(random, 1, 28))
        for volume in range(1, title["volumes"] + 1):
            stock = max(0, between(random, -2, 9))
            restock = "2026-12-14" if stock == 0 and random.random() < 0.5 else None
            made.append(
                {
                    "title_id": title["title_id"],
                    "volume": volume,
                    "isbn": isbn(len(made)),
                    "format": "physical",
                    "price_usd": offer["price_usd"],
                    "stock": stock,
                    "restock_date": restock,
                    "release_date": (day + timedelta(days=120 * volume)).isoformat(),
                }
            )
            offer["stock"] += stock
    return made


def orders(random: Random, of: Sequence[Json], sold: Sequence[Json]) -> list[Json]:
    named = {title["title_id"]: title["title"]["en"] for title in of}
    made = []
    for number, owner in enumerate(("reader-17", "reader-17", "reader-17", "reader-42", "reader-42", "reader-63"), 1):
        bought = [one(random, sold) for _ in range(between(random, 1, 3))]
        bought = list({(each["title_id"], each["volume"]): each for each in bought}.values())
        tracking = f"HM{number:09d}GB" if number % 3 else None
        lines = [
            {
                "title_id": each["title_id"],
                "title": named[each["title_id"]],
                "volume": each["volume"],
                "isbn": each["isbn"],
                "format": "physical",
                "quantity": 1,
                "unit_price_usd": each["price_usd"],
                "supply": "stock",
                "tracking_number": tracking,
            }
            for each in bought
        ]
        subtotal = sum(round(100 * each["price_usd"]) for each in bought)
        order: Json = {
            "owner": owner,
            "order_id": f"HBK-{4100000 + 37 * number:07d}",
            "status": "shipped" if tracking else "paid",
            "ordered_at": f"2026-11-{9 + number:02d}T09:30:00Z",
            "lines": lines,
            "subtotal_usd": dollars(subtotal),
            "shipping_usd": dollars(SHIPPING),
            "total_usd": dollars(subtotal + SHIPPING),
            "prefecture": "Oregon",
            "estimated_delivery": "2026-12-04",
        }
        if tracking:
            order["shipments"] = [
                {
                    "carrier": "japan_post",
                    "service": "parcel",
                    "tracking_number": tracking,
                    "status": "in_transit",
                    "shipped_at": f"2026-11-{11 + number:02d}T15:00:00Z",
                    "delivered_at": None,
                }
            ]
        made.append(order)
    return made


def files() -> dict[str, str]:
    """Name and text of each file that is made."""
    random = Random(SEED)
    catalogue = titles(random)
    sold = volumes(random, catalogue)
    ordered = orders(random, catalogue[:60], [each for each in sold if each["title_id"] <= "hb-00060"])
    made = {"catalog": catalogue, "volumes": sold, "orders": ordered}
    return {f"{name}.jsonl.gz": "".join(json.dumps(line) + "\n" for line in lines) for name, lines in made.items()}


def main() -> None:
    for name, text in files().items():
        (DATA / name).write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
