"""The environments of what cannot share the server's, as `make clients` and `make sbom` leave them in .cache."""

from __future__ import annotations

from pathlib import Path

from tests.stack.require import require

ROOT = Path(__file__).resolve().parents[2]
LOCKS = {
    "clients/strands": "infra/agent/requirements.lock",
    "clients/strands-before": "tests/wire/clients/strands-before.lock",
    "clients/openai-agents": "tests/wire/clients/openai-agents.lock",
    "clients/mcp-1": "tests/wire/clients/mcp-1.lock",
    "clients/evals": "tests/evals/requirements.lock",
    "clients/tokenizers": "tests/quality/tokens/tokenizers.lock",
    "clients/cdk": "infra/cdk/requirements.lock",
    "clients/npm": "tests/wire/clients/package-lock.json",
    "sbom": "requirements-sbom.lock",
}


def problem(name: str, root: Path = ROOT) -> str | None:
    """What is wrong with an environment; None when it is the one of its lock."""
    made, lock = root / ".cache" / name / ".lock", root / LOCKS[name]
    if not made.is_file():
        return f"{made.parent.relative_to(root)} is not there; make it with: make {made.relative_to(root)}"
    if made.read_bytes() != lock.read_bytes():
        return f"it is not what {LOCKS[name]} says; make it anew with: make {made.relative_to(root)}"
    return None


def folder_of(name: str) -> Path:
    """Where it is. Without it the test fails in CI, and is skipped with the reason elsewhere."""
    require(f"environment {name}", problem(name))
    return ROOT / ".cache" / name


def python_of(name: str) -> Path:
    """Its Python."""
    return folder_of(name) / "bin" / "python"
