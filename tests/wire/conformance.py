"""The official conformance suite against a server, and what is known of it: `python -m tests.wire.conformance URL`.

Scenarios that ask for the suite's own fixture tools, or for a part of the protocol that this server does not have, are
listed in `conformance.json` with the reason and the checks that fail. Everything else has to pass; a listed check that
passes is reported too, so that the list never says less than is true.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import installed

BASELINE = Path(__file__).with_name("conformance.json")
VERSIONS = ("2025-11-25", "2026-07-28")
SECONDS = 240
APPLY_TO_ANY_SERVER = {
    "2025-11-25": {
        "server-initialize",
        "server-session-lifecycle",
        "ping",
        "tools-list",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
    },
    "2026-07-28": {
        "server-stateless",
        "tools-list",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
        "http-header-validation",
        "sep-2164-resource-not-found",
        "input-required-result-unsupported-methods",
    },
}


@dataclass(frozen=True, slots=True)
class Scenario:
    """Checks by name; of the failed ones with what the suite said."""

    passed: frozenset[str]
    failed: Mapping[str, str]


def run(node: installed.Node, url: str, version: str, folder: Path) -> dict[str, Scenario]:
    """Every scenario of one protocol version. Raises AssertionError when the suite itself did not run to its end."""
    suite = node.script("@modelcontextprotocol/conformance/dist/index.js")
    options = ["--url", f"{url}/mcp", "--suite", "all", "--spec-version", version, "-o", str(folder)]
    done = subprocess.run([*suite, "server", *options], cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    assert "=== SUMMARY ===" in done.stdout, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return {_name(path): _scenario(json.loads(path.read_text("utf-8"))) for path in sorted(folder.glob("*/checks.json"))}


def _name(path: Path) -> str:
    """`server-ping-2026-11-21T22-51-40-701Z/checks.json` is of the scenario `ping`."""
    return path.parent.name.removeprefix("server-").rsplit("-", 6)[0]


def _scenario(checks: list[dict[str, Any]]) -> Scenario:
    failed = {check["id"]: str(check.get("errorMessage", "")) for check in checks if check["status"] == "FAILURE"}
    passed = frozenset(check["id"] for check in checks if check["status"] == "SUCCESS") - set(failed)
    return Scenario(passed, failed)


def baseline() -> dict[str, dict[str, Any]]:
    """By version, then by scenario: `reason` and `checks`."""
    return dict(json.loads(BASELINE.read_text("utf-8")))


def surprises(found: Mapping[str, Scenario], known: Mapping[str, Any], applicable: set[str]) -> list[str]:
    """A line for each thing that is not as the baseline says."""
    lines = [f"{name}: did not run" for name in sorted((set(known) | applicable) - set(found))]
    for name, scenario in found.items():
        expected = set(known[name]["checks"]) if name in known else set()
        lines += [f"{name}: {check} fails: {scenario.failed[check]}" for check in sorted(set(scenario.failed) - expected)]
        lines += [f"{name}: {check} passes, take it off the list" for check in sorted(expected - set(scenario.failed))]
    lines += [f"{name}: nothing was checked" for name in sorted(applicable & set(found)) if not found[name].passed]
    return lines


def main(url: str) -> int:
    """Prints the surprises; exit status 1 when there are any."""
    status = 0
    for version in VERSIONS:
        with tempfile.TemporaryDirectory() as folder:
            found = run(installed.node(), url, version, Path(folder))
        lines = surprises(found, baseline()[version], APPLY_TO_ANY_SERVER[version])
        checks = sum(len(scenario.passed) for scenario in found.values())
        print(f"{version}: {len(found)} scenarios, {checks} checks passed, {len(lines)} surprises", *lines, sep="\n  ")
        status |= bool(lines)
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
