"""A server from which the cards were taken out, for comparison."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.rooms import without_room
from tests.support.serving import Serving, served

SETTINGS = {"MANGA_EMBEDDER": "none", "MANGA_WEBSOCKET": "on"}


@pytest.fixture(scope="module")
def bare_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return without_room("tools/cards", "server/wiring.py", "cards", tmp_path_factory.mktemp("tree") / "code")


@pytest.fixture(scope="module")
def bare(bare_tree: Path, tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Serving]:
    """It starts and serves, of which its tests are the proof."""
    with served(tmp_path_factory.mktemp("bare"), cache, tree=bare_tree, **SETTINGS) as serving:
        yield serving


@pytest.fixture(scope="module")
def whole(with_websocket: Serving) -> Serving:
    return with_websocket
