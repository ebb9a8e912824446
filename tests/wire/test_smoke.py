"""`infra/smoke.sh` succeeds against a healthy server and fails against a wrong one."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

from tests.support.listed import LISTED
from tests.support.serving import ROOT, Serving

Serve = Callable[..., Serving]
BOUND_SECONDS = 120


def smoke(url: str, temporary: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """What a person sees who runs it; whatever it leaves behind would be in `temporary`."""
    return subprocess.run(
        ["sh", "infra/smoke.sh", url],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(temporary), **environment},
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
    )


def open_streams(url: str) -> float:
    with urlopen(f"{url}/metrics", timeout=30) as response:
        lines = response.read().decode().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("manga_sse_streams ")))


def test_smoke_script_calls_every_tool_and_succeeds(server: Serving, tmp_path: Path) -> None:
    """It exits with 0 and prints a line per tool, and the refusal of the wrong call in words."""
    done = smoke(server.url, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("all well\n")
    called = re.findall(r"^call (\w+)", (ROOT / "infra/smoke.sh").read_text("utf-8"), re.MULTILINE)
    missing = set(LISTED) - set(called)
    assert len(missing) <= 1, "a tool that was just added needs no line of its own there"
    assert set(called) <= set(LISTED)
    for name in called:
        assert f"\n{name} {{" in done.stdout
    assert done.stdout.count("ms of the turn left") == len(called) - 1, "all but the wrong one"
    listed = next(line for line in done.stdout.splitlines() if line.startswith("tools "))
    assert listed.split()[1:] == list(LISTED)
    assert "VALIDATION_ERROR -32602" in done.stdout
    assert "One Piece" in done.stdout


def test_smoke_script_leaves_no_stream_and_no_temporary_file(server: Serving, tmp_path: Path) -> None:
    """The stream is closed and the temporary folder is gone when the script has ended."""
    before = open_streams(server.url)
    smoke(server.url, tmp_path)
    assert list(tmp_path.iterdir()) == []
    give_up = time.monotonic() + 10
    while open_streams(server.url) > before:
        assert time.monotonic() < give_up, "the stream is still open"


def test_smoke_script_fails_with_one_sentence_without_a_server(tmp_path: Path) -> None:
    """The port is free: one sentence with the remedy, exit status 1, and no files left."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    done = smoke(f"http://127.0.0.1:{port}", tmp_path)
    assert done.returncode == 1
    assert "no event stream" in done.stderr
    assert "make run" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_smoke_script_fails_when_a_tool_is_off(serve: Serve, tmp_path: Path) -> None:
    """Orders are off: the script reports the unexpected answer, goes on, and ends with status 1."""
    flags = tmp_path / "flags.json"
    flags.write_text(json.dumps({"lookup_order": False}), "utf-8")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = smoke(serve(MANGA_FLAGS_URL=flags.as_uri()).url, temporary)
    assert done.returncode == 1
    assert done.stdout.count("NOT AS EXPECTED") == 2, done.stdout  # in the list, and when it is called
    assert "VALIDATION_ERROR -32602" in done.stdout, "it stopped before the last call"


def test_smoke_script_reports_a_session_that_could_not_be_deleted(serve: Serve, tmp_path: Path) -> None:
    """Without Redis the server answers 503, which is not reported as success."""
    done = smoke(serve(MANGA_REDIS_URL="redis://127.0.0.1:9").url, tmp_path)
    assert done.returncode == 1
    assert "the session is forgotten" not in done.stdout
    assert "NOT AS EXPECTED: the session was to be forgotten (204), and the server answered 503" in done.stdout, done.stdout


def test_smoke_script_sends_its_token(serve: Serve, tmp_path: Path) -> None:
    """Every request carries SMOKE_TOKEN; without the right one no stream opens."""
    url = serve(MANGA_AUTH="token", MANGA_AUTH_TOKENS="correct-horse").url
    for token, status in (("correct-horse", 0), ("wrong", 1), ("", 1)):
        done = smoke(url, tmp_path, SMOKE_TOKEN=token)
        assert done.returncode == status, (token, done.stdout + done.stderr)
