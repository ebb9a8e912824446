"""Signals as make, terminals and supervisors send them."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.support.serving import STOP_SECONDS, start


def test_signals_that_come_together_are_one(tmp_path: Path, cache: Path) -> None:
    """A signal to the whole group reaches the server from its sender and again from make: the end is still a gentle one.

    Two different signals, because the kernel may merge equal ones.
    """
    serving = start(tmp_path, cache, MANGA_EMBEDDER="none")
    serving.process.send_signal(signal.SIGTERM)
    serving.process.send_signal(signal.SIGINT)
    try:
        assert serving.process.wait(STOP_SECONDS) == 0, serving.log
    finally:
        serving.kill()
