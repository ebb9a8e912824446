"""One server for all conversations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conversations.agent import Agent
from tests.conversations.shop import open_shop


@pytest.fixture(scope="session")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    with open_shop(tmp_path_factory.mktemp("shop")) as opened:
        yield opened
