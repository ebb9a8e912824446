"""Signals from make, terminals and supervisors end the server."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.serving import STOP_SECONDS, start


@pytest.fixture
def heeded_hangup() -> Iterator[None]:
    """Servers inherit the default action of SIGHUP, also where whoever runs the tests has it ignored, as nohup does."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def test_signals_that_arrive_together_end_the_server_once_with_status_0(tmp_path: Path, cache: Path) -> None:
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


@pytest.mark.slow  # four servers
@pytest.mark.usefixtures("heeded_hangup")
def test_sighup_and_sigusr_end_the_server_with_status_0(tmp_path: Path, cache: Path) -> None:
    """A closed terminal sends SIGHUP, and SIGUSR would kill an unprepared process; workers are tried too."""
    for workers, number in (("1", signal.SIGHUP), ("1", signal.SIGUSR1), ("1", signal.SIGUSR2), ("2", signal.SIGHUP)):
        serving = start(tmp_path, cache, MANGA_EMBEDDER="none", MANGA_WORKERS=workers)
        serving.process.send_signal(number)
        try:
            assert serving.process.wait(STOP_SECONDS) == 0, (number, serving.log)
        finally:
            serving.kill()
