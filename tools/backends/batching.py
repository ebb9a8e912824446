"""Texts in batches for an embedder, small enough that whoever waits behind one does not wait long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def batches(texts: Iterable[str], most_texts: int, most_characters: int) -> Iterator[list[str]]:
    """In order, each within both limits; a text that is longer than the second is a batch of its own."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (size + len(text) > most_characters or len(batch) == most_texts):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch
