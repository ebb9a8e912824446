"""preview_manga_pages, through the whole pipeline, with the drawn pages."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace
from typing import Any

import pytest

from tests.support.cases import cases
from tests.support.images import png
from tests.support.pipeline import Answer, Kit, Opener
from tests.support.store import BAD, Mood
from tests.support.valkey import eventually
from tools.preview_manga_pages import TOOL
from tools.store.backends.pages.checked import image_header
from tools.store.models import Page, Preview

pytestmark = pytest.mark.virtual_time
NAME = TOOL.name
PIRATES = {"title_id": "manga-000001"}


def images(answer: Answer) -> list[dict[str, Any]]:
    return [block for block in answer.result["content"] if block["type"] == "image"]


class Pages:
    """A port that has one preview."""

    def __init__(self, preview: Preview | None) -> None:
        self.preview = preview

    async def pages(self, title_id: str, volume: int, deadline: object) -> Preview | None:
        return self.preview


async def test_preview_is_off_until_enabled_by_either_flag_name(opener: Opener) -> None:
    kit = await opener()
    kit.switch()
    assert (await kit.ask(NAME, PIRATES)).failure == "TOOL_NOT_FOUND"
    for flag in (NAME, "enable_manga_preview_tool"):
        kit.switch(**{flag: True})
        assert (await kit.ask(NAME, PIRATES)).failure is None


async def test_first_three_pages_are_images_with_alternative_text(kit: Kit) -> None:
    answer = await kit.ask(NAME, PIRATES)
    assert (answer.value["title"], answer.value["volume"]) == ("Pirate Sea", 1)
    assert [page["page"] for page in answer.value["pages"]] == [1, 2, 3]
    shown = images(answer)
    assert [block["_meta"]["com.mangaassist/alt"] for block in shown] == [page["alt"] for page in answer.value["pages"]]
    assert all(page["alt"].startswith(f"Page {page['page']} of Pirate Sea, volume 1: ") for page in answer.value["pages"])
    for block in shown:
        header = image_header(b64decode(block["data"]))
        assert header is not None
        assert header[0] == block["mimeType"]


async def test_preview_of_another_volume_has_other_pages(kit: Kit) -> None:
    first, second = [images(await kit.ask(NAME, PIRATES | {"volume": volume})) for volume in (1, 2)]
    assert [block["data"] for block in first] != [block["data"] for block in second]


async def test_preview_volume_number_is_read_in_common_spellings(kit: Kit) -> None:
    for volume in ("1", "第1巻", "vol. 1"):
        assert (await kit.ask(NAME, PIRATES | {"volume": volume})).value["volume"] == 1


@cases("volume", [0, -1, 1000, 1.5, "one"])
async def test_volume_below_one_or_not_whole_is_refused(kit: Kit, volume: object) -> None:
    answer = await kit.ask(NAME, PIRATES | {"volume": volume})
    assert answer.failure == "VALIDATION_ERROR"
    assert kit.calls_of("pages") == 0


async def test_cached_preview_has_its_images(kit: Kit) -> None:
    first, again = [await kit.ask(NAME, PIRATES) for _ in range(2)]
    assert (again.meta["source"], images(again)) == ("cache", images(first))


async def test_replayed_preview_has_its_images(kit: Kit) -> None:
    answers = [await kit.ask(NAME, PIRATES, user="u", idempotency_key="k") for _ in range(2)]
    assert [len(images(answer)) for answer in answers] == [3, 3]


async def test_missing_preview_is_not_found_with_advice(kit: Kit) -> None:
    kit.backends.pages.inner = Pages(None)
    answer = await kit.ask(NAME, PIRATES | {"volume": 3})
    assert answer.failure == "NOT_FOUND"
    assert "no preview of volume 3 of Pirate Sea" in answer.texts[0]


async def test_unknown_title_or_volume_is_not_found(kit: Kit) -> None:
    assert (await kit.ask(NAME, {"title_id": "manga-999999"})).failure == "NOT_FOUND"
    inner = kit.backends.catalog.inner
    kit.backends.catalog.inner = Counted(inner, volumes=2)
    answer = await kit.ask(NAME, PIRATES | {"volume": 3})
    assert answer.failure == "NOT_FOUND"
    assert "there are 2" in answer.texts[0]
    assert kit.calls_of("pages") == 0


class Counted:
    """A catalogue that knows how many volumes there are."""

    def __init__(self, inner: Any, volumes: int, **others: Any) -> None:
        self._inner, self._known = inner, {"volumes": volumes, **others}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def get(self, title_ids: Any, deadline: Any) -> Any:
        found = await self._inner.get(title_ids, deadline)
        return {title_id: replace(title, **self._known) for title_id, title in found.items()}


@pytest.mark.parametrize("mood", BAD)
async def test_preview_without_pages_is_answered_with_the_title_and_labelled(kit: Kit, mood: Mood) -> None:
    kit.backends.pages.mood = mood
    answer = await kit.ask(NAME, PIRATES)
    assert (answer.failure, answer.meta["source"], answer.meta["degraded"]) == (None, "live", ["pages"])
    assert (answer.value["title"], answer.value["pages"], images(answer)) == ("Pirate Sea", [], [])
    assert "without the preview pages" in answer.note


async def test_hanging_pages_open_only_their_own_breaker(kit: Kit) -> None:
    kit.backends.pages.mood = Mood.HANGS
    for number in range(12):
        await kit.ask(NAME, PIRATES, session=f"s{number}")
    assert kit.open_breakers() == ["pages"]
    assert kit.backends.pages.cancelled > 0
    assert (await kit.ask("get_manga_details", PIRATES)).meta["degraded"] == []


async def test_preview_of_a_popular_title_works_without_catalogue_and_records(kit: Kit) -> None:
    kit.backends.catalog.mood = kit.backends.titles.mood = Mood.FAILS
    answer = await kit.ask(NAME, PIRATES)
    assert (answer.meta["source"], answer.meta["fallback"]) == ("fallback", "preview_of_known_title")
    assert len(images(answer)) == 3


async def test_unfit_pages_are_named_in_the_note(kit: Kit) -> None:
    kit.backends.pages.inner = Pages(Preview((Page(2, "image/png", png()),), left_out=(1, 3)))
    answer = await kit.ask(NAME, PIRATES)
    assert [page["page"] for page in answer.value["pages"]] == [2]
    assert answer.value["pages"][0]["alt"] == "Page 2 of Pirate Sea, volume 1."
    assert "Pages 1, 3 cannot be shown." in answer.note


async def test_preview_states_audience_and_content_notes(kit: Kit) -> None:
    kit.backends.catalog.inner = Counted(kit.backends.catalog.inner, volumes=1, tags=("Erotica",))
    answer = await kit.ask(NAME, PIRATES)
    assert (answer.value["audience"], answer.value["content_notes"]) == ("adult", ["Erotica"])


async def test_preview_of_an_adult_title_is_not_found_when_adult_titles_are_off(opener: Opener) -> None:
    kit = await opener(adult="off")
    kit.backends.catalog.inner = Counted(kit.backends.catalog.inner, volumes=1, tags=("Erotica",))
    assert (await kit.ask(NAME, PIRATES)).failure == "NOT_FOUND"
    assert kit.calls_of("pages") == 0


async def test_successful_preview_is_recorded_as_a_view(kit: Kit) -> None:
    drawn, kit.backends.pages.inner = kit.backends.pages.inner, Pages(None)
    assert (await kit.ask(NAME, {"title_id": "manga-000002"}, user="u")).failure == "NOT_FOUND"
    kit.backends.pages.inner = drawn
    await kit.ask(NAME, PIRATES, user="u")
    await eventually(lambda: len(kit.profile_events) == 1)
    ((method, (entries, _)),) = kit.backends.profiles.asked
    assert (method, [(user, event.subject) for user, event in entries]) == ("remember", [("u", "manga-000001")])
