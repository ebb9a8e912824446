"""`python -m tests.quality.tokens`: how far the estimate of tokens is from what real tokenizers count, on the tools' own
results, as a Markdown table on stdout. Exit code 1 when it is below one of those of today's models."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.quality.tokens.results import ENGLISH, JAPANESE, results
from tests.support.tokenizers import CURRENT, OLD, tokenizers
from tools.results.shortening import estimate

HEAD = (
    "| language | tokenizer | results | estimate: mean | least | most | below | characters/4: mean | least |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)


def row(language: str, name: str, texts: Sequence[str], counts: Sequence[int]) -> str:
    """What is estimated for a token that is counted."""
    ours = [estimate(text) / count for text, count in zip(texts, counts, strict=True)]
    fourths = [len(text) / 4 / count for text, count in zip(texts, counts, strict=True)]
    below = sum(each < 1 for each in ours)
    figures = (_mean(ours), min(ours), max(ours))
    said = " | ".join(f"{each:.2f}" for each in figures)
    return f"| {language} | {name} | {len(texts)} | {said} | {below} | {_mean(fourths):.2f} | {min(fourths):.2f} |"


def _mean(each: Sequence[float]) -> float:
    return sum(each) / len(each)


def main() -> int:
    below = 0
    print(HEAD)
    with tempfile.TemporaryDirectory() as folder, tokenizers(Path(folder) / "log", (*CURRENT, *OLD)) as counted:
        for language in (ENGLISH, JAPANESE):
            texts = [given.text for given in asyncio.run(results(language, Path(folder)))]
            for name, counts in counted.counts(texts).items():
                print(row(language, name, texts, counts))
                below += sum(estimate(t) < c for t, c in zip(texts, counts, strict=True)) if name in CURRENT else 0
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
