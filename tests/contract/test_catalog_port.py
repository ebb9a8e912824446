"""What every CatalogPort does, whatever is behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from session.resilience.deadline import Deadline
from tools.store.failures import TimedOut
from tools.store.models import CatalogPage, CatalogQuery, Facets, Filters, Ordering, Title
from tools.store.ports import CatalogPort
from tools.store.search.conditions import satisfies
from tools.store.search.ranking.orderings import standing

# The first test that asks the node starts it and loads the catalogue.
pytestmark = pytest.mark.timeout(300)

ANYTHING = Filters()
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
FILTERS = [
    ANYTHING,
    Filters(genre="shonen"),
    Filters(genre="josei"),
    Filters(genre="kodomo"),
    Filters(min_rating=0.0),
    Filters(min_rating=4.5),
    Filters(min_rating=5.0),
    Filters(genre="seinen", min_rating=4.4),
    *(Filters(author=author) for author in AUTHORS),
    Filters(author="CLAMP"),
    Filters(author="高橋"),
    Filters(author="Takahashi", genre="shonen"),
    Filters(author="Takahashi Miura"),
    Filters(author="nobody at all"),
    Filters(author="…!"),
    Filters(author="*"),
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


async def found(catalog: CatalogPort, text: str, filters: Filters = ANYTHING, limit: int = 10) -> CatalogPage:
    return await catalog.search(CatalogQuery(text, filters, limit), Deadline.after(20))


def ids(titles: Sequence[Title]) -> list[str]:
    return [title.title_id for title in titles]


def called(titles: Sequence[Title], romaji: str) -> Title:
    return next(title for title in titles if title.romaji == romaji)


@pytest.mark.parametrize(("text", "romaji"), [*SPELLINGS, *TYPOS])
async def test_a_name_in_any_script_and_with_a_typo_finds_its_title_first(
    catalog: CatalogPort, text: str, romaji: str
) -> None:
    page = await found(catalog, text)
    assert page.titles[0].romaji == romaji
    assert page.degraded == ()


@pytest.mark.parametrize("author", AUTHORS)
async def test_an_authors_name_in_any_order_and_script_finds_their_works(
    catalog: CatalogPort, titles: Sequence[Title], author: str
) -> None:
    works = {t.title_id for t in titles if satisfies(t, Filters(author="Miura Kentarou"))}
    assert works
    assert works <= set(ids((await found(catalog, author)).titles))


@pytest.mark.parametrize(
    ("text", "romaji"),
    [
        ("a boy with a straw hat wants to be king of the pirates", "One Piece"),
        ("a notebook that kills whoever's name is written in it", "Death Note"),
        ("巨人から人類を守る兵士", "Shingeki no Kyojin"),
    ],
)
async def test_a_described_story_is_found(catalog: CatalogPort, titles: Sequence[Title], text: str, romaji: str) -> None:
    assert called(titles, romaji).title_id in ids((await found(catalog, text)).titles)


@pytest.mark.parametrize("filters", FILTERS, ids=str)
async def test_filters_let_through_exactly_what_satisfies_them(
    catalog: CatalogPort, titles: Sequence[Title], filters: Filters
) -> None:
    wanted = {t.title_id for t in titles if satisfies(t, filters)}
    page = await found(catalog, "", filters, limit=len(titles))
    assert set(ids(page.titles)) == wanted
    assert page.total == len(wanted) == len(page.titles)
    assert set(ids(await catalog.popular(filters, len(titles), Deadline.after(20)))) == wanted


@pytest.mark.parametrize("text", ["berserk", "romance", "school life comedy", "三浦", "冒険", "like Berserk"])
@pytest.mark.parametrize("filters", FILTERS[:12], ids=str)
async def test_whatever_is_asked_every_hit_satisfies_the_filters(catalog: CatalogPort, text: str, filters: Filters) -> None:
    page = await found(catalog, text, filters, limit=50)
    assert all(satisfies(title, filters) for title in page.titles)
    assert page.total >= len(page.titles)


@pytest.mark.parametrize("text", ["berserk", "romance", "samurai", "一番人気の漫画"])
async def test_the_total_and_the_order_do_not_depend_on_the_limit(catalog: CatalogPort, text: str) -> None:
    few, many = await found(catalog, text, limit=3), await found(catalog, text, limit=30)
    assert few.total == many.total >= len(many.titles)
    assert ids(few.titles) == ids(many.titles)[:3]
    assert len(set(ids(many.titles))) == len(many.titles)


async def test_a_theme_counts_all_titles_that_have_it(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    romances = sum("Romance" in title.tags for title in titles)
    assert romances > 20
    assert (await found(catalog, "romance", limit=5)).total >= romances


async def test_a_query_of_another_world_finds_little(catalog: CatalogPort) -> None:
    assert (await found(catalog, "Harry Potter and the Goblet of Fire")).total <= 2


async def test_the_same_question_has_the_same_answer_for_many_at_once(catalog: CatalogPort) -> None:
    pages = await asyncio.gather(*(found(catalog, text) for text in ["vampires", "料理", "berserk"] * 6))
    assert all(pages[i] == pages[i % 3] for i in range(len(pages)))


@pytest.mark.parametrize("text", INJECTIONS)
async def test_a_query_is_text_whatever_language_it_speaks(catalog: CatalogPort, titles: Sequence[Title], text: str) -> None:
    """Words in it may be found; it never selects everything, fails, or breaks out of its filter."""
    page = await found(catalog, text, Filters(genre="josei"))
    josei = sum(title.genre == "josei" for title in titles)
    read_as_nothing = not any(c.isalnum() for c in text)
    assert page.total == josei if read_as_nothing else page.total < josei
    assert all(title.genre == "josei" for title in page.titles)


@pytest.mark.parametrize("text", INJECTIONS)
async def test_a_filter_is_text_whatever_language_it_speaks(catalog: CatalogPort, text: str) -> None:
    assert await found(catalog, "", Filters(author=text)) == CatalogPage((), 0)
    assert await found(catalog, "", Filters(genre=text)) == CatalogPage((), 0)


@pytest.mark.parametrize("text", ODD_TEXTS, ids=ascii)
async def test_any_text_is_answered(catalog: CatalogPort, text: str) -> None:
    page = await found(catalog, text)
    assert len(page.titles) <= 10
    assert page.total >= len(page.titles)
    assert (await found(catalog, "", Filters(author=text))).total < 50


async def test_titles_come_back_whole(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    wanted = ids(titles)[:40]
    got = await catalog.get(wanted, Deadline.after(20))
    assert got == {title.title_id: title for title in titles[:40]}
    assert (await found(catalog, "berserk")).titles[0] == called(titles, "Berserk")


async def test_all_titles_can_be_got_at_once(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    assert len(await catalog.get(ids(titles), Deadline.after(20))) == len(titles)


@pytest.mark.parametrize("title_id", ODD_IDS, ids=lambda title_id: ascii(title_id)[:25])
async def test_an_id_that_nobody_gave_out_is_simply_absent(
    catalog: CatalogPort, titles: Sequence[Title], title_id: str
) -> None:
    known = titles[0]
    assert await catalog.get([title_id, known.title_id, known.title_id], Deadline.after(20)) == {known.title_id: known}
    assert await catalog.get([title_id], Deadline.after(20)) == {}


async def test_no_ids_get_no_titles(catalog: CatalogPort) -> None:
    assert await catalog.get([], Deadline.after(20)) == {}


async def test_the_popular_are_in_order_of_fame_and_in_the_same_order_as_for_an_empty_query(
    catalog: CatalogPort, titles: Sequence[Title]
) -> None:
    popular = await catalog.popular(ANYTHING, 30, Deadline.after(20))
    counts = [title.rating_count or 0 for title in popular]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == max(title.rating_count or 0 for title in titles)
    assert popular == (await found(catalog, "", limit=30)).titles


async def test_the_alike_share_a_tag_or_an_author_and_the_best_match_is_first(
    catalog: CatalogPort, titles: Sequence[Title]
) -> None:
    berserk = called(titles, "Berserk")
    liked = Facets(dict.fromkeys(berserk.tags, 1.0), tuple(a.name for a in berserk.authors), berserk.genre)
    alike = await catalog.alike(liked, 20, Deadline.after(20))
    assert alike[0] == berserk
    assert len(alike) == 20
    theirs = set(liked.authors)
    assert all(set(t.tags) & set(liked.tags) or theirs & {a.name for a in t.authors} for t in alike)


async def test_an_author_alone_is_enough_to_be_alike(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    name = called(titles, "Berserk").authors[0].name
    works = {t.title_id for t in titles if any(a.name == name for a in t.authors)}
    assert set(ids(await catalog.alike(Facets({}, (name,)), 50, Deadline.after(20)))) == works


@pytest.mark.parametrize("facets", [Facets({}), Facets({"no such tag": 1.0}), Facets({"Action": 0.0}), Facets({}, ("*",))])
async def test_nothing_is_like_nothing(catalog: CatalogPort, facets: Facets) -> None:
    assert await catalog.alike(facets, 10, Deadline.after(20)) == ()


async def test_titles_like_one_leave_it_out(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    page = await found(catalog, "manga like Berserk")
    assert page.titles
    assert called(titles, "Berserk").title_id not in ids(page.titles)


async def test_the_author_of_a_title_leads_to_all_their_works(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    monster = called(titles, "Monster")
    works = {t.title_id for t in titles if {a.name for a in monster.authors} & {a.name for a in t.authors}}
    assert len(works) > 1
    assert works <= set(ids((await found(catalog, "other manga by the author of Monster", limit=20)).titles))


async def test_a_deadline_that_is_over_fails_as_such(catalog: CatalogPort) -> None:
    over = Deadline.after(-1)
    with pytest.raises(TimedOut):
        await catalog.search(CatalogQuery("berserk", ANYTHING, 5), over)
    with pytest.raises(TimedOut):
        await catalog.popular(ANYTHING, 5, over)
    with pytest.raises(TimedOut):
        await catalog.alike(Facets({"Action": 1.0}), 5, over)


async def test_a_cancelled_call_ends_and_the_next_is_answered(catalog: CatalogPort) -> None:
    page = await found(catalog, "dragons")
    for _ in range(10):
        call = asyncio.create_task(found(catalog, "dragons"))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert await found(catalog, "dragons") == page


async def test_a_catalogue_that_works_says_so(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    health = await catalog.health(Deadline.after(20))
    assert health.ok
    assert str(len(titles)) in health.detail


async def test_facets_of_a_title_do_not_change_it(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    """What is handed out is a value: two calls give equal titles."""
    first, second = await found(catalog, "naruto"), await found(catalog, "naruto")
    assert first == second
    assert replace(first.titles[0]) == called(titles, "Naruto")


@pytest.mark.parametrize(
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
async def test_an_ordering_alone_orders_the_whole_catalogue(
    catalog: CatalogPort, titles: Sequence[Title], text: str, ordering: Ordering
) -> None:
    page = await found(catalog, text, limit=20)
    assert page.total == len(titles)
    assert [standing(t, ordering) for t in page.titles] == sorted((standing(t, ordering) for t in titles), reverse=True)[:20]


@pytest.mark.parametrize(
    ("text", "ordering"),
    [("newest shojo", Ordering.NEWEST), ("top rated shojo", Ordering.RATING), ("最新のスポーツ", Ordering.NEWEST)],
)
async def test_an_ordering_orders_what_else_is_asked_for(catalog: CatalogPort, text: str, ordering: Ordering) -> None:
    page = await found(catalog, text)
    stand = [standing(title, ordering) for title in page.titles]
    assert len(stand) > 3
    assert stand == sorted(stand, reverse=True)
    if "shojo" in text:
        assert {title.genre for title in page.titles} == {"shojo"}


async def test_what_is_called_so_stays_first_whatever_the_ordering(catalog: CatalogPort) -> None:
    assert (await found(catalog, "latest naruto")).titles[0].romaji == "Naruto"


async def test_an_author_named_twice_is_the_author_and_the_best_known_work_first(
    catalog: CatalogPort, titles: Sequence[Title]
) -> None:
    author = Filters(author="Oda")
    works = [t for t in titles if satisfies(t, author)]
    assert works
    for text in ("Oda", "oda", "manga by Oda"):
        page = await found(catalog, text, author)
        assert page.titles[0].romaji == "One Piece"
        assert page.total == len(works)


async def test_a_short_family_name_means_its_best_known_bearer(catalog: CatalogPort) -> None:
    assert (await found(catalog, "Oda")).titles[0].romaji == "One Piece"


async def test_a_name_that_is_only_somewhat_alike_is_marked_as_a_guess(catalog: CatalogPort) -> None:
    page = await found(catalog, "Batman")
    assert page.titles[0].romaji == "Bakuman"
    assert page.guessed


@pytest.mark.parametrize("text", ["bersrek", "ベルセクル", "berserk miura", "dark fantasy", "三浦", "newest manga"])
async def test_an_answer_that_is_clear_is_no_guess(catalog: CatalogPort, text: str) -> None:
    assert not (await found(catalog, text)).guessed


async def test_where_nothing_matches_the_nearest_names_are_told(catalog: CatalogPort) -> None:
    page = await found(catalog, "Barserkaman")
    assert (page.titles, page.total) == ((), 0)
    assert "Berserk" in [title.romaji for title in page.near]
