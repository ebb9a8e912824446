"""Writes requirements.lock and requirements-dev.lock from pyproject.toml: pinned and hashed, for every platform.

`python infra/lock.py --check` says, with exit status 1, when one of them no longer is what pyproject.toml asks for. The
locks name no registry, so each machine uses its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

# The second is held to the versions of the first: what is shipped is what the tests run.
LOCKS = {
    "requirements-dev.lock": ("--group", "dev"),
    "requirements.lock": ("--constraint", "requirements-dev.lock"),
}
COMPILE = ("pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-header", "--no-annotate")


def compile_lock(output: Path, groups: tuple[str, ...]) -> None:
    """Versions already in `output` are kept as long as they satisfy pyproject.toml."""
    command = [sys.executable, "-m", "uv", *COMPILE, "--python-version", "3.11", "pyproject.toml", *groups]
    done = subprocess.run([*command, "--output-file", str(output)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{output.name} cannot be made:\n{done.stderr[-2000:]}")


def is_current(lock: Path, groups: tuple[str, ...]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / lock.name
        copy.write_bytes(lock.read_bytes())
        compile_lock(copy, groups)
        return copy.read_bytes() == lock.read_bytes()


def main() -> int:
    if "--check" not in sys.argv[1:]:
        for name, groups in LOCKS.items():
            compile_lock(Path(name), groups)
        return 0
    old = [name for name, groups in LOCKS.items() if not is_current(Path(name), groups)]
    for name in old:
        print(f"{name} is not what pyproject.toml asks for; run: make lock", file=sys.stderr)
    return 1 if old else 0


if __name__ == "__main__":
    raise SystemExit(main())
