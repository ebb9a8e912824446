"""What the operator's page is told may have been written by anybody, and may be half a thing: text stays text, nothing breaks, and
nothing grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser.axe import violations
from tests.support.browser.looking import Witness
from tests.support.operators_page import calls, evenings, states
from tests.support.operators_page.shown import quiet_evening, shown

if TYPE_CHECKING:
    from playwright.async_api import Browser

AT = states.AT
SCRIPT = "<script>document.title='taken'</script><img src=x onerror=alert(1)>"
LONG = "W" * 5_000
ODD: tuple[Any, ...] = (None, SCRIPT, LONG, 1e308, -1e308, 2**53, True, [], [[]], {}, {"__proto__": 1}, "\u202e\u0000")
KEPT = "turnList.calls + turnList.kept.size + page.recent.seconds.size + page.recent.sheds.length"


def with_texts(value: Any, text: str) -> Any:
    """The same with `text` in the place of every text, but of the few that decide a kind."""
    match value:
        case dict():
            return {
                key: each if key in ("kind", "state", "status") else with_texts(each, text) for key, each in value.items()
            }
        case list():
            return [with_texts(each, text) for each in value]
        case str():
            return text
        case _:
            return value


@pytest.mark.parametrize(
    "text",
    [SCRIPT, LONG, "\"'><svg onload=alert(1)>", "javascript:alert(1)", "](){{7*7}}"],
    ids=["script", "long", "svg", "url", "braces"],
)
async def test_any_text_stays_text(text: str, browser: Browser) -> None:
    events = [(name, with_texts(data, text)) for name, data in evenings.killed()]
    async with shown(browser, events) as own:
        await own.page.locator(".call").first.click()
        assert await own.count("script") == await own.page.evaluate("document.scripts.length") > 0
        assert await own.count("img") == 0
        assert "manga-tools" in await own.page.title()
        assert text[:20] in await own.text("#dependencies")
        assert await own.page.evaluate("document.documentElement.scrollWidth") <= 1280
        assert await violations(own.page) == []


async def test_any_field_may_be_anything(browser: Browser) -> None:
    """Each field of each event in turn, and the whole event; and the page goes on."""
    witness = Witness()
    async with shown(browser, quiet_evening(), witness=witness) as own:
        for turn, odd in enumerate(ODD):
            for name, data in (
                ("hello", states.hello()),
                ("state", states.killed()),
                ("call", calls.hung_search(1, AT, 0, "aaaa0001")),
            ):
                own.server.say((name, odd), *((name, each) for each in broken(data, odd)))
            own.server.say(("hello", states.hello()), ("state", states.calm(AT + 60 + turn)), ("nothing known", odd))
            await own.reads("#asof", f"as of 20:07:{40 + turn}")
            assert (odd, await own.text("h1")) == (odd, "Customers are served.")
            assert (odd, witness.errors, witness.foreign, witness.dialogs) == (odd, [], [], [])


def broken(data: Any, odd: Any) -> list[Any]:
    """Copies of it, each with another part replaced, and each with another left out; of a list the first stands for all."""
    if isinstance(data, list):
        return [[each, *data[1:]] for each in [odd, *broken(data[0], odd)]] if data else []
    if not isinstance(data, dict):
        return []
    found = []
    for key, value in data.items():
        found += [data | {key: each} for each in [odd, *broken(value, odd)]]
        found.append({name: each for name, each in data.items() if name != key})
    return found


async def test_what_is_no_event_is_passed_over(browser: Browser) -> None:
    async with shown(browser, quiet_evening()) as own:
        for writer in own.server.streams:
            writer.write(
                b"event: call\ndata: {half\n\n: a comment\n\nretry: 2000\n\ndata\n\n\n\nevent: state\n\nid: 1\ndata: null\n\n"
            )
        own.server.say(("state", states.calm(AT + 60)))
        await own.reads("#asof", "as of 20:07:40")


async def test_after_five_thousand_calls_it_holds_no_more_than_after_five_hundred(browser: Browser) -> None:
    async with shown(browser, quiet_evening()) as own:
        heights = []
        for number in range(10):
            many = [calls.hung_search(n, AT + n / 100, 0, f"{n:08x}") for n in range(number * 500, number * 500 + 500)]
            own.server.say(*(("call", each) for each in many), ("state", states.calm(AT + number * 5)))
            await own.holds(f"turnList.arrived === {number * 500 + 500} && turnList.seen === turnList.arrived")
            heights.append(await own.page.evaluate(f"[document.querySelectorAll('*').length, {KEPT}]"))
        assert await own.count(".turn") == 40
        assert await own.count(".call") == 40
    assert heights[-1][0] == heights[0][0] < 4_000
    assert heights[-1][1] <= 40 + 40 + 60 + 60


async def test_a_turn_without_end_is_cut(browser: Browser) -> None:
    async with shown(browser, quiet_evening()) as own:
        own.server.say(*(("call", calls.cached(n, "compare_prices", AT, n, "aaaa0001")) for n in range(300)))
        await own.reads(".used", "276 calls more")
        assert await own.count(".call") == 24
