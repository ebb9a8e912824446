"""Found and recommended titles as a shopper sees them, in the customer's language, and what is said where something is not as it should be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser.given import drawn
from tests.support.browser.origins import Origins
from tests.support.browser.results import BARE, BERSERK, Json, answered, refused

if TYPE_CHECKING:
    from playwright.async_api import Browser


SEARCH = "search_manga_catalog"


def found(*titles: Json, **more: Any) -> Json:
    return {"results": [*titles], "total": len(titles), "result_set": "rs_a", **more}


@pytest.mark.parametrize(
    ("locale", "name", "other", "facts"),
    [
        ("en-US", "Berserk", "ベルセルク", ["Seinen", "From 16", "Rated 4.7 of 5", "42 vols, ongoing", "¥693", "In stock"]),
        ("ja-JP", "ベルセルク", "Berserk", ["青年", "16歳以上", "5点満点中4.7点", "42巻・連載中", "693円", "在庫あり"]),
        ("fr-FR", "Berserk", "ベルセルク", ["Seinen", "¥693", "In stock"]),
    ],
)
async def test_a_title_is_told_in_the_customers_language(
    locale: str, name: str, other: str, facts: list[str], browser: Browser, at: Origins
) -> None:
    """A language that the shop does not speak is English."""
    async with drawn(browser, at, SEARCH, answered(found(BERSERK)), locale=locale) as card:
        book = card.frame.get_by_role("article")
        assert await book.get_by_role("heading", level=2).inner_text() == name
        told = await book.text_content() or ""
        assert [fact for fact in [other, "Kentaro Miura", *facts] if fact not in told] == []
        assert await card.frame.locator("html").get_attribute("lang") == ("ja" if locale == "ja-JP" else "en")
        assert await book.locator("[lang=ja]:not(svg *)").inner_text() == "ベルセルク"


@pytest.mark.parametrize(
    ("locale", "price", "most"),
    [("en-US", "$7.50", "at most $8 a volume"), ("ja-JP", "$7.50", "1冊$8以下"), ("de-DE", "$7.50", "at most $8 a volume")],
)
async def test_a_price_is_in_the_currency_that_its_field_names(
    locale: str, price: str, most: str, browser: Browser, at: Origins
) -> None:
    title = {name: value for name, value in BERSERK.items() if name != "price_jpy"} | {"price_usd": 7.5, "offers": []}
    result = answered(found(title, understood=[{"condition": "at most $8 a volume", "from": "under $8.01"}]))
    async with drawn(browser, at, SEARCH, result, locale=locale) as card:
        told = await card.text()
        assert [word for word in (price, most) if word not in told] == []
        assert [word for word in ("¥", "円") if word in told] == []


@pytest.mark.parametrize(
    ("locale", "said"),
    [
        ("en-US", "Shares Action, Horror with One Piece, which you have."),
        ("ja-JP", "お持ちの「One Piece」と同じアクション・ホラーの作品です。"),
    ],
)
async def test_a_recommendation_says_why(locale: str, said: str, browser: Browser, at: Origins) -> None:
    title = BERSERK | {"reason": "Shares Action, Horror with One Piece, which you have. Rated 4.7 of 5."}
    async with drawn(browser, at, SEARCH, answered({"recommendations": [title]}), locale=locale) as card:
        assert said in await card.text()


async def test_what_was_understood_and_what_was_let_go_is_told(browser: Browser, at: Origins) -> None:
    understood = [{"condition": "finished", "from": "finished"}, {"condition": "at most 9 volumes", "from": "under ten"}]
    result = answered(found(BERSERK, understood=understood, relaxed=["at most 9 volumes"]))
    async with drawn(browser, at, SEARCH, result) as card:
        assert "Looked for: finished at most 9 volumes" in " ".join((await card.text()).split())
    async with drawn(browser, at, SEARCH, result, locale="ja") as card:
        assert "検索条件: 完結 9巻以内" in " ".join((await card.text()).split())


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({"source": "live"}, None),
        ({"source": "cache"}, None),
        ({"source": "fallback", "fallback": "standby_catalogue"}, "From our stand-by catalogue"),
        ({"source": "fallback", "fallback": "cached_popular_manga"}, "These are favourites we keep at hand"),
        ({"source": "stale", "asOf": "2026-11-23T16:00:00Z"}, "As of Nov 24, 01:00 JST"),
        ({"degraded": ["stock"]}, "Price and stock could not be checked"),
    ],
    ids=["live", "cache", "standby", "popular", "stale", "without stock"],
)
async def test_where_an_answer_came_from_is_not_hidden(call: Json, said: str | None, browser: Browser, at: Origins) -> None:
    async with drawn(browser, at, SEARCH, answered(found(BERSERK), **call)) as card:
        note = card.frame.locator(".provenance")
        assert await note.count() == (1 if said else 0)
        if said:
            assert said in await note.inner_text()


async def test_nothing_found_offers_what_is_near_and_asks_in_words(browser: Browser, at: Origins) -> None:
    async with drawn(browser, at, SEARCH, answered(found(nearly=[{"title_id": "manga-1", "title": "Haikyu!!"}]))) as card:
        assert "Nothing here has all of that" in await card.text()
        await card.frame.get_by_role("button", name="Haikyu!!").click()
        [message] = await card.hears("ui/message")
        assert message == {"role": "user", "content": [{"type": "text", "text": "I mean Haikyu!!."}]}


@pytest.mark.parametrize(
    ("name", "said"), [("FORBIDDEN", "Please sign in"), ("SERVER_BUSY", "Many people"), ("OF_TOMORROW", "That did not work")]
)
async def test_a_failure_is_told_to_a_person(name: str, said: str, browser: Browser, at: Origins) -> None:
    async with drawn(browser, at, SEARCH, refused(name)) as card:
        told = await card.frame.get_by_role("alert").inner_text()
        assert said in told
        assert "what a model reads" not in told


async def test_more_like_a_title_and_back_by_the_keyboard_alone(browser: Browser, at: Origins) -> None:
    async with drawn(browser, at, SEARCH, answered(found(BERSERK))) as card:
        await card.frame.get_by_role("button", name="More like this: Berserk").press("Enter")
        await card.frame.get_by_role("heading", name="Like Berserk").wait_for()
        assert await card.frame.evaluate("() => document.activeElement.textContent") == "Like Berserk"
        assert await card.frame.get_by_role("article").count() > 1
        await card.frame.get_by_role("button", name="Back").press("Enter")
        await card.frame.get_by_role("heading", name="1 title").wait_for()


@pytest.mark.parametrize("locale", ["en-US", "ja-JP"])
async def test_what_is_not_known_is_not_made_up(locale: str, browser: Browser, at: Origins) -> None:
    nulls = dict.fromkeys(BERSERK) | BARE
    async with drawn(browser, at, SEARCH, answered(found(BARE, nulls, {})), locale=locale, width=320) as card:
        told = await card.text()
        assert await card.frame.get_by_role("article").count() == 3
        assert [word for word in ("null", "undefined", "NaN", "object", "¥") if word in told] == []


async def test_covers_are_drawn_the_same_each_time_and_for_each_title_otherwise(browser: Browser, at: Origins) -> None:
    other = BERSERK | {"title": "Nana", "title_ja": "ナナ"}
    async with drawn(browser, at, SEARCH, answered(found(BERSERK, other, BERSERK))) as card:
        covers = await card.frame.evaluate(
            "() => [...document.querySelectorAll('.cover')].map((each) => each.outerHTML.replaceAll(/drawn-\\d+/g, ''))"
        )
        assert covers[0] == covers[2] != covers[1]
        assert await card.frame.locator(".cover").first.get_attribute("aria-hidden") == "true"
