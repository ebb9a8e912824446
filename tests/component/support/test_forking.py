"""Servers that tests start are forks, and processes like any other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.process import command_of, environment
from tests.support.serving import start

SERVER = [sys.executable, "-m", "server"]
pytestmark = pytest.mark.skipif(os.environ.get("MANGA_TEST_EXEC"), reason="MANGA_TEST_EXEC: no server is forked")


def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SERVER, *words], env=environment() | variables, capture_output=True, text=True, timeout=60)


def test_forked_command_has_its_own_arguments_output_and_exit_status() -> None:
    assert run("--version").stdout.strip().count(".") == 2
    wrong = run("call", "no_such_tool")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "no tool 'no_such_tool'" in wrong.stderr
    assert "MANGA_PORT" in run(MANGA_PORT="no-port").stderr


def test_forked_server_is_a_child_that_a_signal_ends(tmp_path: Path) -> None:
    server = start(tmp_path, tmp_path, MANGA_EMBEDDER="none")
    try:
        assert "forking" in command_of(server.pid)
        assert f"PPid:\t{os.getpid()}\n" in Path(f"/proc/{server.pid}/status").read_text()
    finally:
        server.process.send_signal(signal.SIGKILL)
        assert server.process.wait(15) == -signal.SIGKILL


def test_another_environment_for_python_starts_the_interpreter() -> None:
    with subprocess.Popen([*SERVER, "serve"], env=environment() | {"PYTHONHASHSEED": "1"}, stderr=subprocess.PIPE) as plain:
        command = command_of(plain.pid)
        plain.kill()
    assert "forking" not in command
