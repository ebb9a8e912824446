"""What is put beside or in place of a search's results: titles by their names, by single themes, and near ones. How long
names and preferences are looked up for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from session.preferences import Preference
from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tests.support.clocks import HandClock
from tests.support.scripted_catalog import Answers, ScriptedCatalog, context_of
from tools.conditions.finding import find, near_matches, search_each_theme, with_each_named, with_named
from tools.conditions.releases import without_releases
from tools.conditions.remembered import recall_preferences
from tools.conditions.wanted import Want, resolve_excluded
from tools.contract import ToolContext
from tools.store.failures import BackendFailure
from tools.store.models import CatalogPage, CatalogQuery, CatalogTerms, Conditions, NameMatches, Range, Title
from tools.store.preferences import ParsedPreference
from tools.store.search.reading.reading import Reading, Understood

OLD = Range(1980, 1989)
FRIENDS = {name: Title(name, en=name.title(), start_year=1985) for name in "abcdefgh"}
NARUTO = Title("naruto", en="Naruto", start_year=1999)


def page(names: str, total: int | None = None, **more: Any) -> CatalogPage:
    return CatalogPage(tuple(FRIENDS[name] for name in names), len(names) if total is None else total, **more)


class Named(ScriptedCatalog):
    """It knows Naruto by name; `called` are the names that it was asked for."""

    def __init__(self, answers: Answers) -> None:
        super().__init__(answers)
        self.called: list[Sequence[str]] = []
        self.read: list[Sequence[str]] = []

    async def match_names(self, names: Sequence[str], deadline: Deadline) -> dict[str, NameMatches]:
        self.called.append(names)
        return {name: NameMatches(("naruto",)) for name in names if name == "naruto"}

    async def read_titles(self, title_ids: Sequence[str], deadline: Deadline) -> SimpleNamespace:
        self.read.append(title_ids)
        known = FRIENDS | {"naruto": NARUTO}
        return SimpleNamespace(titles={each: known[each] for each in title_ids if each in known})

    def context(self) -> ToolContext:
        context = context_of(self)
        titles: Any = SimpleNamespace(read=self.read_titles)
        context.store = replace(context.store, titles=titles)
        return context


def nothing(_: CatalogQuery) -> CatalogPage:
    return page("")


def ids(found: CatalogPage | None) -> str:
    return "" if found is None else " ".join(title.title_id for title in found.titles)


# -- without the words

SPOOKY = Conditions(tags=(("Horror",),))
YEARS = Understood("begun in 1980", "from 1980", about=("years",))


@cases(
    ("text", "how", "dropped"),
    [
        ("zxqv flurbl wrond", {}, False),
        ("zxqv flurbl wrond", {"near": ""}, True),
        ("zxqv flurbl wrond qwx", {}, True),
        ("ship book wind", {}, True),
        ("x y z", {}, True),
        ("ship wind", {"offset": 1}, False),
        ("ship wind", {"like": ("a",)}, False),
        ("ship wind", {"conditions": Conditions()}, False),
        ("ship wind", {"conditions": Conditions(), "understood": (YEARS,)}, True),
        ("ship wind", {"conditions": Conditions(), "understood": (replace(YEARS, obeyed=False),)}, False),
        ("ship wind", {"conditions": Conditions(), "understood": (replace(YEARS, about=()),)}, False),
        ("ship samurai", {"conditions": Conditions(), "understood": (YEARS,)}, False),
    ],
)
async def test_words_that_find_nothing_are_left_out_unless_they_are_a_misspelt_name_or_a_theme(
    text: str, how: dict[str, Any], dropped: bool
) -> None:
    near = page(how.pop("near", "e")).titles
    catalog = ScriptedCatalog(lambda query: page("", near=near) if query.text else page("ab"))
    found = await find(context_of(catalog), Want(**{"text": text, "conditions": SPOOKY, **how}), 5)
    assert (ids(found.page), found.want.text) == (("a b", "") if dropped else ("", text))
    assert ([each.words for each in found.want.understood if not each.obeyed and not each.about] == [text]) is dropped


@cases("themes", [1, 2])
async def test_words_and_one_of_several_themes_are_left_out_where_nothing_else_helps(themes: int) -> None:
    def answers(query: CatalogQuery) -> CatalogPage:
        return page("" if query.text or len(query.conditions.tags) != themes - 1 else "ab")

    catalog = ScriptedCatalog(answers)
    want = Want("zxqv", Conditions(tags=(("Horror",), ("Baseball",))[:themes]))
    found = await find(context_of(catalog), want, 5)
    assert (ids(found.page), found.want.text, found.dropped) == (
        ("a b", "", ("Horror",)) if themes > 1 else ("", "zxqv", ())
    )


# -- each theme


def of_themes(query: CatalogQuery) -> CatalogPage | BackendFailure:
    if query.text == "cook":
        return BackendFailure("away")
    known = {"samurai": page("abc"), "baseball": page("bd", guessed=True, near=page("e").titles), "horror": page("fg")}
    return known.get(query.text, page(""))


@cases(
    ("text", "how", "found"),
    [
        ("samurai", {}, ""),
        ("samurai baseball", {}, "a e b c"),
        ("samurai baseball horror", {}, "a e f b g"),
        ("samurai baseball horror cooking", {}, ""),
        ("samurai baseball", {"offset": 1}, ""),
        ("samurai horror", {"conditions": Conditions(years=Range(1990))}, ""),
        ("music vampire", {}, ""),
        ("samurai cooking", {}, ""),
    ],
)
async def test_two_or_three_themes_are_searched_for_one_by_one(text: str, how: dict[str, Any], found: str) -> None:
    """Their titles take turns, at most as many as are asked for; of a theme without any, those with similar names. In the last
    case the catalogue fails."""
    want = Want(**{"text": text, "conditions": Conditions(), **how})
    result = await search_each_theme(context_of(ScriptedCatalog(of_themes)), want, 5)
    assert ids(result) == found
    assert result is None or result.total == len(found.split())


# -- near matches

FIRM = Conditions(without_tags=("Gore",), in_stock=True)
ASKED = replace(FIRM, years=OLD, tags=SPOOKY.tags)


@cases(
    ("without", "about", "nearly", "note"),
    [
        (page("abcd", 9), "years", "abc", "with this years. Without, 9 titles do, such as those in nearly."),
        (page("a"), "tags", "a", "with this years and tags. Without, 1 title does: the one in nearly."),
        (page("ab", guessed=True), "years", "efg", "The nearest names are in nearly."),
        (page(""), "years", "efg", "The nearest names are in nearly."),
        (BackendFailure("away"), "years", "efg", "The nearest names are in nearly."),
    ],
)
async def test_three_titles_that_droppable_conditions_exclude_are_offered_else_those_with_similar_names(
    without: CatalogPage | BackendFailure, about: str, nearly: str, note: str
) -> None:
    catalog = ScriptedCatalog(lambda _: without)
    fine = [replace(FRIENDS[each], tags=("Drama",)) for each in "efgh"]
    want = Want("x", ASKED, offset=5, understood=(replace(YEARS, about=(about,)),))
    found = await near_matches(context_of(catalog), want, [replace(NARUTO, tags=("Gore",)), *fine])
    assert "".join(each["title_id"] for each in found["nearly"]) == nearly
    assert note in found["note"]
    assert [(query.conditions, query.limit, query.offset) for query in catalog.asked] == [(FIRM, 3, 0)]
    catalog.asked.clear()
    found = await near_matches(context_of(catalog), Want("x", FIRM), [replace(NARUTO, tags=("Gore",))])
    assert (found.keys(), catalog.asked) == ({"note"}, [])


# -- titles by name


@cases(
    ("shown", "how", "titles", "total", "asked"),
    [
        (page("ab", 7), {}, "naruto a b", 8, 1),
        (page("abcde", 7), {}, "naruto a b c d", 8, 1),
        (page("ab", guessed=True), {}, "naruto", 1, 1),
        (page("cd", 7), {"offset": 2}, "b c d e f", 8, 3),
        (page("b", 7), {"offset": 1}, "a b c d e", 8, 3),
        (page("cd", 7), {"offset": 2, "by_name": None}, "c d", 7, 0),
        (CatalogPage((NARUTO, *page("a").titles), 7), {}, "naruto a", 7, 0),
    ],
    ids=["first", "of five", "no guesses", "next page", "second", "no weaker conditions", "there already"],
)
async def test_title_that_the_text_names_is_shown_first_though_remembered_conditions_exclude_it(
    shown: CatalogPage, how: dict[str, Any], titles: str, total: int, asked: int
) -> None:
    def answers(query: CatalogQuery) -> CatalogPage:
        if not query.conditions.years:
            return CatalogPage((*page("e").titles, NARUTO)[: query.limit], 2)
        return page("abcdefgh"[query.offset :][: query.limit], 7)

    catalog = Named(answers)
    want = Want(**{"text": "Naruto", "conditions": Conditions(years=OLD), "by_name": Conditions(), **how})
    found = await with_named(catalog.context(), want, shown, 5)
    assert (ids(found.page), found.page.total, found.page.guessed) == (titles, total, False)
    assert (len(catalog.asked), found.named) == (asked, ("naruto",) if asked else ())
    catalog, want = Named(lambda _: BackendFailure("away")), replace(want, offset=0, by_name=Conditions())
    assert (await with_named(catalog.context(), want, page("ab"), 5)).page == page("ab")
    for length, looked_up in ((0, False), (1, True), (80, True), (81, False)):
        catalog = Named(nothing)
        assert (await with_named(catalog.context(), replace(want, text="x" * length), page("ab"), 5)).page == page("ab")
        assert bool(catalog.called) is looked_up, "only a text of up to 80 letters may be a name"


@cases(
    ("shown", "how", "titles", "total"),
    [
        (page("hg", 9), {}, "a b h g", 9),
        (page("ab", 1), {}, "a b", 2),
        (page("hgfed", 9), {"named": tuple("abc")}, "a b c h g", 9),
        (page("hg", 9), {"named": tuple("abcdefgh")}, "a b c d e", 9),
        (page("hg", 9, guessed=True), {}, "a b", 2),
        (page("hg", 9), {"named": ("a",)}, "h g", 9),
        (page("hg", 9), {"named": ("x", "y")}, "h g", 9),
        (page("hg", 9), {"offset": 5}, "h g", 9),
        (page("hg", 9), {"like": ("c",)}, "h g", 9),
        (page("hg", 9), {"conditions": Conditions(in_stock=True)}, "h g", 9),
        (page("hg", 9), {"named": ("naruto", "a"), "conditions": Conditions(years=OLD)}, "a h g", 9),
    ],
)
async def test_titles_that_the_text_lists_are_shown_first(
    shown: CatalogPage, how: dict[str, Any], titles: str, total: int
) -> None:
    catalog = Named(nothing)
    want = Want(**{"text": "a or b", "conditions": Conditions(), "named": ("a", "b"), **how})
    found = await with_each_named(catalog.context(), want, shown, 5)
    assert (ids(found), found.total, found.guessed) == (titles, total, shown.guessed and titles == "h g")
    assert all(len(each) <= 5 for each in catalog.read)


# -- how long


class Timed(Named):
    """It notes the seconds that it is given for names and terms."""

    def __init__(self) -> None:
        super().__init__(nothing)
        self.given: list[float] = []

    async def terms(self, deadline: Deadline) -> CatalogTerms:
        self.given.append(deadline.remaining())
        return await super().terms(deadline)

    async def match_names(self, names: Sequence[str], deadline: Deadline) -> dict[str, NameMatches]:
        self.given.append(deadline.remaining())
        return await super().match_names(names, deadline)


@cases(("left", "names", "release", "preferences"), [(3.0, 0.06, 0.1, 0.25), (0.09, 0.03, 0.09, 0.09)])
async def test_names_and_preferences_are_looked_up_in_a_part_of_the_call(
    left: float, names: float, release: float, preferences: float
) -> None:
    catalog, read = Timed(), list[float]()

    async def read_all(kept: object, within: Deadline) -> tuple[ParsedPreference, ...]:
        read.append(within.remaining())
        return ()

    context = catalog.context()
    reader: Any = SimpleNamespace(read_all=read_all)
    context.store = replace(context.store, preference_reader=reader)
    context.preferences = (Preference("no gore", "2026-11-23"),)
    context.deadline = Deadline.after(left, HandClock())
    await resolve_excluded(context, ["naruto"])
    assert catalog.given == [pytest.approx(names)] * 2
    refused, said = await resolve_excluded(context, ["manga-000001", "nobody"])
    assert (refused, [each.obeyed for each in said]) == (Conditions(without_titles=("manga-000001",)), [True, False])
    del catalog.given[2:]
    assert await without_releases(context, "new One Piece volume next month") == "one piece"
    assert await without_releases(context, "One Piece") == "One Piece"
    assert catalog.given[2:] == [pytest.approx(release)]
    assert await recall_preferences(context, Reading("", "", Conditions()), Conditions()) == (Conditions(), ())
    assert read == [pytest.approx(preferences)]
