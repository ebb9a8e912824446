"""`python -m tests.quality.strangers.cost`: microseconds of processor time that reading a text of 120 and of 500 characters costs.

The open sets' questions, put together to that length, are read once, so that the catalogue's answers are at hand, and then
measured: the least of some rounds for each text, so that the machine's other work does not count.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

from session.resilience.deadline import Deadline
from tests.quality.strangers.__main__ import PARTS, SETS, UNREAD, questions
from tests.quality.strangers.training import a_reader
from tools.store.search.reading.reader import Reader

LENGTHS = (120, 500)
TEXTS, ROUNDS = 80, 5


class _AtHand:
    """A catalogue that has answered already: each of its answers is given again at once."""

    def __init__(self, catalog: Any) -> None:
        self._catalog = catalog
        self._answers: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        async def answer(*asked: Any) -> Any:
            key = f"{name} {asked[:-1]}"
            if key not in self._answers:
                self._answers[key] = await getattr(self._catalog, name)(*asked)
            return self._answers[key]

        return answer


def texts_of(length: int) -> Iterator[str]:
    """Texts of a length, of the questions in turn, those of one language together."""
    files = [PARTS[part] / f"{name}.jsonl" for part in PARTS if part not in UNREAD for name in SETS]
    said = [each.words for file in files if file.exists() for each in questions(file)]
    for mine in ([each for each in said if each.isascii()], [each for each in said if not each.isascii()]):
        whole = ". ".join(mine)
        yield from (whole[at : at + length] for at in range(0, len(whole) - length, length))


async def least(reader: Reader, texts: Sequence[str]) -> list[float]:
    """Microseconds of each text."""
    taken = [float("inf")] * len(texts)
    for _ in range(ROUNDS + 1):
        for i, text in enumerate(texts):
            begun = time.process_time_ns()
            await reader.read(text, Deadline.after(30))
            taken[i] = min(taken[i], (time.process_time_ns() - begun) / 1e3)
    return taken


async def main() -> None:
    reader = a_reader()
    reader = reader.over(_AtHand(reader._catalog))
    for length in LENGTHS:
        texts = list(texts_of(length))
        taken = await least(reader, texts[:: max(1, len(texts) // TEXTS)])
        cuts = statistics.quantiles(taken, n=20)
        print(f"{length} characters: median {cuts[9]:.0f} µs, p95 {cuts[18]:.0f} µs, of {len(taken)} texts")


if __name__ == "__main__":
    asyncio.run(main())
