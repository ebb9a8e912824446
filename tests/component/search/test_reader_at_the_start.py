"""Word tables are built before a process serves."""

from __future__ import annotations

from server.config.settings import Settings
from tests.support.inprocess import in_process


async def test_word_tables_are_built_before_the_first_call() -> None:
    """Building them takes half a second, which the first customer would wait for."""
    async with in_process(settings=Settings()) as server:
        assert server.app.pipeline.store.reader._made is not None
