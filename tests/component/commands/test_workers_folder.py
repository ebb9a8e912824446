"""The folder of sockets: the one of a killed supervisor is removed, and one in use stays."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import pytest

from server.commands.workers.supervise import PREFIX
from session.redis.embedded import LOCK, own_folder


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_folder_is_removed_with_its_supervisor_and_kept_while_in_use(tmp_path: Path) -> None:
    with own_folder(PREFIX) as first:
        with own_folder(PREFIX) as second:
            assert first.is_dir()
            assert second.is_dir()
            assert first != second
        assert list(tmp_path.iterdir()) == [first]
    assert list(tmp_path.iterdir()) == []


def test_folder_of_a_killed_supervisor_is_removed_by_the_next_start(tmp_path: Path) -> None:
    """It is removed once the last worker has ended, because workers hold the lock too."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:  # a supervisor, which is killed in the middle
        with own_folder(PREFIX):
            os.write(write, b".")
            signal.pause()
    os.read(read, 1)
    (left,) = tmp_path.iterdir()
    with own_folder(PREFIX):
        assert left.is_dir()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert left.is_dir()
    with own_folder(PREFIX) as own:
        assert list(tmp_path.iterdir()) == [own]
    os.close(read)
    os.close(write)


def test_folder_without_a_lock_and_a_symbolic_link_are_left_alone(tmp_path: Path) -> None:
    """A folder without a lock may be under construction, and a link leads elsewhere."""
    made, free = tmp_path / f"{PREFIX}made", tmp_path / "somebody-else-s"
    made.mkdir()
    free.mkdir()
    (free / LOCK).touch()
    (tmp_path / f"{PREFIX}link").symlink_to(free)
    with own_folder(PREFIX):
        assert made.is_dir()
        assert (free / LOCK).exists()
