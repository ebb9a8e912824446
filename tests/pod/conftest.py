"""Two images and the pods that are made of them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.pod import engine as engines
from tests.pod.engine import Engine
from tests.pod.images import build_both
from tests.pod.pod import Pod, running
from tests.stack.require import require


@pytest.fixture(scope="session")
def engine() -> Engine:
    """With both images built."""
    if os.environ.get("MANGA_TEST_POD") != "1":
        pytest.skip("it builds two images and runs them in pods: make pod")
    require("container engine", engines.problem())
    opened = Engine.opened()
    for line in build_both(opened):
        print(line)
    return opened


@pytest.fixture(scope="module")
def pod(engine: Engine) -> Iterator[Pod]:
    """One that the tests of a file share, and leave as they found it."""
    with running(engine, "manga-pod") as made:
        yield made
