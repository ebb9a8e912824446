"""find_volumes through the whole pipeline: single volumes, the next one, and the releases of a month."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest

from session.redis.multiplexed import MultiplexedRedis
from session.resilience.clocks import utc_now
from tests.support.pipeline import Answer, Kit, Opener, opening_kits
from tests.support.store import BAD, Mood, Shelf, held_shelf
from tools.store.models import Order, OrderLine
from tools.store.models.values import day_in_japan

pytestmark = pytest.mark.virtual_time

SEA, GHOST, ROAD, WHOLE, ADULT, UNSOLD, ROSE, EBOOK = (f"manga-{n:06}" for n in range(1, 9))
TODAY = day_in_japan(utc_now()).isoformat()
PAPER, SET = "physical", "set"


def record(
    title_id: str, name: str, rank: int, *offers: dict[str, Any], tags: tuple[str, ...] = ("Drama",)
) -> dict[str, Any]:
    return {
        "title_id": title_id,
        "title": {"en": name},
        "genre": "seinen",
        "tags": list(tags),
        "popularity_rank": rank,
        "offers": list(offers),
    }


def offer(format_: str, price: int, stock: int | None = None) -> dict[str, Any]:
    return {"format": format_, "price_jpy": price, "stock": stock}


RECORDS = [
    record(SEA, "Pirate Sea", 1, offer(PAPER, 500, 9), offer("digital", 440)),
    record(GHOST, "Chess Ghost", 2, offer(PAPER, 520, 9), offer(SET, 1560, 3)),
    record(ROAD, "Long Road", 3, offer(PAPER, 600, 9)),
    record(WHOLE, "Counted Whole", 4, offer(PAPER, 700, 3)),
    record(ADULT, "Not for Children", 5, offer(PAPER, 900, 3), tags=("Adult",)),
    record(UNSOLD, "Not Sold", 6),
    record(ROSE, "Rose Garden", 7, offer(PAPER, 550, 3)),
    record(EBOOK, "Numbers by Wire", 8, offer("digital", 300)),
]


def volume(title_id: str, number: int, stock: int, format_: str = PAPER, **more: Any) -> dict[str, Any]:
    return {
        "title_id": title_id,
        "volume": number,
        "isbn": None,
        "format": format_,
        "price_jpy": 500,
        "stock": stock,
        **more,
    }


VOLUMES = [
    volume(SEA, 1, 5, isbn="9784000000116"),
    volume(SEA, 2, 0, restock_date="2099-01-05"),
    volume(SEA, 3, 4),
    volume(SEA, 4, 6, release_date="2001-05-04"),
    volume(SEA, 5, 0, release_date="2099-03-10"),
    *(volume(GHOST, number, 3) for number in (1, 2, 3)),
    *(volume(ROAD, number, 0 if number % 10 == 0 and number < 100 else 2) for number in range(1, 102)),
    volume(ADULT, 1, 0, release_date="2099-03-01"),
    volume(ROSE, 1, 3, release_date=TODAY),
    volume(ROSE, 2, 0, release_date="2099-03-10"),
    volume(ROSE, 3, 0, release_date="2099-03-02"),
    *(volume(EBOOK, number, 1, "digital", release_date="2099-07-01") for number in range(1, 46)),
]


def order(number: int, *bought: tuple[str, int | None], status: str = "shipped", on: str = "2026-10-01") -> Order:
    lines = tuple(
        OrderLine(title_id, "Title", each, None, SET if each is None else PAPER, 1, 500) for title_id, each in bought
    )
    total = 500 * len(lines)
    return Order(f"MNG-VOLS{number:04}", status, f"{on}T00:00:00Z", lines, total, 0, total, "Tokyo")


USED = order(6, (GHOST, None))
ORDERS = (
    ("ami", order(1, (SEA, 1), (SEA, 2), (GHOST, 3))),
    ("ami", order(2, (SEA, 4), status="cancelled", on="2026-11-01")),
    ("ben", order(3, (SEA, 5), (ROSE, 1))),
    ("cho", order(4, (GHOST, None))),
    ("dai", order(5, (ROSE, None))),
    ("eri", replace(USED, lines=tuple(replace(line, format="used_set") for line in USED.lines))),
)


@pytest.fixture(scope="session")
def bookshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    with held_shelf(tmp_path_factory.mktemp("volumes"), RECORDS, ORDERS, VOLUMES) as shelf:
        yield shelf


@pytest.fixture
async def opener(redis: MultiplexedRedis, bookshop: Shelf) -> AsyncIterator[Opener]:
    async with opening_kits(redis, bookshop.in_moods) as opener:
        yield opener


async def found(kit: Kit, user: str | None = None, **asked: Any) -> Answer:
    return await kit.ask("find_volumes", asked, user=user)


def numbers(answer: Answer) -> list[int]:
    return [row["volume"] for row in answer.value["volumes"]]


async def test_volume_is_listed_in_each_format_it_is_sold_in(kit: Kit) -> None:
    answer = await found(kit, title_id=SEA, volume=1)
    paper, download = answer.value["volumes"]
    assert paper == {
        "volume": 1,
        "format": PAPER,
        "availability": "in_stock",
        "stock": 5,
        "price_jpy": 500,
        "isbn": "9784000000116",
    }
    assert download == {"volume": 1, "format": "digital", "availability": "download", "price_jpy": 440}
    assert (answer.value["title"], answer.value["total"], answer.value["today"]) == ("Pirate Sea", 5, TODAY)


async def test_sold_out_volume_has_a_restock_date_and_upcoming_one_a_release_date(kit: Kit) -> None:
    sold_out = (await found(kit, title_id=SEA, volume=2, format=PAPER)).value["volumes"]
    coming = (await found(kit, title_id=SEA, volume=5)).value["volumes"]
    assert [(row["availability"], row["stock"], row["restock_date"]) for row in sold_out] == [("sold_out", 0, "2099-01-05")]
    assert [(row["availability"], row["release_date"]) for row in coming] == [("preorder", "2099-03-10")]
    assert "stock" not in coming[0], "nobody should take it for sold out"


@pytest.mark.parametrize("said", [3, 3.0, "3", "vol. 3", "Volume 3", "第3巻", "3巻", "#3"])
async def test_volume_number_is_read_in_common_spellings(kit: Kit, said: Any) -> None:
    assert numbers(await found(kit, title_id=SEA, volume=said, format=PAPER)) == [3]


@pytest.mark.parametrize("said", ["next", "Next", "次", "次巻", "次の巻"])
async def test_next_volume_is_understood_in_both_languages(kit: Kit, said: str) -> None:
    assert numbers(await found(kit, "ami", title_id=SEA, volume=said, format=PAPER)) == [3]


@pytest.mark.parametrize(
    ("asked", "fix"),
    [
        ({"title_id": SEA, "volume": "最新刊"}, 'a number such as 12, or "next"'),
        ({"month": "December"}, "YYYY-MM, as 2026-12"),
    ],
)
async def test_malformed_volume_or_month_is_refused_with_an_example(kit: Kit, asked: Any, fix: str) -> None:
    answer = await found(kit, **asked)
    assert (answer.failure, fix in answer.texts[0].replace("\\", "")) == ("VALIDATION_ERROR", True)


async def test_missing_volume_is_reported_with_those_that_exist(kit: Kit) -> None:
    missing = await found(kit, title_id=SEA, volume=12)
    assert missing.failure == "NOT_FOUND"
    assert missing.outcome.failure is not None
    assert missing.outcome.failure.message == "The store lists no volume 12 of this title, but 1-5."
    digital = await found(kit, title_id=SEA, volume=5, format="digital")
    assert digital.outcome.failure is not None
    assert digital.outcome.failure.message == "The store lists no volume 5 of this title as digital, but 1-4."


@pytest.mark.parametrize("title_id", [UNSOLD, "manga-999999"])
async def test_title_that_is_not_sold_is_not_found(kit: Kit, title_id: str) -> None:
    answer = await found(kit, title_id=title_id, volume=1)
    assert answer.failure == "NOT_FOUND"
    assert answer.outcome.failure is not None
    assert "search_manga_catalog" in answer.outcome.failure.message


async def test_title_not_counted_by_volume_lists_none_and_points_to_check_inventory(kit: Kit) -> None:
    for asked in ({}, {"volume": 2}, {"volume": "next"}, {"month": "2026-11"}):
        answer = await found(kit, title_id=WHOLE, **asked)
        assert answer.value["volumes"] == []
        assert "check_inventory" in answer.note
    assert (await found(kit, title_id=ROSE, format="digital")).note == "This title is not sold as digital, but as physical."


async def test_short_series_is_listed_whole(kit: Kit) -> None:
    answer = await found(kit, title_id=SEA)
    assert numbers(answer) == [1, 2, 3, 4, 5]
    assert (answer.value["in_stock"], answer.value["total"]) == ("1, 3-4", 5)
    digital = await found(kit, title_id=SEA, format="digital")
    assert (numbers(digital), digital.value["in_stock"]) == ([1, 2, 3, 4], "1-4")


async def test_long_series_lists_the_latest_and_unavailable_volumes(kit: Kit) -> None:
    answer = await found(kit, title_id=ROAD)
    assert numbers(answer) == [10, 20, 30, 40, 50, 60, 70, 80, 90, 101]
    assert answer.value["total"] == 101
    assert answer.value["in_stock"].startswith("1-9, 11-19")
    coming = await found(kit, title_id=EBOOK)
    assert (numbers(coming), coming.value["in_stock"], coming.value["total"]) == ([1, 2, 3, 4, 5], "", 45)


async def test_long_series_is_listed_page_by_page(kit: Kit) -> None:
    listed, offset = [], 0
    for _ in range(6):
        answer = await found(kit, title_id=ROAD, offset=offset)
        listed += numbers(answer)
        offset = answer.value.get("next_offset", 0)
    assert (listed, offset) == ([*range(1, 102)], 0)


async def test_next_volume_is_the_one_after_the_last_ordered(kit: Kit) -> None:
    """A cancelled volume does not count as ordered."""
    mine = await found(kit, "ami", title_id=SEA, volume="next", format=PAPER)
    assert numbers(mine) == [3]
    assert mine.note == "Volume 2 is the last that this customer ordered. Next is the one after that."
    nothing = await found(kit, "ami", title_id=GHOST, volume="next")
    assert numbers(nothing) == []
    assert nothing.note == "Volume 3 is the last that this customer ordered. No further volume is announced."


async def test_next_volume_already_preordered_is_told_with_its_release_date(kit: Kit) -> None:
    waits = await found(kit, "ben", title_id=SEA, volume="next")
    (row,) = waits.value["volumes"]
    assert (row["volume"], row["availability"], row["release_date"]) == (5, "preorder", "2099-03-10")
    assert waits.note.startswith("Volume 5 is the last that this customer ordered, and it is still to come out")


async def test_next_volume_in_one_format_ignores_other_formats(kit: Kit) -> None:
    """The paper volume is announced, and the date of the download is unknown."""
    digital = await found(kit, title_id=SEA, volume="next", format="digital")
    assert (numbers(digital), digital.note) == ([4], "No further volume is announced as digital. This is the latest.")


async def test_next_volume_without_orders_is_the_first_upcoming_or_the_latest(kit: Kit) -> None:
    for user in (None, "somebody"):
        assert numbers(await found(kit, user, title_id=ROSE, volume="next")) == [3], "by its day, not its number"
        latest = await found(kit, user, title_id=GHOST, volume="NEXT")
        assert (numbers(latest), latest.note) == ([3], "No further volume is announced. This is the latest.")


@pytest.mark.parametrize("user", ["cho", "eri"])
async def test_owner_of_a_complete_set_gets_only_announced_volumes_as_next(kit: Kit, user: str) -> None:
    """The set may be new or used."""
    has_all = await found(kit, user, title_id=GHOST, volume="next")
    assert numbers(has_all) == []
    assert has_all.note == "The customer ordered the complete set. No further volume is announced."
    assert numbers(await found(kit, "dai", title_id=ROSE, volume="next")) == [3]


async def test_concurrent_customers_each_get_their_own_next_volume(kit: Kit) -> None:
    """They may share one session, and no answer is cached for another."""
    expected: dict[str | None, list[int]] = {"ami": [3], "ben": [5], None: [5], "cho": [5]}
    people = [*expected] * 8
    asked = {"title_id": SEA, "volume": "next", "format": PAPER}
    answers = await asyncio.gather(*(kit.ask("find_volumes", asked, user=user, session="s") for user in people))
    assert [numbers(answer) for answer in answers] == [expected[user] for user in people]
    for user, answer in zip(people, answers, strict=True):
        assert (user in ("ami", "ben")) is ("ordered" in answer.note)
    owners = {arguments[0] for method, arguments in kit.backends.orders.asked if method == "bought"}
    assert owners == {"ami", "ben", "cho"}, "who is not signed in has no orders to look at"


@pytest.mark.parametrize("mood", [mood for mood in BAD if mood is not Mood.HANGS] + [Mood.HANGS])
async def test_next_volume_without_readable_orders_is_labelled_as_degraded(kit: Kit, mood: Mood) -> None:
    kit.backends.orders.mood = mood
    answer = await found(kit, "ami", title_id=SEA, volume="next")
    assert (numbers(answer), answer.meta["degraded"]) == ([5], ["orders"])
    assert "what the customer has ordered" in answer.note


async def test_volumes_of_a_month_are_sorted_by_day_then_popularity(kit: Kit) -> None:
    answer = await found(kit, month="2099-03")
    rows = [(row["title"], row["volume"], row["release_date"], row["availability"]) for row in answer.value["volumes"]]
    assert rows == [
        ("Rose Garden", 3, "2099-03-02", "preorder"),
        ("Pirate Sea", 5, "2099-03-10", "preorder"),
        ("Rose Garden", 2, "2099-03-10", "preorder"),
    ]
    assert answer.value["total"] == 3
    assert "next_offset" not in answer.value


async def test_call_without_arguments_lists_the_current_month(kit: Kit) -> None:
    (row,) = (await found(kit)).value["volumes"]
    assert (row["title_id"], row["volume"], row["availability"], row["stock"]) == (ROSE, 1, "in_stock", 3)


async def test_volumes_of_a_month_are_listed_page_by_page_from_the_cache(kit: Kit) -> None:
    pages, offset = [], 0
    while True:
        answer = await found(kit, month="2099-07", offset=float(offset))
        pages.append(numbers(answer))
        if (offset := answer.value.get("next_offset", 0)) == 0:
            break
    assert [len(page) for page in pages] == [20, 20, 5]
    assert sum(pages, []) == list(range(1, 46))
    assert (await found(kit, month="2099-07", offset=99)).note == "There are 45 in 2099-07: ask with a smaller offset."
    assert kit.calls_of("of_month") == 1, "a month is kept for minutes"


async def test_empty_month_has_a_note_that_more_may_be_announced(kit: Kit) -> None:
    answer = await found(kit, month="2098-01")
    assert (answer.value["volumes"], answer.value["total"]) == ([], 0)
    assert "do not say that nothing comes out" in answer.note
    assert "Ask without format" in (await found(kit, month="2098-01", format="digital")).note
    assert numbers(await found(kit, month="2099-03", format="digital")) == []


async def test_month_of_a_title_lists_its_releases_of_that_month(kit: Kit) -> None:
    assert numbers(await found(kit, title_id=ROSE, month="2099-03")) == [2, 3]
    none = await found(kit, title_id=ROSE, month="2098-01")
    assert (numbers(none), none.note) == ([], "No volume of this title is known to come out in 2098-01.")


@pytest.mark.parametrize(("adult", "listed", "by_name"), [("on-request", 3, True), ("off", 3, False), ("on", 4, True)])
async def test_adult_titles_are_listed_in_a_month_only_when_on(
    opener: Opener, adult: str, listed: int, by_name: bool
) -> None:
    kit = await opener(adult=adult)
    assert (await found(kit, month="2099-03")).value["total"] == listed
    assert ((await found(kit, title_id=ADULT, volume=1)).failure is None) is by_name


@pytest.mark.parametrize(
    ("asked", "path", "says"),
    [
        ({"volume": 3}, "$.title_id", "pass its title_id too"),
        ({"title_id": SEA, "volume": 3, "month": "2026-11"}, "$", "volume and month were both given"),
        ({"volume": 3, "month": "2026-00"}, "$.month", "volume and month were both given"),
        ({"month": "2026-13"}, "$.month", "2026-13 is no month (write it YYYY-MM, as 2026-12)"),
        ({"month": "11-2026"}, "$.month", "11-2026 is no month"),
        ({"month": "November"}, "$.month", ""),
        ({"title_id": SEA, "volume": 0}, "$.volume", 'give a number such as 12, or "next"'),
        ({"title_id": SEA, "volume": "the newest"}, "$.volume", ""),
        ({"title_id": SEA, "format": "vinyl"}, "$.format", ""),
    ],
)
async def test_contradictory_arguments_are_refused_with_the_fix(
    kit: Kit, asked: dict[str, Any], path: str, says: str
) -> None:
    answer = await found(kit, **asked)
    assert answer.failure == "VALIDATION_ERROR"
    assert answer.outcome.failure is not None
    assert path in [each["path"] for each in answer.outcome.failure.details["violations"]]
    assert says in answer.outcome.failure.message
    assert kit.backends.stock.asked == kit.backends.releases.asked == []


@pytest.mark.parametrize("mood", BAD)
async def test_last_known_volumes_are_used_while_stock_fails(kit: Kit, mood: Mood) -> None:
    await found(kit, "ami", title_id=SEA)
    kit.clock.advance(60)
    kit.backends.stock.mood = mood
    answer = await found(kit, "ami", title_id=SEA)
    assert (answer.meta["source"], answer.meta["fallback"]) == ("fallback", "last_known_volumes")
    states = {row["volume"]: row["availability"] for row in answer.value["volumes"]}
    assert states == {1: "last_known", 2: "last_known", 3: "last_known", 4: "last_known", 5: "preorder"}
    assert not any("stock" in row for row in answer.value["volumes"])
    assert "in_stock" not in answer.value
    assert answer.value["volumes"][0]["isbn"] == "9784000000116"
    assert "do not promise" in answer.note
    after = await found(kit, "ami", title_id=SEA, volume="next")
    assert "The customer's orders were not looked up." in after.note
    unread = await found(kit, title_id=ROAD)
    assert unread.failure in ("DEPENDENCY_FAILURE", "TIMEOUT", "CIRCUIT_OPEN")


@pytest.mark.parametrize("mood", BAD)
async def test_month_without_stock_has_release_dates_only(kit: Kit, mood: Mood) -> None:
    kit.backends.stock.mood = mood
    answer = await found(kit, month="2099-03")
    assert answer.meta["degraded"] == ["stock"]
    assert {row["release_date"] for row in answer.value["volumes"]} == {"2099-03-02", "2099-03-10"}
    assert not any("availability" in row for row in answer.value["volumes"])


@pytest.mark.parametrize("mood", BAD)
async def test_last_known_month_is_used_while_releases_fail(kit: Kit, mood: Mood) -> None:
    await found(kit)
    kit.clock.advance(3600)
    kit.backends.releases.mood = mood
    answer = await found(kit)
    assert answer.meta["fallback"] == "last_known_volumes"
    assert [(row["title_id"], row["release_date"]) for row in answer.value["volumes"]] == [(ROSE, TODAY)]
    unread = await found(kit, month="2099-03")
    assert unread.failure in ("DEPENDENCY_FAILURE", "TIMEOUT", "CIRCUIT_OPEN")
    assert (await found(kit, title_id=SEA, volume=1)).failure is None, "volumes of a title are stock's to tell"
