"""`make audit` reports a known vulnerability and an unreachable OSV, which a local server plays."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from infra.audit import ACCEPTED, PROBE_SECONDS
from infra.lock import LOCKS
from tests.support.environments import ROOT, python_of

Json = dict[str, Any]
BOUND_SECONDS = 60
HASH = "0" * 64
LOCK = f"""six==1.16.0 \\
    --hash=sha256:{HASH}
mcp==2.1.1 \\
    --hash=sha256:{HASH}
"""
KNOWN: Json = {
    "id": "GHSA-xxxx-xxxx-xxxx",
    "aliases": ["CVE-2026-59951"],
    "summary": "Sessions that ended are kept.",
    "affected": [
        {
            "package": {"name": "mcp", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "2.2.0"}]}],
        }
    ],
}


def knows_of_mcp(asked: Json) -> Json:
    return {"vulns": [KNOWN]} if (asked["package"]["name"], asked["version"]) == ("mcp", "2.1.1") else {}


@contextmanager
def osv(answer: Callable[[Json], Json] | None) -> Iterator[str]:
    """The address of a server that answers each question so; with None, of something that only says 403."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            body = json.dumps(answer(asked)).encode() if answer else b"forbidden"
            self.send_response(200 if answer else 403)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1/query"
        finally:
            server.shutdown()


def audited(url: str, lock: Path) -> subprocess.CompletedProcess[str]:
    command = [str(python_of("sbom")), "infra/audit.py", "--osv-url", url, str(lock)]
    own = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=BOUND_SECONDS, check=False)


def written(folder: Path) -> Path:
    lock = folder / "some.lock"
    lock.write_text(LOCK, "utf-8")
    return lock


def test_every_lock_file_is_audited() -> None:
    assert ACCEPTED.keys() == LOCKS.keys()
    assert all((ROOT / each).is_file() for each in ACCEPTED)


def test_known_vulnerability_fails_the_audit_and_is_named(tmp_path: Path) -> None:
    with osv(knows_of_mcp) as url:
        done = audited(url, written(tmp_path))
    assert done.returncode == 1
    assert ["mcp", "2.1.1", "CVE-2026-59951", "2.2.0"] in [line.split() for line in done.stdout.splitlines()]


def test_vulnerability_accepted_for_one_lock_does_not_fail_its_audit() -> None:
    """The agent's SDK is older and only a client; the acceptance is listed by the lock's name."""
    with osv(lambda asked: {"vulns": [KNOWN]} if asked["package"]["name"] == "mcp" else {}) as url:
        agents = audited(url, Path("infra/agent/requirements.lock"))
        servers = audited(url, Path("requirements.lock"))
    assert (agents.returncode, servers.returncode) == (0, 1), agents.stdout + servers.stdout


def test_audit_without_known_vulnerabilities_passes(tmp_path: Path) -> None:
    with osv(lambda asked: {}) as url:
        done = audited(url, written(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SKIPPED" not in done.stdout


@pytest.mark.slow  # waits for addresses that do not answer
def test_unreachable_osv_is_reported_as_skipped(tmp_path: Path) -> None:
    """A refused connection, another kind of server and a hanging one are tried, each within its time limit."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        silent = audited(f"http://127.0.0.1:{port}/", written(tmp_path))
    refused = audited(f"http://127.0.0.1:{port}/", written(tmp_path))
    with osv(None) as url:
        forbidden = audited(url, written(tmp_path))
    for done in (silent, refused, forbidden):
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("SKIPPED: OSV cannot be reached, so nothing was checked: ")
    assert PROBE_SECONDS < BOUND_SECONDS
