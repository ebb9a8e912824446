"""A test that measures runs alone, and is not kept waiting for ever by others."""

from __future__ import annotations

import fcntl
from pathlib import Path
from threading import Thread

from tests.support.alone import turn
from tests.support.process import until

SECONDS = 30.0


def is_taken(lock: Path) -> bool:
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


async def test_exclusive_test_waits_for_running_ones_and_precedes_later_ones(tmp_path: Path) -> None:
    """Locks belong to open files, so threads can stand for processes here."""
    went: list[str] = []

    def go(name: str) -> None:
        with turn(tmp_path, alone=name == "alone"):
            went.append(name)

    threads = {name: Thread(target=go, args=(name,), daemon=True) for name in ("beside", "alone", "later")}
    with turn(tmp_path, alone=False):
        threads["beside"].start()
        threads["beside"].join(SECONDS)
        threads["alone"].start()
        await until(lambda: is_taken(tmp_path / "next"), SECONDS, "it waits for its turn")
        threads["later"].start()
        assert went == ["beside"]
    for thread in threads.values():
        thread.join(SECONDS)
    assert went == ["beside", "alone", "later"]
