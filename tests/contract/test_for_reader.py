"""Titles to a reader's taste, in each catalogue."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tools.store.failures import TimedOut
from tools.store.models import Conditions, ReaderQuery, Status, Title, WeighedTitle
from tools.store.ports import CatalogPort
from tools.store.search.conditions.check import satisfies

# The first test that asks the node starts it and loads the catalogue.
pytestmark = pytest.mark.timeout(300)


async def found(catalog: CatalogPort, query: ReaderQuery) -> tuple[Title, ...]:
    return await catalog.for_reader(query, Deadline.after(20))


def ids(titles: Sequence[Title]) -> list[str]:
    return [title.title_id for title in titles]


def called(titles: Sequence[Title], romaji: str) -> Title:
    return next(title for title in titles if title.romaji == romaji)


def liking(*titles: Title) -> tuple[WeighedTitle, ...]:
    return tuple(WeighedTitle(title) for title in titles)


async def test_reader_without_history_gets_the_popular_titles(catalog: CatalogPort) -> None:
    best = await found(catalog, ReaderQuery(10))
    assert best == await catalog.popular(Conditions(), 10, Deadline.after(20))


async def test_titles_for_a_reader_share_more_tags_with_liked_ones_than_popular_titles_do(
    catalog: CatalogPort, titles: Sequence[Title]
) -> None:
    berserk = called(titles, "Berserk")
    answers = await found(catalog, ReaderQuery(10, liked=liking(berserk), known=(berserk.title_id,)))
    popular = await found(catalog, ReaderQuery(10, known=(berserk.title_id,)))
    assert len(answers) == 10
    assert berserk not in answers

    def shared(some: Sequence[Title]) -> int:
        return sum(len(set(each.tags) & set(berserk.tags)) for each in some)

    assert shared(answers) > shared(popular)


async def test_titles_by_a_liked_author_come_early(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    monster = called(titles, "Monster")
    theirs = {each.name for each in monster.authors}
    answers = await found(catalog, ReaderQuery(5, liked=liking(monster), known=(monster.title_id,)))
    assert any(theirs & {author.name for author in each.authors} for each in answers)


async def test_conditions_hold_and_known_titles_are_left_out(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    shelf = [called(titles, name) for name in ("Berserk", "Monster", "Naruto")]
    conditions = Conditions(genres=("seinen",), statuses=(Status.FINISHED,), without_tags=("Gore",))
    answers = await found(catalog, ReaderQuery(30, conditions, liking(*shelf), known=tuple(ids(shelf))))
    assert answers
    assert all(satisfies(each, conditions) for each in answers)
    assert not set(ids(answers)) & set(ids(shelf))


async def test_titles_with_all_wanted_themes_come_before_those_with_one(catalog: CatalogPort) -> None:
    answers = await found(catalog, ReaderQuery(30, wanted=(("Comedy",), ("School",))))
    assert {"Comedy", "School"} <= set(answers[0].tags)
    assert all({"Comedy", "School"} & set(each.tags) for each in answers)


async def test_titles_for_a_mood_have_it_and_none_has_the_unwanted_tone(catalog: CatalogPort) -> None:
    mood, unwanted = ("Iyashikei", "Slice of Life"), ("Horror", "Gore")
    answers = await found(catalog, ReaderQuery(5, mood=mood, unwanted=unwanted))
    assert all(set(mood) & set(each.tags) and not set(unwanted) & set(each.tags) for each in answers)


async def test_titles_found_by_a_search_are_only_reordered(catalog: CatalogPort, titles: Sequence[Title]) -> None:
    hits = [called(titles, name) for name in ("Monster", "Naruto", "Berserk")]
    fits = {hits[0].title_id: 1.0, hits[1].title_id: 0.9, hits[2].title_id: 0.2, "manga-999999": 1.0}
    answers = await found(catalog, ReaderQuery(10, fits=fits))
    assert set(ids(answers)) == set(ids(hits))
    assert answers[-1] == hits[2]
    assert await found(catalog, ReaderQuery(10, fits={})) == ()


@cases("query", [ReaderQuery(5, wanted=(("No such tag", "Nor this"),), mood=("None",)), ReaderQuery(0)])
async def test_unknown_theme_or_limit_of_zero_finds_nothing(catalog: CatalogPort, query: ReaderQuery) -> None:
    assert await found(catalog, query) == ()


async def test_expired_deadline_raises_timed_out(catalog: CatalogPort) -> None:
    with pytest.raises(TimedOut):
        await catalog.for_reader(ReaderQuery(5), Deadline.after(-1))
