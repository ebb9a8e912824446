"""What the model makes of phrases that it never saw, and what a reading costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from session.resilience.deadline import Deadline
from tests.quality.strangers.training import a_reader
from tests.support.loop_work import counted
from tools.store.search.reading.binder import Binder
from tools.store.search.reading.items import Item
from tools.store.search.reading.reader import Reader
from tools.store.search.reading.stances import Stances, Surroundings

SECOND = Path(__file__).parent / "strangers" / "second"
LEAST_RIGHT = 0.88
MOST_LINES = {"en": 60_000, "ja": 105_000}
LONGEST = {
    "en": "Something like Slam Dunk but finished, no romance or gore please, under twenty volumes, for my nephew. " * 5,
    "ja": "完結済みのホラー漫画で、グロいのは苦手なので控えめで、10巻以内で在庫があるものをお願いします。" * 11,
}


@pytest.fixture(scope="module")
def reader() -> Reader:
    return a_reader()


def _expected(item: Item, where: dict[str, Any]) -> str | None:
    """The stance of a fact, by what a bookseller would answer; None where that does not tell."""
    fact = item.fact
    if fact is None or fact.alone or fact.matter not in ("themes", "genres"):
        return None
    said = {*fact.tags, *fact.against[:1], *fact.conditions.genres}
    if said.intersection((*where.get("no_tags", ()), *where.get("no_genre", ()))):
        return "refused"
    return "wanted" if said.intersection(*[{*where.get("genre", ()), *sum(where.get("tags", []), [])}]) else None


async def test_the_stances_of_what_strangers_say_are_told(reader: Reader) -> None:
    """Its questions are in no training data."""
    right = asked = 0
    for name in ("refusals", "conditions"):
        for line in (SECOND / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            tokens = (await reader.tokens(row["query"], Deadline.after(30))).tokens
            items = Binder(tokens).bind().items
            around = Surroundings(tokens, items)
            for item in items:
                if (stance := _expected(item, row["where"])) is not None:
                    asked += 1
                    right += Stances.load().judge(around, item.at, "fact").stance == stance
    assert asked > 200
    assert right / asked >= LEAST_RIGHT, f"{right} of {asked}"


@pytest.mark.parametrize("language", LONGEST)
async def test_the_longest_text_costs_little(reader: Reader, language: str) -> None:
    """Some ten thousand lines of Python take a millisecond."""
    text = LONGEST[language][:500]
    await reader.read(text, Deadline.after(30))
    with counted() as work:
        await reader.read(text, Deadline.after(30))
    assert work.total <= MOST_LINES[language], work.told()
