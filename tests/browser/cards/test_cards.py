"""Each card in both themes, both languages and two widths: like its kept picture, and without a serious finding of axe."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import product
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from jsonschema import Draft202012Validator

from tests.support.browser.axe import violations
from tests.support.browser.card_results import BY_CARD, EXAMPLES
from tests.support.browser.host_backend import OfServer
from tests.support.browser.hosting import Host, Shown, hosting
from tests.support.browser.kept import like_kept
from tests.support.browser.origins import Origins
from tools.cards.extension import CARDS

if TYPE_CHECKING:
    from playwright.async_api import Browser

LOCALES = {"en": "en-US", "ja": "ja-JP"}
SETTINGS = list(product(("light", "dark"), LOCALES))
LOOKS = list(product(BY_CARD, (320, 800)))


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=SETTINGS, ids="-".join)
async def host(
    request: pytest.FixtureRequest, browser: Browser, at: Origins, backend: OfServer
) -> AsyncIterator[tuple[str, Host]]:
    """One for all cards of a theme and a language: a context takes longer to open than a card."""
    theme, language = request.param
    async with hosting(browser, at, "shop", theme=theme, locale=LOCALES[language]) as own:
        yield f"{theme}-{language}", own


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=LOOKS, ids=lambda look: f"{look[0]}-{look[1]}")
async def drawn(request: pytest.FixtureRequest, host: tuple[str, Host]) -> AsyncIterator[tuple[str, Shown]]:
    """A card with its recorded result, and the name of its picture."""
    card, width = request.param
    example = BY_CARD[card]
    shown = await host[1].show(example.tool, example.arguments, example.result, width=width)
    yield f"{card}-{host[0]}-{width}", await shown.drawn()
    assert await shown.faults() == []


async def test_it_looks_as_it_did(drawn: tuple[str, Shown]) -> None:
    name, shown = drawn
    like_kept(await shown.picture(), name)


async def test_axe_finds_nothing_serious(drawn: tuple[str, Shown]) -> None:
    _, shown = drawn
    assert await violations(shown.frame) == []


async def test_nothing_is_wider_than_the_frame(drawn: tuple[str, Shown]) -> None:
    _, shown = drawn
    wide = await shown.frame.evaluate("() => [document.documentElement.scrollWidth, window.innerWidth]")
    assert wide[0] <= wide[1]


def test_every_card_is_looked_at() -> None:
    assert set(BY_CARD) == {card.name for card in CARDS}


async def test_what_they_are_drawn_from_is_what_the_server_answers(backend: OfServer) -> None:
    """In shape: a recorded result satisfies the output schema of its tool as it is now."""
    tools = (await backend.answer("tools/list", {}))["tools"]
    schemas = {each["name"]: each["outputSchema"] for each in tools}
    for example in EXAMPLES:
        Draft202012Validator(schemas[example.tool]).validate(example.result["structuredContent"])
