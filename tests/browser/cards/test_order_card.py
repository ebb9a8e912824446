"""An order as its owner sees it: where it is, when that was by which clock, and what is said when it is late."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.browser.given import drawn
from tests.support.browser.origins import Origins
from tests.support.browser.results import ORDER, PARCEL, answered

if TYPE_CHECKING:
    from playwright.async_api import Browser

LOOKUP = "lookup_order"
BERLIN = {"timeZone": "Europe/Berlin"}


@pytest.mark.parametrize("width", [320, 800])
@pytest.mark.parametrize(
    ("locale", "steps", "said"),
    [
        ("en-US", ["Handed to the carrier, done", "On its way, now", "Delivered, to come"], "Yamato Transport"),
        ("ja-JP", ["荷物受付, 済み", "作業店通過, 現在", "お届け済み, これから"], "ヤマト運輸"),
    ],
)
async def test_the_parcels_way_is_a_list_of_steps(
    width: int, locale: str, steps: list[str], said: str, browser: Browser, at: Origins
) -> None:
    async with drawn(browser, at, LOOKUP, answered(ORDER), locale=locale, width=width) as card:
        way = card.frame.locator("ol.stepper")
        told = [await each.text_content() or "" for each in await way.get_by_role("listitem").all()]
        assert len(told) == 5
        assert [told[at].startswith(step) for at, step in zip((0, 1, 4), steps, strict=True)] == [True] * 3
        assert (await way.locator("[aria-current=step]").text_content() or "").startswith(steps[1])
        assert said in await card.text()
        assert "387398123232" in await card.text()


async def test_a_moment_is_told_by_japans_clocks_and_by_the_customers(browser: Browser, at: Origins) -> None:
    """The second scan was on the next day in Japan."""
    async with drawn(browser, at, LOOKUP, answered(ORDER), context=BERLIN) as card:
        assert "Nov 21, 01:05 JST (Nov 20, 17:05 your time)" in await card.text()
    async with drawn(browser, at, LOOKUP, answered(ORDER)) as card:
        assert "your time" not in await card.text(), "in Japan they are the same"


@pytest.mark.parametrize(
    ("locale", "sorry", "button", "words"),
    [
        ("en-US", "We are sorry: this one is late", "Ask about it", "My order MNG-DEMO1002 is late. What can you do?"),
        (
            "ja-JP",
            "お届けが遅れており申し訳ございません",
            "問い合わせる",
            "注文 MNG-DEMO1002 がまだ届きません。どうすればよいですか？",
        ),
    ],
)
async def test_late_is_said_first_and_kindly(
    locale: str, sorry: str, button: str, words: str, browser: Browser, at: Origins
) -> None:
    async with drawn(browser, at, LOOKUP, answered(ORDER), locale=locale) as card:
        assert await card.frame.get_by_role("heading", level=2).first.inner_text() == sorry
        await card.frame.get_by_role("button", name=button).click()
        [message] = await card.hears("ui/message")
        assert message["content"] == [{"type": "text", "text": words}]
    async with drawn(browser, at, LOOKUP, answered(ORDER | {"late": False, "status": "in_transit"}), locale=locale) as card:
        assert sorry not in await card.text()


async def test_what_went_otherwise_stands_in_its_steps_place(browser: Browser, at: Origins) -> None:
    absent = {"status": "absent", "at": "2026-11-21T03:00:00Z", "place": "Tokyo", "status_ja": "ご不在"}
    parcel = PARCEL | {"status": "absent", "events": [*PARCEL["events"], absent]}
    async with drawn(browser, at, LOOKUP, answered(ORDER | {"status": "delivery_missed", "shipments": [parcel]})) as card:
        assert (await card.frame.locator("[aria-current=step]").text_content() or "").startswith("Nobody was in, now")


async def test_one_of_the_latest_orders_is_shown_and_left_by_the_keyboard(browser: Browser, at: Origins) -> None:
    row = {name: ORDER[name] for name in ("order_id", "status", "late", "ordered_at", "total_jpy")} | {
        "contents": "Berserk 1"
    }
    async with drawn(browser, at, LOOKUP, answered({"kind": "latest_orders", "orders": [row]})) as card:
        await card.frame.get_by_role("button", name="Show: MNG-DEMO1002").press("Enter")
        await card.frame.get_by_role("heading", name="Order MNG-DEMO1002").wait_for()
        assert await card.said("tools/call") == [{"name": "lookup_order", "arguments": {"order_id": "MNG-DEMO1002"}}]
        await card.frame.get_by_role("button", name="Back").press("Enter")
        await card.frame.get_by_role("heading", name="Your latest orders").wait_for()


async def test_who_has_no_orders_is_told_so(browser: Browser, at: Origins) -> None:
    async with drawn(browser, at, LOOKUP, answered({"kind": "latest_orders", "orders": []})) as card:
        assert "No orders yet" in await card.text()


async def test_whatever_a_host_says_of_itself_an_order_is_drawn(browser: Browser, at: Origins) -> None:
    """In English and by Japan's clocks, where it says nothing that could be meant."""
    odd = [{"locale": each} for each in ({"toString": 1}, "x" * 9_000, "ja-", "", None, 7)]
    odd += [{"timeZone": each} for each in ("Mars/Olympus", 7, {"toString": 1}, None)]
    order = answered(ORDER | {"estimated_delivery": "2026-02-31"})
    async with drawn(browser, at, LOOKUP, order) as card:
        for context in odd:
            await card.tell("ui/notifications/host-context-changed", context)
            assert await card.ask("ping", {}) == {}
            assert (context, await card.faults()) == (context, [])
            told = await card.text()
            assert "Nov 20, 15:05 JST" in told, context
            assert "Mar 3" not in told, "a day that there is not"
        await card.tell("ui/notifications/host-context-changed", {"locale": "ja_JP.UTF-8"})
        assert await card.ask("ping", {}) == {}
        assert "ご注文" in await card.text()
