"""`python -m tests.support.record_aws_calls`: runs the tests of the adapters and writes what they asked of AWS (five minutes)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.aws_calls import FILE, RECORD

SUITES = ("tests/contract", "tests/component/standby/test_places.py", "tests/unit/session/test_redis_iam.py")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made"
        pytest = [sys.executable, "-m", "pytest", "-n0", "-q", *SUITES]
        status = subprocess.run(pytest, env={**os.environ, RECORD: str(made)}, check=False).returncode
        if status == 0:
            lines = sorted(set(made.read_text("utf-8").splitlines()))
            FILE.write_text(json.dumps([json.loads(line) for line in lines], indent=1) + "\n", "utf-8")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
