"""Writes the lock files from pyproject.toml: pinned and hashed, for every platform.

`python infra/lock.py --check` exits with 1 if a lock no longer matches pyproject.toml. The locks name no package registry,
so each machine uses the registry that it is configured for."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

# The second lock is constrained to the versions of the first, so that the tests run what is shipped. All other locks are
# for separate environments.
LOCKS = {
    "requirements-dev.lock": ("pyproject.toml", "--group", "dev"),
    "requirements.lock": ("pyproject.toml", "--constraint", "requirements-dev.lock"),
    "requirements-sbom.lock": ("--group", "sbom"),
    "tests/mutants/requirements.lock": ("--group", "mutants"),
    "infra/agent/requirements.lock": ("--group", "agent"),
    "tests/wire/clients/strands-before.lock": ("--group", "agent-before", "--no-deps"),
    "tests/wire/clients/openai-agents.lock": ("--group", "openai-agents"),
    "tests/wire/clients/mcp-1.lock": ("--group", "mcp-1"),
    "tests/evals/requirements.lock": ("--group", "evals"),
    "tests/quality/tokens/tokenizers.lock": ("--group", "tokenizers"),
    "infra/cdk/requirements.lock": ("--group", "cdk"),
}
COMPILE = ("pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-header", "--no-annotate")


def compile_lock(output: Path, what: tuple[str, ...]) -> None:
    """Writes a lock file. Keeps versions in `output` that still satisfy pyproject.toml. Raises SystemExit if uv fails."""
    command = [sys.executable, "-m", "uv", *COMPILE, "--python-version", "3.11", *what]
    done = subprocess.run([*command, "--output-file", str(output)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{output.name} cannot be made:\n{done.stderr[-2000:]}")


def is_current(lock: Path, what: tuple[str, ...]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / lock.name
        copy.write_bytes(lock.read_bytes())
        compile_lock(copy, what)
        return copy.read_bytes() == lock.read_bytes()


def main() -> int:
    if "--check" not in sys.argv[1:]:
        for name, what in LOCKS.items():
            compile_lock(Path(name), what)
        return 0
    old = [name for name, what in LOCKS.items() if not is_current(Path(name), what)]
    for name in old:
        print(f"{name} is not what pyproject.toml asks for; run: make lock", file=sys.stderr)
    return 1 if old else 0


if __name__ == "__main__":
    raise SystemExit(main())
