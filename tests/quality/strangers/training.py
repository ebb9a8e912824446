"""`python -m tests.quality.strangers.training`: makes the weights of tools/store/search/reading/stances.txt.gz of phrases.

Phrases (phrases/*.jsonl, and the patterns of phrases/*.txt, which are filled in by chance with a fixed seed) say where something
stands and in which stance. Every third line of a jsonl is held out and measured; weights are learnt by gradient descent, a part
of the features left out by chance at each step, so that no few of them carry all.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from session.resilience.deadline import Deadline
from tests.quality.conditions.__main__ import CATALOGUES
from tests.support.named_catalog import NamedCatalog
from tools.store.records.catalog_file import load
from tools.store.search.reading.binder import Binder
from tools.store.search.reading.reader import Reader
from tools.store.search.reading.stances import SCALE, STANCES, TIMES, Stances, Surroundings, pack_weights
from tools.store.search.reading.tokens import Token
from tools.store.search.text.characters import normalise

HERE = Path(__file__).parent / "phrases"
WEIGHTS = Path(__file__).parents[3] / "tools" / "store" / "search" / "reading" / "stances.txt.gz"
LABEL = {
    "refused": "refused", "disliked": "refused", "wanted": "wanted", "required": "wanted", "liked": "liked",
    "free": "free", "known": "known", "aside": "aside",
}  # fmt: skip
SHORT = {"n": "refused", "p": "wanted", "f": "free", "k": "known", "a": "aside", "l": "liked", "d": "disliked"}
FILLED: Mapping[str, Mapping[str, Sequence[str]]] = {
    "en": {
        "theme": ["horror", "sports", "mystery", "cooking"], "any": ["horror", "sports"],
        "title": ["Naruto", "Bleach", "Monster", "Slam Dunk"],
        "person": ["Naoki Urasawa", "Rumiko Takahashi", "Inio Asano"], "readership": ["shonen", "josei", "seinen"],
        "status": ["ongoing", "finished"], "format": ["e-books", "paperbacks"],
        "magazine": ["Weekly Shonen Jump", "Nakayoshi"], "amount": ["under 10 volumes", "from the 90s", "over 500 yen"],
    },
    "ja": {
        "theme": ["ホラー", "スポーツ", "ミステリー", "料理"], "any": ["ホラー", "スポーツ"],
        "title": ["ナルト", "ブリーチ", "スラムダンク", "デスノート"],
        "person": ["浦沢直樹", "高橋留美子", "浅野いにお"], "readership": ["少年漫画", "女性漫画", "青年漫画"],
        "status": ["連載中", "完結済み"], "format": ["電子書籍", "紙の本"], "magazine": ["週刊少年ジャンプ", "なかよし"],
        "amount": ["10巻以内", "90年代", "500円以上"],
    },
}  # fmt: skip
KINDS = (*["theme"] * 6, "readership", "status", "format", "magazine", "person", "amount")
SAMPLES, HELD = 60, 3
_CHOICE, _SLOT = re.compile(r"\(([^()]*)\)"), re.compile(r"\{(\w+)\}")
PHRASES = {"{}": 2.0, "{}_shop": 3.0, "{}_free": 1.0, "{}_wishes": 2.0, "{}_queries": 2.0, "{}_marked": 2.0, "{}_turns": 2.0}
"""Files of phrases by language, and what a line of each weighs: those of a shop more than free ones."""
EPOCHS, RATE, DECAY, LEFT_OUT, BATCH, LEAST, LEAST_WEIGHT = 12, 0.3, 2e-5, 0.3, 32, 2, 2


@dataclass(frozen=True, slots=True)
class Example:
    """Features of one place, its stance, and whether it is held out."""

    features: tuple[str, ...]
    stance: int
    held: bool
    text: str
    weight: float = 1.0


def phrases(language: str) -> Iterator[tuple[Mapping[str, Any], bool, float]]:
    """Phrases with their slots, whether each is held out, and what it weighs."""
    for name, weight in PHRASES.items():
        lines = (HERE / f"{name.format(language)}.jsonl").read_text(encoding="utf-8").splitlines()
        told = name != "{}_queries"
        yield from ((json.loads(line), told and i % HELD == HELD - 1, weight) for i, line in enumerate(lines))
    yield from ((row, False, 1.0) for row in _patterns(language))


def _patterns(language: str) -> Iterator[Mapping[str, Any]]:
    chance = random.Random(1)
    for line in (HERE / f"{language}.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        choices = max((len(match[1].split("|")) for match in _CHOICE.finditer(line)), default=1)
        made = dict.fromkeys(_chosen(line, chance) for _ in range(max(SAMPLES, choices * 3 // 2)))
        for text in made:
            slots = {SHORT[each] for each in _SLOT.findall(text)}
            titles = slots & {"liked", "disliked", "known"} or (slots <= {"refused", "wanted"} and chance.random() < 0.12)
            kinds = ["title" if titles else chance.choice(KINDS) for _ in _SLOT.findall(text)]
            yield {"text": _SLOT.sub(lambda match: f"{{{SHORT[match[1]]}}}", text), "kinds": kinds}


def _chosen(line: str, chance: random.Random) -> str:
    while match := _CHOICE.search(line):
        line = line[: match.start()] + chance.choice(match[1].split("|")) + line[match.end() :]
    return " ".join(line.split())


def _kinds(row: Mapping[str, Any]) -> Sequence[str]:
    return row["kinds"] if "kinds" in row else [row["slot"]] * len(_SLOT.findall(row["text"]))


def filled(row: Mapping[str, Any], language: str) -> tuple[str, list[tuple[int, int, str, str]]]:
    """The text with words in its slots, and of each slot where they stand, its stance and its kind."""
    slots = _SLOT.findall(row["text"])
    kinds = _kinds(row)
    text, places, used = "", list[tuple[int, int, str, str]](), Counter[str]()
    parts = iter(zip(slots, kinds, strict=True))
    for i, part in enumerate(_SLOT.split(row["text"])):
        if i % 2:
            slot, kind = next(parts)
            words = FILLED[language][kind]
            word = words[used[kind] % len(words)]
            used[kind] += 1
            places.append((len(text), len(text) + len(word), slot, kind))
            text += word
        else:
            text += part
    return text, places


def a_reader() -> Reader:
    return Reader(NamedCatalog([title for title, _ in load(CATALOGUES["demo"])]))


async def examples(reader: Reader, language: str) -> list[Example]:
    """Of all phrases of a language, as the reader's scanner takes them apart."""
    made: list[Example] = []
    for row, held, weight in phrases(language):
        text, places = (row["text"], row["places"]) if "places" in row else filled(row, language)
        if len(normalise(text)) != len(text):
            continue
        tokens = (await reader.tokens(text, Deadline.after(60))).tokens
        around = Surroundings(tokens, Binder(tokens).bind().items)
        for start, end, slot, kind in places:
            if (at := _place(tokens, start, end)) is not None:
                said, operators = around.features(at, "name" if kind in ("title", "person") else "fact")
                found = (*said, *TIMES * operators)
                made.append(Example(found, STANCES.index(LABEL[slot]), held, text, weight))
    return made


def _place(tokens: Sequence[Token], start: int, end: int) -> int | None:
    inside = [i for i, token in enumerate(tokens) if token.start < end and token.end > start]
    stated = [i for i in inside if tokens[i].fact or tokens[i].amount or tokens[i].names]
    return (stated or inside or [None])[0]


def trained(made: Sequence[Example]) -> dict[str, tuple[int, ...]]:
    """Weights by feature: multinomial logistic regression, Adagrad over small batches, features that are rare left out."""
    counts: dict[str, float] = defaultdict(float)
    for each in made:
        for feature in set(each.features):
            counts[feature] += each.weight
    index = {f: i for i, f in enumerate(sorted(f for f, many in counts.items() if many >= LEAST or not _is_long(f)))}
    rows = [np.array([index[f] for f in each.features if f in index]) for each in made]
    right = np.eye(len(STANCES))[[each.stance for each in made]]
    worth = np.array([each.weight for each in made])
    weights = np.zeros((len(index), len(STANCES)))
    squares = np.full_like(weights, 1e-3)
    averaged = np.zeros_like(weights)
    chance = np.random.default_rng(1)
    for epoch in range(EPOCHS):
        for batch in np.array_split(chance.permutation(len(made)), len(made) // BATCH):
            sizes = np.array([len(rows[i]) for i in batch])
            columns, at = np.unique(np.concatenate([rows[i] for i in batch]), return_inverse=True)
            owner = np.repeat(np.arange(len(batch)), sizes)
            kept = (chance.random(len(at)) > LEFT_OUT) / (1 - LEFT_OUT) / np.sqrt(sizes)[owner]
            scores = np.zeros((len(batch), len(STANCES)))
            np.add.at(scores, owner, weights[columns][at] * kept[:, None])
            shares = np.exp(scores - scores.max(1, keepdims=True))
            error = (shares / shares.sum(1, keepdims=True) - right[batch]) * worth[batch, None]
            gradient = BATCH * DECAY * weights[columns]
            np.add.at(gradient, at, error[owner] * kept[:, None])
            squares[columns] += gradient**2
            weights[columns] -= RATE * gradient / np.sqrt(squares[columns])
        averaged += weights if epoch >= EPOCHS // 2 else 0.0
    rounded = np.rint(averaged / (EPOCHS - EPOCHS // 2) * SCALE).astype(int)
    return {feature: tuple(map(int, rounded[i])) for feature, i in index.items() if np.abs(rounded[i]).max() >= LEAST_WEIGHT}


def _is_long(feature: str) -> bool:
    """Whether it is of more than one word, or of more than two characters of Japanese."""
    _, _, words = feature.partition(" ")
    return " " in words or (len(words) > 2 and not words.isascii())


def measured(model: Stances, held: Sequence[Example]) -> float:
    """The share of held-out places whose stance is told right."""
    return sum(model.of(each.features).stance == STANCES[each.stance] for each in held) / len(held)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.quality.strangers.training", description=__doc__)
    parser.add_argument("--check", action="store_true", help="measures the weights that are there on what is held out")
    parser.add_argument("--all", action="store_true", help="learns from what is held out as well")
    options = parser.parse_args()
    reader = a_reader()
    weights: dict[str, tuple[int, ...]] = {}
    held: dict[str, list[Example]] = {}
    for language in ("en", "ja"):
        made = asyncio.run(examples(reader, language))
        held[language] = [each for each in made if each.held]
        if not options.check:
            weights |= trained([each for each in made if options.all or not each.held])
    packed = {feature: pack_weights(each) for feature, each in sorted(weights.items())}
    model = Stances.load() if options.check else Stances(packed)
    if not options.check:
        lines = "\n".join((*packed, *(f"{each:x}" for each in packed.values())))
        WEIGHTS.write_bytes(gzip.compress(lines.encode(), mtime=0))
    for language, rows in held.items():
        print(f"{language}: {measured(model, rows):.3f} of {len(rows)} held-out places right")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
