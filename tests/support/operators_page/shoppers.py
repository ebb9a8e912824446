"""Shoppers at a real server, a few at a time, for as long as somebody looks at its page."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.support.raw import call, post_2026

SHOPPERS = 4
THINKING_SECONDS = (0.05, 0.35)
"""What an agent takes from one call to the next."""
SUBJECTS = (
    "dark fantasy",
    "basketball",
    "a detective in Osaka",
    "料理と友情",
    "giant robots",
    "ワンピース",
    "vampires",
    "time travel",
)
KNOWN = ("manga-001001", "manga-001002", "manga-002001")
Json = dict[str, Any]


def turns(chance: random.Random, user: int) -> list[tuple[str, Json]]:
    """What one turn of a shopper calls."""
    search = (
        "search_manga_catalog",
        {"query": f"{chance.choice(SUBJECTS)} {chance.randint(1, 60)} volumes", "max_results": 3},
    )
    order = ("lookup_order", {"order_id": f"MNG-DEMO{user}001"})
    details = ("get_manga_details", {"title_id": chance.choice(KNOWN)})
    stock: tuple[str, Json] = ("check_inventory", {"title_ids": chance.sample(KNOWN, 2)})
    wish = ("get_recommendations", {"criteria": chance.choice(SUBJECTS), "count": 3})
    return chance.choice([[search, stock], [search, details, stock], [wish], [order], [details, order], [search]])


async def _shop(port: int, user: int) -> None:
    chance = random.Random(user)
    for number in itertools.count():
        stated = {"sessionId": f"shopper-{user}", "turnId": f"shopper-{user}.{number}", "userId": f"demo-user-{user}"}
        for tool, arguments in turns(chance, user):
            await post_2026(port, call(tool, arguments, {f"com.mangaassist/{key}": value for key, value in stated.items()}))
            await asyncio.sleep(chance.uniform(*THINKING_SECONDS))


@asynccontextmanager
async def shopping(port: int) -> AsyncIterator[None]:
    """They shop until the block ends; what goes wrong with one of them is raised then."""
    tasks = [asyncio.create_task(_shop(port, user)) for user in range(1, SHOPPERS + 1)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for each in ended:
        if isinstance(each, Exception):
            raise each
