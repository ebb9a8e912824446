"""Which condition is relaxed where no title is left, in which order, and which never is."""

from __future__ import annotations

from dataclasses import fields

from tests.support.cases import cases
from tests.support.scripted_catalog import ScriptedCatalog, context_of
from tools.conditions.finding import CHEAPEST_FIRST, MOST_SEARCHES, UNDROPPABLE, find, relax_conditions
from tools.conditions.wanted import Want
from tools.store.failures import BackendFailure, TimedOut
from tools.store.models import Audience, CatalogPage, CatalogQuery, Conditions, Range, Status, Title

SHORT, OLD, DONE = Range(None, 3), Range(1980, 1989), (Status.FINISHED,)
ONE = CatalogPage((Title("manga-000001", en="One"),), 1)
NOTHING = CatalogPage((), 0)


def having_only_without(*names: str) -> ScriptedCatalog:
    """It has something only where all these conditions are gone."""

    def answers(query: CatalogQuery) -> CatalogPage:
        return NOTHING if set(names).intersection(query.conditions.stated) else ONE

    return ScriptedCatalog(answers)


def let_go(catalog: ScriptedCatalog, of: Conditions) -> list[tuple[str, ...]]:
    return [tuple(name for name in of.stated if name not in query.conditions.stated) for query in catalog.asked]


async def test_conditions_are_relaxed_in_order_until_a_title_is_found() -> None:
    asked = Conditions(statuses=DONE, volumes=SHORT, years=OLD)
    catalog = having_only_without("volumes")
    found = await relax_conditions(context_of(catalog), Want("cooking", asked), 5)
    assert found is not None
    assert found.dropped == ("at most 3 volumes",)
    assert found.want.conditions == Conditions(statuses=DONE, years=OLD)
    assert let_go(catalog, asked) == [("years",), ("volumes",)]


async def test_two_conditions_are_relaxed_only_where_neither_alone_is_enough() -> None:
    asked = Conditions(volumes=SHORT, years=OLD)
    catalog = having_only_without("volumes", "years")
    found = await relax_conditions(context_of(catalog), Want("cooking", asked), 5)
    assert found is not None
    assert found.dropped == ("begun 1980 to 1989", "at most 3 volumes")
    assert let_go(catalog, asked) == [("years",), ("volumes",), ("volumes", "years")]


async def test_relaxing_spends_at_most_three_searches() -> None:
    asked = Conditions(min_rating=4.5, magazines=("Jump",), years=OLD, volumes=SHORT, statuses=DONE)
    catalog = ScriptedCatalog(lambda _: NOTHING)
    assert await relax_conditions(context_of(catalog), Want("cooking", asked), 5) is None
    assert len(catalog.asked) == MOST_SEARCHES


async def test_search_without_words_is_followed_by_at_most_three_relaxed_ones() -> None:
    catalog = ScriptedCatalog(lambda _: NOTHING)
    await find(context_of(catalog), Want("", Conditions(tags=(("Horror",), ("Baseball",)))), 5)
    assert len(catalog.asked) == 1 + MOST_SEARCHES


async def test_exclusions_exact_filters_and_the_author_are_never_relaxed() -> None:
    asked = Conditions(
        genres=("josei",),
        author="Oda",
        audience=Audience.TEEN,
        in_stock=True,
        all_volumes=True,
        without_tags=("Gore",),
        without_genres=("seinen",),
        without_authors=("Oda",),
        without_titles=("manga-000002",),
        no_adult=True,
    )
    catalog = ScriptedCatalog(lambda _: ONE)
    assert await relax_conditions(context_of(catalog), Want("x", asked, firm=frozenset({"genres"})), 5) is None
    assert catalog.asked == []


def test_every_condition_but_the_author_is_either_relaxable_or_hard() -> None:
    assert {*CHEAPEST_FIRST, *UNDROPPABLE, "author", "day"} == {each.name for each in fields(Conditions)}
    assert not set(CHEAPEST_FIRST).intersection(UNDROPPABLE)


async def test_guessed_title_does_not_count_as_a_result_of_relaxing() -> None:
    guess = CatalogPage(ONE.titles, 1, guessed=True)
    assert await relax_conditions(context_of(ScriptedCatalog(lambda _: guess)), Want("x", Conditions(years=OLD)), 5) is None


@cases("failure", [TimedOut("late"), BackendFailure("away")])
async def test_failing_catalogue_ends_relaxing_after_one_search(failure: BackendFailure) -> None:
    catalog = ScriptedCatalog(lambda _: failure)
    assert await relax_conditions(context_of(catalog), Want("x", Conditions(years=OLD, volumes=SHORT)), 5) is None
    assert len(catalog.asked) == 1


async def test_later_page_of_a_relaxed_search_stays_relaxed() -> None:
    """A page beyond the end shows no title, and still names the relaxed condition."""
    catalog = ScriptedCatalog(lambda query: CatalogPage((), 3) if not query.conditions.years else NOTHING)
    found = await relax_conditions(context_of(catalog), Want("x", Conditions(years=OLD), offset=5), 5)
    assert found is not None
    assert (found.page.total, catalog.asked[0].offset) == (3, 5)
