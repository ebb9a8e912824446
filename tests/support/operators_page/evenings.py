"""What a page hears in a minute before the picture is taken: a list of (event, data), the same each time."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.support.operators_page import calls, states

Event = tuple[str, dict[str, Any]]
AT = states.AT


def calm() -> list[Event]:
    return _evening(states.calm, _calm_turn)


def opened() -> list[Event]:
    """The search engine hangs for the last 14 seconds."""

    def turn(number: int, at: float, name: str, chance: random.Random) -> list[dict[str, Any]]:
        if at < AT - 14 or number % 4 == 2:
            return _calm_turn(number, at, name, chance)
        search = calls.hung_search if at < AT - 12 or number % 9 == 0 else calls.refused_search
        first = search(number * 10, at, 0, name)
        return [first, calls.live_stock(number * 10 + 1, at + 0.3 + first["ms"] / 1000, first["ms"] + 300, name)]

    return _evening(states.opened, turn)


def killed() -> list[Event]:
    """The orders' backend is gone for the last nine seconds."""

    def turn(number: int, at: float, name: str, chance: random.Random) -> list[dict[str, Any]]:
        if at < AT - 9 or number % 3:
            return _calm_turn(number, at, name, chance)
        return [calls.failed_order(number * 10, at, 240, name)]

    return _evening(states.killed, turn)


def _calm_turn(number: int, at: float, name: str, chance: random.Random) -> list[dict[str, Any]]:
    search = calls.live_search(number * 10, at, 0, name, chance)
    after = search["ms"] + 420
    match number % 4:
        case 0:
            return [search, calls.live_stock(number * 10 + 1, at + after / 1000, after, name)]
        case 1:
            more = calls.cached(number * 10 + 2, "get_manga_details", at + 0.9, after + 380, name)
            return [
                calls.cached(number * 10, "search_manga_catalog", at, 0, name),
                calls.live_stock(number * 10 + 1, at + 0.5, after, name),
                more,
            ]
        case 2:
            return [calls.recommended(number * 10, at, 0, name)]
        case _:
            return [calls.cached(number * 10, "check_inventory", at, 510, name)]


def _evening(
    state: Callable[[float], dict[str, Any]], turn: Callable[..., list[dict[str, Any]]], seconds: int = 40
) -> list[Event]:
    chance, heard = random.Random(7), [("hello", states.hello())]
    heard += [("state", states.calm(AT + second)) for second in range(-300, -seconds, 5)]
    for second in range(-seconds, 1):
        at = AT + second
        heard.append(("state", state(at)))
        if second:
            name = f"{chance.getrandbits(32):08x}"
            heard += [("call", each) for each in turn(seconds + second, at + 0.2, name, chance)]
    return heard
