"""docker-compose.yml and the observability folder, as the tests of both read them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from server.config.settings import ROOT
from tests.stack.require import require

OBSERVABILITY = ROOT / "infra/observability"


def tool(name: str) -> str:
    """A program that a wheel of the test requirements brought along."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    require(name, None if found else "it is not installed with requirements-dev.lock")
    assert found is not None
    return found


def composed(**environment: str) -> dict[str, Any]:
    """Every service, as Compose understands the file, in an environment without settings."""
    return _understood(**environment)["services"]  # type: ignore[no-any-return]


def composed_networks() -> dict[str, Any]:
    return _understood()["networks"]  # type: ignore[no-any-return]


@cache
def _understood(**environment: str) -> dict[str, Any]:
    clean = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | environment
    profiles = ("--profile", "observability", "--profile", "agent", "--profile", "chat")
    # An .env of whoever runs this is none of the test's affair.
    command = [tool("docker-compose"), "--env-file", os.devnull, *profiles, "config", "--format", "json"]
    done = subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def named(expression: str) -> set[str]:
    return set(re.findall(r"\b(?:manga|process)_\w+", expression))
