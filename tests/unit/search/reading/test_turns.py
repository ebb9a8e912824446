"""Long texts are read piece by piece: between two pieces the event loop serves other callers."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from session.resilience.deadline import Deadline
from tests.support.loop_work import counted
from tests.support.reading import a_reader
from tools.store.models import CatalogTerms, Conditions
from tools.store.search.reading import reader as reading
from tools.store.search.reading.binder import Binder
from tools.store.search.reading.meaning import Meaning
from tools.store.search.reading.reader import UNREAD
from tools.store.search.reading.scanner import Scanner

TEXTS = 12
MOST_LINES = 75_000
"""As in `tests/component/tools/test_loop_work.py`."""


async def test_concurrent_long_texts_are_read_one_piece_per_loop_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, rounds, began = a_reader(), 0, list[int]()
    await reader.read("warm", Deadline.after(30))

    def noting(own: Any) -> Any:
        def noted(*given: Any) -> Any:
            began.append(rounds)
            return own(*given)

        return noted

    async def count() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await asyncio.sleep(0)

    for owner, name in ((Scanner, "scan"), (Binder, "bind"), (Meaning, "read")):
        monkeypatch.setattr(owner, name, noting(getattr(owner, name)))
    counting = asyncio.create_task(count())
    texts = [f"{number} {'no romance but some horror please ' * 15}"[:500] for number in range(TEXTS)]
    await asyncio.gather(*(reader.read(text, Deadline.after(60)) for text in texts))
    counting.cancel()
    with suppress(asyncio.CancelledError):
        await counting
    assert len(began) >= 3 * TEXTS
    assert len(set(began)) == len(began), "two pieces in one round"


async def test_concurrent_first_readers_build_one_scanner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another scanner is built only where the catalogue's words differ."""
    made, making = list[Any](), reading._scanner_of

    def noted(*given: Any) -> Scanner:
        made.append(given)
        return making(*given)

    monkeypatch.setattr(reading, "_scanner_of", noted)
    reader = a_reader()
    await asyncio.gather(*(reader.read(f"no romance {number}", Deadline.after(60)) for number in range(20)))
    catalog: Any = reader._catalog
    catalog._terms = replace(catalog._terms)
    await reader.read("no horror", Deadline.after(60))
    assert len(made) == 1


async def test_text_of_magazine_name_beginnings_is_read_in_bounded_steps() -> None:
    reader = a_reader()
    for text in ("少年" * 250, "weekly young jump " * 28):
        await reader.read("warm", Deadline.after(30))
        with counted() as work:
            await reader.read(text, Deadline.after(60))
        assert work.longest <= MOST_LINES, f"{text[:8]}: {work.told()}"


async def test_text_of_katakana_separated_by_signs_is_read_in_bounded_steps() -> None:
    """Each part may begin a magazine's name, and none of them scans the rest of the text."""
    reader = a_reader()
    await reader.read("warm", Deadline.after(30))
    for text in ("ア・+" * 166, "一" * 320):
        with counted() as work:
            await reader.read(text, Deadline.after(60))
        scanned = sum(
            lines for where, lines in work.where.items() if where.startswith(("Scanner", "MagazineNames", "number_of"))
        )
        assert scanned <= MOST_LINES, f"{text[:8]}: {work.told()}"


async def test_questions_before_many_verdicts_are_bound_in_bounded_steps() -> None:
    """Each verdict looks back at the words that stand alone as questions, and at their operators."""
    reader = a_reader()
    for text in ("グロ？" * 40 + "ほしい、" * 90, "bl?" * 40 + "読む、" * 126, "bl?" * 40 + "ok " * 126):
        scanned = await reader.tokens(text[:500], Deadline.after(60))
        with counted() as work:
            Binder(scanned.tokens).bind()
        assert work.longest <= MOST_LINES, f"{text[:8]}: {work.told()}"


@pytest.mark.parametrize("said", [f"at least {'9' * 309} volumes", f"about {'9' * 309} volumes", f"{'一' * 320}巻"])
async def test_absurdly_large_number_sets_no_volume_condition(said: str) -> None:
    assert not (await a_reader().read(said, Deadline.after(30))).conditions.volumes


async def test_long_text_without_a_turn_in_time_is_not_obeyed_and_releases_none() -> None:
    reader, long = a_reader(), "no romance and no horror. " * 12
    async with reader._piece:
        found = await reader.read(long, Deadline.after(0.3))
        with pytest.raises(TimeoutError):
            await reader.refused(long, CatalogTerms({}, {}), {}, Deadline.after(0.1))
        short = await reader.read("no romance", Deadline.after(60))
    assert (found.subject, found.conditions, found.doubted, found.remarks) == ("", Conditions(), True, (UNREAD,))
    assert "Romance" in short.conditions.without_tags
    assert "Romance" in (await reader.read(long, Deadline.after(60))).conditions.without_tags
