"""Writes the kept pictures that differ anew: `python -m tests.browser.update [arguments of pytest]`. Look at each that changed."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.browser.kept import WRITE

if __name__ == "__main__":
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "tests/browser", *sys.argv[1:]]
    sys.exit(subprocess.call(command, env={**os.environ, WRITE: "1"}))
