"""Nothing on the event loop blocks on a disk, a name or a process, since every other call would wait too."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support.serving import ROOT, clean_environment


def test_conversation_opens_no_file_and_resolves_no_name_on_the_event_loop(tmp_path: Path, cache: Path) -> None:
    """Every tool, rightly and wrongly, cold and warm, with the audit, the flags and the probes; the last thing that is seen is
    what the script does on purpose."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.blocking", str(tmp_path)],
        cwd=ROOT,
        env=clean_environment(cache),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    *seen, on_purpose = json.loads(done.stdout)
    assert on_purpose[0] == "open"
    assert on_purpose[1].endswith("tests/support/blocking.py")
    assert seen == []
    assert "VALIDATION_ERROR" not in (tmp_path / "audit.jsonl").read_text().splitlines()[0]
