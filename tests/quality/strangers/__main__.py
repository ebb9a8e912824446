"""`python -m tests.quality.strangers`: how strangers' questions are answered, by the first five titles.

right: each answer is what a bookseller would give; honest: not so, and the answer says what was not obeyed or let go, or shows
nothing with a note; wrong: the rest; inverted: wrong, and most of the answers are what was refused.

The sets were written by people who had seen neither the code nor its tests. Half of the first is `locked`, half of the fourth
`sealed`, half of the fifth `shut`, half of the sixth `closed`, half of the seventh `kept`, half of the ninth `barred`, half of
the tenth `veiled`: measured and never looked at, and their text is never printed. The seventh to tenth are of
ordinary words; the fifth was to be hard.
Each later set came when those before it had been learnt from, and was read after its first figures.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server.config.settings import Settings
from server.wiring import open_app
from session.resilience.deadline import Deadline
from tests.quality.conditions.__main__ import CATALOGUES
from tests.quality.conditions.asking import ASKED, PATIENCE_S, TODAY
from tests.quality.strangers.judge import in_order, refused, satisfies
from tools.contract import ToolContext
from tools.registry import TOOLS
from tools.store.failures import Failure
from tools.store.models import Offer, Title
from tools.store.records.catalog_file import load
from tools.store.store import Store

Json = Mapping[str, Any]
HERE = Path(__file__).parent
PARTS = {
    "open": HERE,
    "locked": HERE / "locked",
    "second": HERE / "second",
    "third": HERE / "third",
    "fourth": HERE / "fourth",
    "sealed": HERE / "fourth" / "locked",
    "fifth": HERE / "fifth",
    "shut": HERE / "fifth" / "locked",
    "sixth": HERE / "sixth",
    "closed": HERE / "sixth" / "locked",
    "seventh": HERE / "seventh",
    "kept": HERE / "seventh" / "locked",
    "eighth": HERE / "eighth",
    "ninth": HERE / "ninth",
    "barred": HERE / "ninth" / "locked",
    "tenth": HERE / "tenth",
    "veiled": HERE / "tenth" / "locked",
}
UNREAD = ("locked", "sealed", "shut", "closed", "kept", "barred", "veiled")
"""Measured only: their questions are never printed."""
SETS = ("refusals", "conditions", "dialogues", "likes")
DEPTH, SHARED = 5, 3


@dataclass(frozen=True, slots=True)
class Question:
    """`tool`: the name in `ASKED`; `source`: where the expectation comes from."""

    name: str
    tool: str
    words: str
    where: Json
    refused: Json
    source: str = "said"


def questions(file: Path) -> Iterator[Question]:
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if "turns" in row:
            for number, turn in enumerate(row["turns"], 1):
                tool = "recommend" if turn["tool"] == "get_recommendations" else "search"
                yield Question(f"{row['id']}/{number}", tool, turn["text"], turn["where"], {}, turn.get("from", "said"))
        elif "text" in row:
            yield Question(row["id"], "recommend", row["text"], row, {})
        else:
            yield Question(row["id"], "search", row["query"], row["where"], row.get("refused", {}))


class Shelf:
    """Asks the tools, and knows the facts of each title."""

    def __init__(self, store: Store, file: Path) -> None:
        entries = load(file)
        self._store = store
        self._titles: dict[str, Title] = {title.title_id: title for title, _ in entries}
        self._offers: dict[str, tuple[Offer, ...]] = {title.title_id: offers for title, offers in entries}

    async def judged(self, question: Question) -> tuple[str, str]:
        """The verdict, and the answer in a line."""
        asked = ASKED[question.tool]
        tool = next(tool for tool in TOOLS if tool.name == asked.name)
        properties: Json = tool.input_schema["properties"]
        defaults = {name: schema["default"] for name, schema in properties.items() if "default" in schema}
        context = ToolContext(self._store, None, Deadline.after(PATIENCE_S))
        try:
            result = await tool.handler(context, defaults | {asked.words: question.words, asked.number: DEPTH})
        except Failure as failure:
            return "wrong", repr(failure)
        cards = result.get(asked.answers, ())[:DEPTH]
        titles = [self._titles[card["title_id"]] for card in cards]
        said = "; ".join(each["condition"] for each in result.get("understood", ()))
        shown = f"{[each.display for each in titles]} | {said} | {result.get('note', '')} | relaxed {result.get('relaxed')}"
        return self._verdict(question, titles, result), shown

    def _verdict(self, question: Question, titles: list[Title], result: Json) -> str:
        where = question.where
        doubted = any("(not obeyed)" in each["condition"] for each in result.get("understood", ()))
        owned_up = doubted or bool(result.get("relaxed")) or (not titles and bool(result.get("note")))
        if "share_tags" in where:
            right = self._liked(where, titles, result)
        elif where.get("ask") or where.get("nothing"):
            right = not titles or doubted or bool(result.get("note"))
        elif "titles" in where:
            right = bool(titles) and titles[0].en in where["titles"]
        else:
            fits = [satisfies(title, self._offers[title.title_id], where) for title in titles]
            right = bool(titles) and all(fits) and in_order(titles, self._offers, where) and _offers_other(where, result)
        if right:
            return "right"
        if doubted:
            return "honest"
        against = [title for title in titles if refused(title, self._offers[title.title_id], question.refused)]
        if len(against) * 2 > len(titles):
            return "inverted"
        return "honest" if owned_up else "wrong"

    def _liked(self, where: Json, titles: list[Title], result: Json) -> bool:
        """None of those that are named, none that is refused, and most share something with what is liked."""
        if not titles or any(title.title_id in where["not_answers"] for title in titles):
            return False
        if any(set(where["no_tags"]).intersection(title.tags) for title in titles):
            return False
        reasons = " ".join(card.get("reason", "") for card in result["recommendations"])
        if any(f"has {tag}" in reasons.lower() for tag in map(str.lower, where["no_tags"])):
            return False
        shared = [title for title in titles if set(where["share_tags"]).intersection(title.tags)]
        return not where["share_tags"] or len(shared) >= min(SHARED, len(titles))


def _offers_other(where: Json, result: Json) -> bool:
    """Whether the answer is of the format that is left where one is refused: each title is sold in both."""
    left = {"digital": ("on paper", "physical"), "physical": ("digital",)}.get(where.get("no_format", ""), ())
    return not left or any(each["condition"] in left for each in result.get("understood", ()))


async def report(options: argparse.Namespace) -> None:
    file = CATALOGUES[options.catalog]
    settings = Settings(catalog_file=file, data_dir=options.cache_dir, cache=False, rate_limit=False)
    async with open_app(settings, local=True) as app:
        await app.ports.prepared()
        store = app.pipeline.store
        await store.popular.refresh()
        object.__setattr__(store, "now", lambda: TODAY)
        shelf = Shelf(store, file)
        wanted = [PARTS[options.part] / f"{name}.jsonl" for name in SETS if options.set in (None, name)]
        for each in [options.file] if options.file else [file for file in wanted if file.exists()]:
            await _print(each, shelf, verbose=options.verbose and options.part not in UNREAD)


async def _print(file: Path, shelf: Shelf, *, verbose: bool) -> None:
    counted: Counter[str] = Counter()
    sources: dict[str, Counter[str]] = {}
    failing = []
    for question in questions(file):
        verdict, shown = await shelf.judged(question)
        counted[verdict] += 1
        sources.setdefault(question.source, Counter())[verdict] += 1
        if verdict != "right":
            failing.append(
                f"{verdict:8} {question.name} {question.words}\n         want {dict(question.where)}\n         {shown}"
            )
    total = sum(counted.values())
    wrong = counted["wrong"] + counted["inverted"]
    rates = ", ".join(f"{name} {rows['right']}/{sum(rows.values())}" for name, rows in sorted(sources.items()))
    print(
        f"{file.stem}: {total} asked, right {counted['right'] / total:.3f}, honest {counted['honest'] / total:.3f}, "
        f"wrong {wrong / total:.3f}, inverted {counted['inverted']} ({rates})"
    )
    if verbose:
        print(*failing, sep="\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.quality.strangers", description=__doc__)
    parser.add_argument("--set", choices=SETS, default=None)
    parser.add_argument("--file", type=Path, default=None, help="another file of questions")
    parser.add_argument(
        "--part",
        choices=PARTS,
        default="open",
        help="locked, sealed, shut, closed, kept, barred, veiled: never looked at; second to tenth: written later",
    )
    parser.add_argument("--catalog", choices=sorted(CATALOGUES), default="demo")
    parser.add_argument("--cache-dir", type=Path, default=None)
    parser.add_argument("--verbose", action="store_true")
    logging.disable(logging.WARNING)
    asyncio.run(report(parser.parse_args()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
