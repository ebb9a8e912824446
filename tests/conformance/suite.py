"""The official conformance suite against a server, and what it found.

Which scenarios a version of the protocol requires (scored) is said by the suite itself, in its `requirements`; the others of
`--suite all` are run and reported as well.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.installed import Node

PACKAGE = Path("@modelcontextprotocol/conformance")
VERSIONS = ("2025-11-25", "2026-07-28")
SECONDS = 100


@dataclass(frozen=True, slots=True)
class Scenario:
    """Checks by name; of those that are not met, recommended ones among them, with what the suite said."""

    met: frozenset[str]
    unmet: Mapping[str, str]


async def run(node: Node, url: str, version: str, folder: Path) -> dict[str, Scenario]:
    """Every scenario of one protocol version. Raises AssertionError when the suite itself did not run to its end."""
    options = ["--url", f"{url}/mcp", "--suite", "all", "--spec-version", version, "-o", str(folder)]
    command = [*node.script(f"{PACKAGE}/dist/index.js"), "server", *options]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, cwd=folder, stdout=pipe, stderr=asyncio.subprocess.STDOUT)
    try:
        said, _ = await asyncio.wait_for(process.communicate(), SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert b"=== SUMMARY ===" in said, said.decode("utf-8", "replace")[-4000:]
    return {_name(path): _scenario(json.loads(path.read_text("utf-8"))) for path in sorted(folder.glob("*/checks.json"))}


def scored(node: Node, version: str) -> frozenset[str]:
    """Names the scenarios that this version requires of a server."""
    file = node.folder / "node_modules" / PACKAGE / "requirements" / f"{version}.yaml"
    return frozenset(yaml.safe_load(file.read_text("utf-8"))["server"])


def _name(path: Path) -> str:
    """`server-ping-2026-11-21T22-51-40-701Z/checks.json` is of the scenario `ping`."""
    return path.parent.name.removeprefix("server-").rsplit("-", 6)[0]


def _scenario(checks: list[dict[str, Any]]) -> Scenario:
    unmet = {
        check["id"]: str(check.get("errorMessage", "")) for check in checks if check["status"] in ("FAILURE", "WARNING")
    }
    return Scenario(frozenset(check["id"] for check in checks if check["status"] == "SUCCESS") - set(unmet), unmet)
