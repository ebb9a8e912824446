"""What a process has made before it serves."""

from __future__ import annotations

from server.config.settings import Settings
from tests.support.inprocess import in_process


async def test_the_first_call_finds_the_tables_of_the_words_made() -> None:
    """They take half a second, which a customer would wait for."""
    async with in_process(settings=Settings()) as server:
        assert server.app.pipeline.store.reader._made is not None
