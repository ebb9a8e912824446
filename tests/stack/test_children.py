"""A server that a test started goes when the test goes, however it goes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.stack import artefacts
from tests.stack.artefacts import Artefact, StackError
from tests.stack.children import child, free_port
from tests.stack.java import java_home
from tests.stack.require import require

ENDS_SECONDS = 10.0
SLEEPER = [sys.executable, "-c", "import signal; signal.pause()"]
STARTER = """
import sys, signal
from pathlib import Path
from tests.stack.children import child
with child("sleeper", [sys.executable, "-c", "import signal; signal.pause()"], Path(sys.argv[1])) as running:
    print(running.pid, flush=True)
    signal.pause()
"""


def gone(pid: int) -> bool:
    """Ended, or only waiting to be counted by whoever inherited it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_a_parent_killed_hard_takes_its_server_along(tmp_path: Path) -> None:
    """SIGKILL leaves the parent no time for anything; the system does it."""
    command = [sys.executable, "-c", STARTER, str(tmp_path / "said.log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        pid = int(parent.stdout.readline())
        assert not gone(pid)
        parent.send_signal(signal.SIGKILL)
        parent.wait(ENDS_SECONDS)
    until = time.monotonic() + ENDS_SECONDS
    while not gone(pid):
        assert time.monotonic() < until, f"process {pid} outlived its parent"
        time.sleep(0.02)


def test_a_server_that_ends_at_once_is_told_with_its_last_words(tmp_path: Path) -> None:
    """Nobody waits for a start that has already failed."""
    command = [sys.executable, "-c", "import sys; sys.exit('no such disk')"]
    with (
        pytest.raises(StackError, match="no such disk"),
        child("teller", command, tmp_path / "said.log") as running,
    ):
        running.wait_until(lambda: False, ENDS_SECONDS)


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can become somebody else")
def test_a_server_that_refuses_root_runs_as_nobody(tmp_path: Path) -> None:
    """User, group and other groups all change, and it still goes with its parent."""
    with child("sleeper", SLEEPER, tmp_path / "said.log", unprivileged=True) as running:
        status = Path(f"/proc/{running.pid}/status")
        running.wait_until(lambda: "Uid:\t65534\t65534" in status.read_text(), ENDS_SECONDS)
        assert "Gid:\t65534\t65534" in status.read_text()
    assert gone(running.pid)


def test_a_file_with_another_checksum_is_refused_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is used that the list does not vouch for."""
    monkeypatch.setenv("MANGA_STACK_CACHE", str(tmp_path))
    lock = tmp_path / "artefacts.lock"
    lock.write_text(f"toys org.example:toy:1.0:jar {'0' * 64}\n")
    monkeypatch.setattr(artefacts, "LOCK", lock)
    toy = Artefact.parse("org.example:toy:1.0:jar", "").path
    toy.parent.mkdir(parents=True)
    toy.write_bytes(b"not what was listed")
    with pytest.raises(StackError, match="SHA-256"):
        artefacts.fetch("toys")
    assert not toy.exists()
    assert not artefacts.is_fetched("toys")


def test_every_listed_file_has_a_whole_checksum_and_a_set_that_is_used() -> None:
    """The list can be read to its end, and names no file twice."""
    rows = [line.split() for line in artefacts.LOCK.read_text().splitlines() if not line.startswith("#")]
    assert all(len(row) == 3 and row[1].count(":") in (3, 4) and len(bytes.fromhex(row[2])) == 32 for row in rows)
    assert len({row[1] for row in rows}) == len(rows)
    assert {row[0] for row in rows} == {"opensearch-3.6.0", "dynamodb-local", "zipkin"}


def test_a_java_that_is_too_old_is_told_with_what_there_is() -> None:
    """The reason names the version wanted."""
    with pytest.raises(StackError, match="needs java 999 or newer; here: "):
        java_home(999)


def test_a_missing_server_fails_in_ci_and_skips_elsewhere_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """A green run in CI has seen the real thing."""
    require("toy", None)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no real toy here: broken"):
        require("toy", "broken")
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="no real toy here: broken"):
        require("toy", "broken")


def test_a_free_port_is_free_with_its_companions() -> None:
    """A cluster's bus port is looked at too."""
    port = free_port(10_000)
    assert 20_000 <= port < 30_000
