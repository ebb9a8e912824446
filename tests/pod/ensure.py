"""Installs what the pod test needs, once: `python3 -m tests.pod.ensure`. Needs the standard library only.

Debian packages, where this is root on a machine with apt-get; elsewhere it says what is missing, with exit status 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from tests.pod.engine import PACKAGES, problem

APT_SECONDS = 600
WAIT = "DPkg::Lock::Timeout=300"
"""Seconds for whoever else is installing packages to be done."""


def main() -> int:
    if problem() is None:
        return 0
    if os.geteuid() == 0 and shutil.which("apt-get"):
        unasked = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for words in (("update",), ("install", "--yes", "--no-install-recommends", *PACKAGES)):
            subprocess.run(["apt-get", "-qq", "-o", WAIT, *words], env=unasked, timeout=APT_SECONDS, check=True)
    missing = problem()
    if missing:
        print(missing, file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
