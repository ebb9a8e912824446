"""Runs the tests; the few that fail are run once more by themselves, and named if they pass then.

Two processes of tests share two processors with every server that they start. A test that fails there and passes alone is
unsteady: a fault of the test, nearly always, that is to be mended, but none of the change that is being tested. More than a few
failures are no such thing, and fail as they are.

    python -m tests.again [arguments of pytest]
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

MOST = 3
CACHE = Path(".cache", "pytest")
FAILED = CACHE / "v" / "cache" / "lastfailed"
TESTS_FAILED = 1
"""pytest's exit code where tests ran and some failed; every other but 0 says that they could not be run."""


def main(arguments: Sequence[str]) -> int:
    FAILED.unlink(missing_ok=True)
    code = pytest(*arguments)
    failed = list(json.loads(FAILED.read_bytes())) if code == TESTS_FAILED and FAILED.exists() else []
    if not 0 < len(failed) <= MOST:
        return code
    print(f"\nonce more, by themselves: {len(failed)} that failed", flush=True)
    if (code := pytest("-n0", *failed)) == 0:
        print(f"\nUNSTEADY, to be mended: failed beside others and passed alone: {', '.join(failed)}", flush=True)
    return code


def pytest(*arguments: str) -> int:
    return subprocess.call([sys.executable, "-m", "pytest", "-q", "-o", f"cache_dir={CACHE}", *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
