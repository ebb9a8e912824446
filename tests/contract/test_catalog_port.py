"""What every CatalogPort does, in each implementation."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tests.support.conditions import conditions as any_conditions
from tools.store.failures import TimedOut
from tools.store.models import (
    Audience,
    CatalogPage,
    CatalogQuery,
    Conditions,
    NameMatches,
    Ordering,
    Range,
    ReaderQuery,
    Status,
    Title,
)
from tools.store.ports import CatalogPort
from tools.store.records.catalog_file import Record
from tools.store.search.conditions.check import Facts, satisfies
from tools.store.search.query.parser import QueryParser
from tools.store.search.ranking.candidates import in_order, standing
from tools.store.search.ranking.weights import WEIGHTS
from tools.store.search.titles.names import prior

# The first test that asks the node starts it and loads the catalogue.
pytestmark = pytest.mark.timeout(300)

ANYTHING = Conditions()
SPELLINGS = [
    ("Attack on Titan", "Shingeki no Kyojin"),
    ("shingeki no kyojin", "Shingeki no Kyojin"),
    ("SHINGEKI NO KYOZIN", "Shingeki no Kyojin"),
    ("進撃の巨人", "Shingeki no Kyojin"),
    ("しんげきのきょじん", "Shingeki no Kyojin"),
    ("シンゲキノキョジン", "Shingeki no Kyojin"),
    ("ｂｅｒｓｅｒｋ", "Berserk"),
    ("ベルセルク", "Berserk"),
    ("berserk miura", "Berserk"),
]
TYPOS = [("attak on titan", "Shingeki no Kyojin"), ("bersrek", "Berserk"), ("ベルセクル", "Berserk"), ("narotu", "Naruto")]
AUTHORS = [
    "Miura Kentarou",
    "kentaro miura",
    "Miura, Kentarou",
    "三浦建太郎",
    "三浦",
    "みうらけんたろう",
    "ミウラ ケンタロウ",
]
CHEAP = 500
DAYS = ("2026-01-15", "2026-06-15", "2026-11-15")
"""In the fair of each half of the year: one has begun in the last one."""
FILTERS = [
    ANYTHING,
    Conditions(genres=("shonen",)),
    Conditions(genres=("josei",)),
    Conditions(genres=("kodomo",)),
    Conditions(min_rating=0.0),
    Conditions(min_rating=4.5),
    Conditions(min_rating=5.0),
    Conditions(genres=("seinen",), min_rating=4.4),
    *(Conditions(author=author) for author in AUTHORS),
    Conditions(author="CLAMP"),
    Conditions(author="高橋"),
    Conditions(author="Takahashi", genres=("shonen",)),
    Conditions(author="Takahashi Miura"),
    Conditions(author="nobody at all"),
    Conditions(author="…!"),
    Conditions(author="*"),
    Conditions(statuses=(Status.FINISHED,)),
    Conditions(statuses=(Status.HIATUS, Status.DISCONTINUED)),
    Conditions(volumes=Range(most=10)),
    Conditions(volumes=Range(5, 5.5)),
    Conditions(years=Range(1980, 1989)),
    Conditions(years=Range(2018), statuses=(Status.PUBLISHING,)),
    *(Conditions(audience=audience) for audience in Audience),
    Conditions(no_adult=True),
    Conditions(tags=(("Comedy", "Drama"), ("School",))),
    Conditions(tags=(("No such tag",),)),
    Conditions(magazines=("Weekly Shonen Jump", "Monthly Afternoon")),
    Conditions(magazines=("weekly shonen jump",)),
    Conditions(magazines=("青空書房",)),
    Conditions(without_magazines=("Harbour Press", "Weekly Shonen Jump")),
    Conditions(price=Range(most=528)),
    Conditions(price=Range(most=500), format="digital"),
    Conditions(price=Range(10_000), format="set"),
    *(Conditions(price=Range(most=CHEAP), format="digital", day=day) for day in DAYS),
    Conditions(series_price=Range(most=4_000), format="digital", day=DAYS[0]),
    Conditions(series_price=Range(most=8_000)),
    Conditions(series_price=Range(most=8_000), format="digital", volumes=Range(2)),
    Conditions(format="set"),
    Conditions(format="set", in_stock=True),
    Conditions(format="stone"),
    Conditions(in_stock=True),
    Conditions(all_volumes=True),
    Conditions(without_tags=("Romance", "Gore")),
    Conditions(without_genres=("shonen", "seinen")),
    Conditions(without_authors=("Miura", "高橋", "…!")),
    Conditions(without_titles=("manga-001001", "manga-001002", "nothing")),
    Conditions(min_rating=4.2, without_tags=("Action",), audience=Audience.TEEN, in_stock=True),
]
INJECTIONS = [
    '{"match_all":{}}',
    "*:*",
    "*",
    '") OR 1=1',
    "title_id:*",
    "_exists_:title_id",
    "/.*/",
    "a~ OR b^9 AND NOT c",
    "<script>ctx._source</script>",
    '{"script_score":{"script":"while(true);"}}',
    "\\",
    '"\n{"index":"_all"}\n{}',
]
ODD_TEXTS = [
    "🐉",
    "مانجا",
    "한국 만화",
    "\u200b\u200d",
    "e\u0301tude",
    "𠮷野家",
    "ｶﾞﾝﾀﾞﾑ",
    "\x00",
    "\ud800",
    "竜" * 500,
    "word " * 300,
]
ODD_IDS = ["", " ", "manga-000001 ", "MANGA-000001", "*", "manga-%", "' OR 1=1 --", "進撃", "\ud800", "a\x00b", "m" * 2000]


async def found(catalog: CatalogPort, text: str, conditions: Conditions = ANYTHING, limit: int = 10) -> CatalogPage:
    return await catalog.search(CatalogQuery(text, conditions, limit), Deadline.after(20))


def ids(titles: Sequence[Title]) -> list[str]:
    return [title.title_id for title in titles]


def called(titles: Sequence[Title], romaji: str) -> Title:
    return next(title for title in titles if title.romaji == romaji)


@cases(("text", "romaji"), [*SPELLINGS, *TYPOS])
async def test_name_in_any_script_and_with_a_typo_finds_its_title_first(
    catalog: CatalogPort, text: str, romaji: str
) -> None:
    page = await found(catalog, text)
    assert page.titles[0].romaji == romaji
    assert page.degraded == ()


@cases(
    ("typed", "romaji"),
    [("berse", "Berserk"), ("ベルセ", "Berserk"), ("shingek", "Shingeki no Kyojin"), ("進撃", "Shingeki no Kyojin")],
)
async def test_begun_name_finds_its_title(catalog: CatalogPort, typed: str, romaji: str) -> None:
    """Completions are made of the titles found."""
    page = await found(catalog, typed, Conditions(no_adult=True), 20)
    assert romaji in [title.romaji for title in page.titles]


@cases("author", AUTHORS)
async def test_author_name_in_any_order_and_script_finds_all_their_titles(
    catalog: CatalogPort, titles: Sequence[Title], author: str
) -> None:
    works = {t.title_id for t in titles if satisfies(t, Conditions(author="Miura Kentarou"))}
    assert works
    assert works <= set(ids((await found(catalog, author)).titles))


@cases(
    ("text", "romaji"),
    [
        ("a boy with a straw hat wants to be king of the pirates", "One Piece"),
        ("a notebook that kills whoever's name is written in it", "Death Note"),
        ("巨人から人類を守る兵士", "Shingeki no Kyojin"),
    ],
)
async def test_described_story_finds_its_title(
    catalog: CatalogPort, titles: Sequence[Title], text: str, romaji: str
) -> None:
    assert called(titles, romaji).title_id in ids((await found(catalog, text)).titles)


@cases("conditions", FILTERS, ids=str)
async def test_filters_admit_exactly_the_titles_that_satisfy_them(
    catalog: CatalogPort, titles: Sequence[Title], records: Sequence[Record], conditions: Conditions
) -> None:
    wanted = {t.title_id for t, offers in records if satisfies(t, conditions, offers)}
    page = await found(catalog, "", conditions, limit=len(titles))
    assert set(ids(page.titles)) == wanted
    assert page.total == len(wanted) == len(page.titles)
    assert set(ids(await catalog.popular(conditions, len(titles), Deadline.after(20)))) == wanted


@cases("text", ["", "adventure", "comedy"])
async def test_titles_made_for_children_come_first_for_a_child(catalog: CatalogPort, text: str) -> None:
    for_a_child = Conditions(audience=Audience.ALL_AGES)
    listed = [(await found(catalog, text, for_a_child, 50)).titles]
    if not text:
        listed.append(await catalog.for_reader(ReaderQuery(50, conditions=for_a_child), Deadline.after(20)))
    for answers in listed:
        theirs = [title.genre == "kodomo" for title in answers]
        assert True in theirs
        assert False in theirs
        assert theirs == sorted(theirs, reverse=True)


@cases("text", ["berserk", "romance", "school life comedy", "三浦", "冒険", "like Berserk"])
@cases("conditions", [*FILTERS[:12], *FILTERS[-12:]], ids=str)
async def test_every_hit_satisfies_the_filters_for_any_text(
    catalog: CatalogPort, records: Sequence[Record], text: str, conditions: Conditions
) -> None:
    offers = {title.title_id: sold for title, sold in records}
    page = await found(catalog, text, conditions, limit=50)
    assert all(satisfies(title, conditions, offers[title.title_id]) for title in page.titles)
    assert page.total >= len(page.titles)


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_generated_conditions_admit_exactly_the_satisfying_titles(
    catalog: CatalogPort, records: Sequence[Record], data: st.DataObject
) -> None:
    asked = data.draw(any_conditions(records))
    wanted = {t.title_id for t, offers in records if satisfies(t, asked, offers)}
    page = await found(catalog, "", asked, limit=len(records))
    assert set(ids(page.titles)) == wanted


@cases("text", ["girls love school romance", "samurai", "berserk", "like Berserk", "巨人と戦う話", "手塚治虫"])
@cases(
    "conditions",
    [
        Conditions(min_rating=4.2),
        Conditions(in_stock=True),
        Conditions(genres=("shojo", "seinen")),
        Conditions(author="Miura"),
    ],
    ids=str,
)
async def test_condition_narrows_the_titles_found_by_text(
    catalog: CatalogPort, records: Sequence[Record], text: str, conditions: Conditions
) -> None:
    """Where it leaves almost none, the titles nearest in meaning follow: few, and never more than before."""
    every, narrowed = await found(catalog, text, limit=200), await found(catalog, text, conditions, limit=200)
    offers = {title.title_id: sold for title, sold in records}
    left = {title.title_id for title in every.titles if satisfies(title, conditions, offers[title.title_id])}
    assert narrowed.total <= every.total
    assert set(ids(narrowed.titles)[: len(left)]) == left
    assert narrowed.total <= max(len(left), WEIGHTS.few)


async def test_condition_excluding_every_match_of_a_story_leaves_the_nearest_titles(
    catalog: CatalogPort, titles: Sequence[Title]
) -> None:
    every = await found(catalog, "school comedy", limit=200)
    best = ids(every.titles)
    page = await found(catalog, "school comedy", Conditions(without_titles=tuple(best)), limit=200)
    assert 0 < page.total <= every.total
    assert not set(best) & set(ids(page.titles))
    name = await found(catalog, "berserk", Conditions(without_titles=tuple(ids((await found(catalog, "berserk")).titles))))
    assert name.titles == ()


@cases("text", ["berserk", "romance", "samurai", "一番人気の漫画"])
async def test_total_and_order_do_not_depend_on_the_limit(catalog: CatalogPort, text: str) -> None:
    few, many = await found(catalog, text, limit=3), await found(catalog, text, limit=30)
    assert few.total == many.total >= len(many.titles)
    assert ids(few.titles) == ids(many.titles)[:3]
    assert len(set(ids(many.titles))) == len(many.titles)


async def test_theme_query_counts_all_titles_with_the_theme(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    romances = sum("Romance" in title.tags for title in titles)
    assert romances > 20
    assert (await found(catalog, "romance", limit=5)).total >= romances


async def test_either_of_two_alternative_themes_is_enough(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    """One theme is rare and the other frequent, and most titles have the frequent one alone."""
    asked = Conditions(tags=(("Pirates", "Adventure"),))
    page = await found(catalog, "pirates or adventure", asked)
    assert page.total == sum(not {"Pirates", "Adventure"}.isdisjoint(title.tags) for title in titles) > 50


@cases(
    ("text", "wrong"),
    [
        ("something that will make me cry", "Gag Humor"),
        ("泣ける漫画", "Gag Humor"),
        ("a heartwarming story", "Gore"),
        ("癒される漫画", "Gore"),
    ],
)
async def test_mood_query_finds_titles_of_that_mood_and_none_of_the_wrong_tone(
    catalog: CatalogPort, text: str, wrong: str
) -> None:
    page = await found(catalog, text, limit=10)
    (tone,) = QueryParser().parse(text).moods
    assert len(page.titles) == 10
    assert all(set(tone.wanted) & set(title.tags) for title in page.titles[:5])
    assert not any(wrong in title.tags for title in page.titles)


async def test_query_about_an_unknown_work_finds_at_most_two_titles(catalog: CatalogPort) -> None:
    assert (await found(catalog, "Harry Potter and the Goblet of Fire")).total <= 2


async def test_concurrent_equal_queries_have_equal_answers(catalog: CatalogPort) -> None:
    """As soon as the texts have vectors: a first one may take longer than a search waits."""
    async with asyncio.timeout(60):
        while True:
            pages = await asyncio.gather(*(found(catalog, text) for text in ["vampires", "料理", "berserk"] * 6))
            if not any(page.degraded for page in pages):
                break
    assert all(pages[i] == pages[i % 3] for i in range(len(pages)))


@cases("text", INJECTIONS)
async def test_query_with_query_language_syntax_is_treated_as_text(
    catalog: CatalogPort, titles: Sequence[Title], text: str
) -> None:
    """Its words may match; it never selects everything, fails, or escapes its filter."""
    page = await found(catalog, text, Conditions(genres=("josei",)))
    josei = sum(title.genre == "josei" for title in titles)
    read_as_nothing = not any(c.isalnum() for c in text)
    assert page.total == josei if read_as_nothing else page.total < josei
    assert all(title.genre == "josei" for title in page.titles)


@cases("text", INJECTIONS)
async def test_filter_with_query_language_syntax_is_treated_as_text(catalog: CatalogPort, text: str) -> None:
    assert await found(catalog, "", Conditions(author=text)) == CatalogPage((), 0)
    assert await found(catalog, "", Conditions(genres=(text,))) == CatalogPage((), 0)


@cases("text", ODD_TEXTS, ids=ascii)
async def test_any_text_is_answered_within_bounds(catalog: CatalogPort, text: str) -> None:
    page = await found(catalog, text)
    assert len(page.titles) <= 10
    assert page.total >= len(page.titles)
    assert (await found(catalog, "", Conditions(author=text))).total < 50


async def test_titles_are_returned_with_all_fields(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    wanted = ids(titles)[:40]
    got = await catalog.get(wanted, Deadline.after(20))
    assert got == {title.title_id: title for title in titles[:40]}
    assert (await found(catalog, "berserk")).titles[0] == called(titles, "Berserk")


async def test_all_titles_can_be_fetched_at_once(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    assert len(await catalog.get(ids(titles), Deadline.after(20))) == len(titles)


@cases("title_id", ODD_IDS, ids=lambda title_id: ascii(title_id)[:25])
async def test_unknown_id_is_absent_from_the_result(catalog: CatalogPort, titles: Sequence[Title], title_id: str) -> None:
    known = titles[0]
    assert await catalog.get([title_id, known.title_id, known.title_id], Deadline.after(20)) == {known.title_id: known}
    assert await catalog.get([title_id], Deadline.after(20)) == {}


async def test_no_ids_return_no_titles(catalog: CatalogPort) -> None:
    assert await catalog.get([], Deadline.after(20)) == {}


async def test_popular_titles_are_ordered_by_ratings_as_for_an_empty_query(
    catalog: CatalogPort, titles: Sequence[Title]
) -> None:
    popular = await catalog.popular(ANYTHING, 30, Deadline.after(20))
    counts = [title.rating_count or 0 for title in popular]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == max(title.rating_count or 0 for title in titles)
    assert popular == (await found(catalog, "", limit=30)).titles


async def test_titles_like_one_exclude_that_one(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    page = await found(catalog, "manga like Berserk")
    assert page.titles
    assert called(titles, "Berserk").title_id not in ids(page.titles)


async def test_author_of_a_title_leads_to_all_their_titles(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    monster = called(titles, "Monster")
    works = {t.title_id for t in titles if {a.name for a in monster.authors} & {a.name for a in t.authors}}
    assert len(works) > 1
    assert works <= set(ids((await found(catalog, "other manga by the author of Monster", limit=20)).titles))


async def test_expired_deadline_raises_timed_out(catalog: CatalogPort) -> None:
    over = Deadline.after(-1)
    with pytest.raises(TimedOut):
        await catalog.search(CatalogQuery("berserk", ANYTHING, 5), over)
    with pytest.raises(TimedOut):
        await catalog.popular(ANYTHING, 5, over)
    with pytest.raises(TimedOut):
        await catalog.for_reader(ReaderQuery(5), over)


async def test_cancelled_call_ends_and_the_next_is_answered(catalog: CatalogPort) -> None:
    page = await found(catalog, "dragons")
    for _ in range(10):
        call = asyncio.create_task(found(catalog, "dragons"))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert await found(catalog, "dragons") == page


async def test_health_of_a_working_catalogue_is_ok_with_its_size(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    health = await catalog.health(Deadline.after(20))
    assert health.ok
    assert str(len(titles)) in health.detail


async def test_equal_searches_return_equal_titles(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    """Titles are values, compared by their fields."""
    first, second = await found(catalog, "naruto"), await found(catalog, "naruto")
    assert first == second
    assert replace(first.titles[0]) == called(titles, "Naruto")


@cases(
    ("text", "ordering"),
    [
        ("most popular manga", Ordering.POPULARITY),
        ("人気順", Ordering.POPULARITY),
        ("the best rated manga", Ordering.RATING),
        ("評価の高い漫画", Ordering.RATING),
        ("newest manga", Ordering.NEWEST),
        ("最新の漫画", Ordering.NEWEST),
    ],
)
async def test_ordering_alone_orders_the_whole_catalogue(
    catalog: CatalogPort, titles: Sequence[Title], text: str, ordering: Ordering
) -> None:
    page = await found(catalog, text, limit=20)
    assert page.total == len(titles)
    assert [standing(t, ordering) for t in page.titles] == sorted((standing(t, ordering) for t in titles), reverse=True)[:20]


@cases(
    ("text", "ordering"),
    [("newest shojo", Ordering.NEWEST), ("top rated shojo", Ordering.RATING), ("最新のスポーツ", Ordering.NEWEST)],
)
async def test_ordering_applies_to_the_rest_of_the_query(catalog: CatalogPort, text: str, ordering: Ordering) -> None:
    page = await found(catalog, text)
    stand = [standing(title, ordering) for title in page.titles]
    assert len(stand) > 3
    assert stand == sorted(stand, reverse=True)
    if "shojo" in text:
        assert {title.genre for title in page.titles} == {"shojo"}


async def test_title_called_so_stays_first_whatever_the_ordering(catalog: CatalogPort) -> None:
    assert (await found(catalog, "latest naruto")).titles[0].romaji == "Naruto"


async def test_author_in_text_and_filter_finds_their_titles_the_most_popular_first(
    catalog: CatalogPort, titles: Sequence[Title]
) -> None:
    author = Conditions(author="Oda")
    works = [t for t in titles if satisfies(t, author)]
    assert works
    for text in ("Oda", "oda", "manga by Oda"):
        page = await found(catalog, text, author)
        assert page.titles[0].romaji == "One Piece"
        assert page.total == len(works)


async def test_short_family_name_finds_its_most_popular_author(catalog: CatalogPort) -> None:
    assert (await found(catalog, "Oda")).titles[0].romaji == "One Piece"


async def test_name_only_somewhat_alike_is_marked_as_a_guess(catalog: CatalogPort) -> None:
    page = await found(catalog, "Batman")
    assert page.titles[0].romaji == "Bakuman"
    assert page.guessed


@cases("text", ["bersrek", "ベルセクル", "berserk miura", "dark fantasy", "三浦", "newest manga"])
async def test_clear_match_is_no_guess(catalog: CatalogPort, text: str) -> None:
    assert not (await found(catalog, text)).guessed


async def test_query_without_a_match_returns_the_nearest_names(catalog: CatalogPort) -> None:
    page = await found(catalog, "Barserkaman")
    assert (page.titles, page.total) == ((), 0)
    assert "Berserk" in [title.romaji for title in page.near]


@cases("ordering", Ordering)
@cases("conditions", [ANYTHING, Conditions(format="digital", genres=("shojo", "josei"))], ids=str)
async def test_ordering_argument_overrides_the_ordering_in_the_text(
    catalog: CatalogPort, records: Sequence[Record], ordering: Ordering, conditions: Conditions
) -> None:
    fitting = [(title, offers) for title, offers in records if satisfies(title, conditions, offers)]
    sold = [Facts.from_title(title, offers, ()).sold_as(conditions.format) for title, offers in fitting]
    prices = [None if sale is None else sale.price for sale in sold]
    wanted = in_order([title for title, _ in fitting], ordering, prices)
    for text in ("", "newest manga" if ordering is not Ordering.NEWEST else "best rated manga"):
        page = await catalog.search(CatalogQuery(text, conditions, 30, 0, ordering), Deadline.after(20))
        assert ids(page.titles) == ids(wanted[:30])
        assert page.total == len(wanted)


async def test_price_condition_uses_the_price_of_the_day_without_expired_campaigns(
    catalog: CatalogPort, records: Sequence[Record]
) -> None:
    """Both the matches and their order go by that price."""
    sold = {title.title_id: Facts.from_title(title, offers, ()) for title, offers in records}
    found_on = {}
    for day in (None, *DAYS):
        asked = Conditions(price=Range(most=CHEAP), format="digital", day=day)
        page = await catalog.search(CatalogQuery("", asked, len(records), 0, Ordering.PRICE), Deadline.after(20))
        sales = [sold[title_id].sold_as("digital", day) for title_id in ids(page.titles)]
        prices = [sale.price for sale in sales if sale is not None]
        assert prices == sorted(prices)
        assert all(price <= CHEAP for price in prices)
        found_on[day] = set(ids(page.titles))
    winter, summer, again = (found_on[day] for day in DAYS)
    assert winter == again
    assert summer - winter, "what the fair of the other half makes cheap"
    assert winter - summer
    assert found_on[None] <= winter & summer, "the price of no campaign"


@cases("ordering", Ordering)
async def test_matches_are_sorted_by_the_requested_ordering(
    catalog: CatalogPort, records: Sequence[Record], ordering: Ordering
) -> None:
    prices = {t.title_id: None if (s := Facts.from_title(t, o, ()).sold_as(None)) is None else s.price for t, o in records}
    page = await catalog.search(CatalogQuery("samurai", ANYTHING, 100, 0, ordering), Deadline.after(20))
    stand = [standing(title, ordering, prices[title.title_id]) for title in page.titles]
    assert len(stand) > 3
    assert stand == sorted(stand, reverse=True)
    assert set(ids(page.titles)) == set(ids((await found(catalog, "samurai", limit=100)).titles))


@cases("ordering", Ordering)
async def test_loosely_fitting_titles_are_dropped_from_a_requested_ordering(
    catalog: CatalogPort, ordering: Ordering
) -> None:
    """A cheap or new one would otherwise come before the titles asked for."""
    story = "a lonely boy who plays shogi"
    every = await found(catalog, story, limit=100)
    page = await catalog.search(CatalogQuery(story, ANYTHING, 100, 0, ordering), Deadline.after(20))
    assert every.titles[0] in page.titles
    assert 0 < page.total == len(page.titles) < every.total
    assert set(ids(page.titles)) < set(ids(every.titles))


@cases("text", ["", "samurai", "newest shojo", "like Berserk"])
async def test_pages_follow_one_another_with_the_same_total(catalog: CatalogPort, text: str) -> None:
    whole = await found(catalog, text, limit=12)
    pages = [await catalog.search(CatalogQuery(text, ANYTHING, 5, at), Deadline.after(20)) for at in (0, 5, 10)]
    assert [each for page in pages for each in ids(page.titles)][:12] == ids(whole.titles)
    assert {page.total for page in pages} == {whole.total}


async def test_page_past_the_end_is_empty_with_the_same_total(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    for offset in (len(titles), 10_000, 10**9):
        page = await catalog.search(CatalogQuery("", ANYTHING, 5, offset), Deadline.after(20))
        assert (page.titles, page.total) == ((), len(titles))
    page = await catalog.search(CatalogQuery("samurai", ANYTHING, 5, 10**6), Deadline.after(20))
    assert page.titles == ()
    assert page.total > 0


async def test_terms_are_the_tags_and_magazines_of_the_catalogue_with_counts(
    catalog: CatalogPort, titles: Sequence[Title]
) -> None:
    terms = await catalog.terms(Deadline.after(20))
    assert dict(terms.tags) == Counter(tag for title in titles for tag in set(title.tags))
    issuers = Counter(name for title in titles for name in (title.magazine, title.publisher) if name)
    assert dict(terms.magazines) == issuers
    assert list(terms.tags.values()) == sorted(terms.tags.values(), reverse=True)


@cases(
    "name",
    ["Attack on Titan", "shingeki no kyojin", "進撃の巨人", "しんげきのきょじん", "シンゲキノキョジン", "ATTACK  ON TITAN"],
)
async def test_match_names_finds_a_whole_name_in_any_script(
    catalog: CatalogPort, titles: Sequence[Title], name: str
) -> None:
    best = called(titles, "Shingeki no Kyojin").title_id
    told = await catalog.match_names([name], Deadline.after(20))
    assert told[name].title_ids[0] == best
    assert told == await catalog.match_names([name], Deadline.after(20))


@cases(("author", "whole"), [*((author, "Miura Kentarou") for author in AUTHORS), ("ONE", "ONE")])
async def test_match_names_returns_the_number_of_works_of_an_author(
    catalog: CatalogPort, titles: Sequence[Title], author: str, whole: str
) -> None:
    works = {t.title_id for t in titles if satisfies(t, Conditions(author=author))}
    assert {t.title_id for t in titles if satisfies(t, Conditions(author=whole))} <= works
    assert (await catalog.match_names([author], Deadline.after(20)))[author].works_by_author == len(works)


async def test_match_names_accepts_exact_names_only(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    nothing = ["attack on", "attack on titans", "Kentarou", "school", "", "…", "\ud800", "*", "x" * 3_000]
    known = ["Berserk", "ベルセルク", "Demon Slayer"]
    told = await catalog.match_names([*nothing, *known], Deadline.after(20))
    assert list(told) == known
    assert told["Berserk"] == told["ベルセルク"] == NameMatches((called(titles, "Berserk").title_id,), 0)
    assert told["Demon Slayer"].title_ids
    assert await catalog.match_names([], Deadline.after(20)) == {}


async def test_match_names_looks_up_64_names_with_the_most_popular_title_first(
    catalog: CatalogPort, titles: Sequence[Title]
) -> None:
    names = [title.display for title in titles[:100]]
    told = await catalog.match_names(names, Deadline.after(20))
    assert list(told) == list(dict.fromkeys(names))[:64]
    prior_of = {title.title_id: prior(title) for title in titles}
    for title in titles[:64]:
        fame = [prior_of[each] for each in told[title.display].title_ids]
        assert title.title_id in told[title.display].title_ids
        assert fame == sorted(fame, reverse=True)


async def test_match_names_past_the_deadline_raises_timed_out(catalog: CatalogPort) -> None:
    with pytest.raises(TimedOut):
        await catalog.match_names(["berserk"], Deadline.after(-1))
