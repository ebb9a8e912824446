"""The thread switch interval is short enough for the event loop beside computing threads."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, NoReturn

import pytest

from server.commands import serve
from server.config.settings import Settings


async def test_server_sets_a_tenth_of_the_default_thread_switch_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """With Python's own interval a dozen callers of recommendations made another's order wait for half a second."""
    usual, found = sys.getswitchinterval(), list[float]()

    class Opened(Exception):
        pass

    def opens(*_: Any, **__: Any) -> NoReturn:
        found.append(sys.getswitchinterval())
        raise Opened

    monkeypatch.setattr(serve, "open_app", opens)
    listening = serve.Listening(Settings(), 0, [], opens, lambda *_: None)  # type: ignore[arg-type]
    try:
        with pytest.raises(Opened):
            await serve.serve_on(listening, asyncio.Event())
    finally:
        sys.setswitchinterval(usual)
    assert found[0] <= usual / 9
