"""The vectors of a bundle are computed once by the seed, and by no task that loads it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from server.standby.bundle import FULL, FileStore
from server.standby.replica import Replica
from session.resilience.deadline import Deadline
from tests.support.standby import bundle_of
from tests.support.store import RECORDS
from tools.store.records.catalog_file import parse


class Listening:
    """An embedder that keeps what it was asked for."""

    name, dimensions = "listening", 4

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        self.asked += texts
        return np.full((len(texts), 4), 0.5, np.float32)


async def test_loading_task_uses_the_vectors_of_the_bundle_and_leaves_no_file(tmp_path: Path) -> None:
    bundle, scratch, seed, task = tmp_path / "standby.bundle", tmp_path / "scratch", Listening(), Listening()
    scratch.mkdir()
    records = parse("".join(f"{json.dumps(each)}\n" for each in RECORDS).encode())
    await bundle_of(bundle, records, seed)
    assert len(seed.asked) > len(records)
    kind = FULL.encode().decode()  # a setting is another string, as the environment's are
    replica = Replica(FileStore(bundle), kind, task, scratch)
    assert await replica.look()
    assert replica.current is not None
    try:
        assert await replica.current.catalog.wait_for_vectors()
    finally:
        await replica.current.opened.aclose()
    assert task.asked == ["warm up"]
    assert list(scratch.iterdir()) == []
