"""The message of a search that finds nothing or only guesses. Matching is tested over both catalogues in
tests/contract/test_catalog_port.py."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

from tests.support.cases import cases
from tests.support.scripted_catalog import ScriptedCatalog, context_of
from tools.search_manga_catalog import TOOL
from tools.store.failures import BackendFailure, DependencyFailure, TimedOut
from tools.store.models import CatalogPage, Conditions, Title

BERSERK = Title("manga-000001", en="Berserk")
NOTHING = CatalogPage((), 0)


def scripted(*pages: CatalogPage | BackendFailure) -> ScriptedCatalog:
    """Answers one search after the other with these."""
    left = list(pages)
    return ScriptedCatalog(lambda _: left.pop(0))


async def searched(catalog: ScriptedCatalog, **conditions: Any) -> dict[str, Any]:
    asked = {"query": "x", "genre": "", "author": "", "max_results": 5, "min_rating": 0} | conditions
    answer = await TOOL.handler(context_of(catalog), asked)
    Draft202012Validator(dict(TOOL.output_schema)).validate(answer)
    return answer


async def test_filters_that_exclude_all_matches_are_named_with_the_nearest_titles() -> None:
    catalog = scripted(NOTHING, CatalogPage((BERSERK,), 12))
    answer = await searched(catalog, genre="josei", min_rating=4.9)
    assert (answer["results"], answer["total"]) == ([], 0)
    assert answer["nearly"] == [{"title_id": "manga-000001", "title": "Berserk"}]
    assert "genre and min_rating" in answer["note"]
    assert "12 titles" in answer["note"]
    assert catalog.asked[1].conditions == Conditions(no_adult=True)


async def test_guessed_match_without_filters_is_not_suggested() -> None:
    catalog = scripted(NOTHING, CatalogPage((BERSERK,), 1, guessed=True))
    assert "nearly" not in await searched(catalog, genre="josei")


async def test_search_without_filters_suggests_near_names_without_a_second_search() -> None:
    catalog = scripted(CatalogPage((), 0, near=(BERSERK,)))
    answer = await searched(catalog)
    assert answer["nearly"] == [{"title_id": "manga-000001", "title": "Berserk"}]
    assert "nearest names" in answer["note"]


async def test_search_without_near_names_advises_another_script() -> None:
    answer = await searched(scripted(NOTHING))
    assert "nearly" not in answer
    assert "another script" in answer["note"]


@cases("failure", [DependencyFailure("away"), TimedOut("late")])
async def test_failing_second_search_still_reports_that_nothing_matches(failure: BackendFailure) -> None:
    answer = await searched(scripted(NOTHING, failure), genre="josei")
    assert answer["results"] == []
    assert answer["note"].startswith("Nothing matches.")


async def test_guess_has_a_note_and_a_clear_match_has_none() -> None:
    assert "ask the customer" in (await searched(scripted(CatalogPage((BERSERK,), 1, guessed=True))))["note"]
    assert "note" not in await searched(scripted(CatalogPage((BERSERK,), 1)))
