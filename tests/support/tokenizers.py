"""Real tokenizers, in a process and an environment of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.driver import Driver
from tests.support.environments import ROOT, python_of

CURRENT = ("o200k_base", "qwen", "llama3", "deepseek_v3", "mistral_v3")
"""Of OpenAI, Alibaba, Meta, DeepSeek and Mistral, as of models that are sold: no estimate may be below any of them."""
OLD = ("cl100k_base",)
"""OpenAI's before, which takes more for Japanese."""


class Tokenizers:
    """By name, how many tokens each makes of texts."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def counts(self, texts: Sequence[str]) -> dict[str, list[int]]:
        answer: dict[str, list[int]] = self._driver.ask("count", texts=list(texts))
        return answer

    def most(self, text: str) -> int:
        return max(counts[0] for counts in self.counts([text]).values())


@contextmanager
def tokenizers(log: Path, names: Sequence[str] = CURRENT) -> Iterator[Tokenizers]:
    """Without the environment the test fails in CI, and is skipped with the reason elsewhere."""
    program = [str(python_of("clients/tokenizers")), str(ROOT / "tests/quality/tokens/count.py"), *names]
    driver = Driver(program, log)
    try:
        yield Tokenizers(driver)
    finally:
        driver.close()
