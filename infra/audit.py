"""Checks every locked package for known vulnerabilities in OSV (https://osv.dev), with pip-audit.

`python infra/audit.py [LOCK...]` exits with 1 if a package has a vulnerability that is not in `ACCEPTED`, and with 0 and a
message if OSV cannot be reached. `--osv-url URL` asks another server. The run ends within `PROBE_SECONDS` plus
`LOCK_SECONDS` for each lock, even if the network hangs."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

OSV = "https://api.osv.dev/v1/query"
PROBE_SECONDS = 15.0
LOCK_SECONDS = 180.0
SOCKET_SECONDS = 10

# A request that OSV answers with JSON; any other answer is a proxy's.
PROBE = """
import sys, requests
asked = {"package": {"name": "pip", "ecosystem": "PyPI"}, "version": "1.0"}
answer = requests.post(sys.argv[1], json=asked, timeout=float(sys.argv[2]))
answer.raise_for_status()
answer.json()
"""

OWN_AUDIENCE = "our own verifier checks the audience (server/identity/jwt); the SDK's backend for bearers is not used"
ONLY_A_CLIENT = "in the SDK's server, and only its client runs in this environment"
SERVER = {"CVE-2026-116684": OWN_AUDIENCE}
CLIENT = {"CVE-2026-59951": ONLY_A_CLIENT, "CVE-2026-116684": ONLY_A_CLIENT}
ACCEPTED: dict[str, dict[str, str]] = {
    "requirements.lock": SERVER,
    "requirements-dev.lock": SERVER,
    "requirements-sbom.lock": {},
    "tests/mutants/requirements.lock": {},
    "infra/agent/requirements.lock": CLIENT,
    "tests/wire/clients/strands-before.lock": {},
    "tests/wire/clients/openai-agents.lock": CLIENT,
    "tests/wire/clients/mcp-1.lock": CLIENT,
    "tests/evals/requirements.lock": CLIENT,
    "tests/quality/tokens/tokenizers.lock": {},
    "infra/cdk/requirements.lock": {},
}
"""Accepted vulnerabilities of each lock, with the reason why they do no harm."""


def unreachable(url: str) -> str | None:
    """Returns why OSV does not answer, or None. A subprocess asks, since only that limits the time of a DNS look-up."""
    command = [sys.executable, "-c", PROBE, url, str(SOCKET_SECONDS)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer within {PROBE_SECONDS:g} s"
    return _last_line(done.stderr) if done.returncode else None


def audit(lock: Path, accepted: Sequence[str], url: str) -> bool:
    """Prints a lock's known vulnerabilities; returns whether all are accepted. False if pip-audit fails or times out."""
    ignored = [f"--ignore-vuln={each}" for each in accepted]
    options = ["--vulnerability-service=osv", f"--osv-url={url}", f"--timeout={SOCKET_SECONDS}", "--progress-spinner=off"]
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", f"--requirement={lock}", *options]
    print(f"{lock}:", flush=True)
    try:
        done = subprocess.run([*command, *ignored], capture_output=True, text=True, timeout=LOCK_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        print(f"  not answered within {LOCK_SECONDS:g} s", file=sys.stderr)
        return False
    print(done.stdout or _last_line(done.stderr), flush=True)
    return done.returncode == 0


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1][:300]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python infra/audit.py", description="Known weaknesses of the locked packages.")
    parser.add_argument("locks", nargs="*", type=Path, default=[Path(each) for each in ACCEPTED])
    parser.add_argument("--osv-url", default=OSV)
    asked = parser.parse_args(arguments)
    if (why := unreachable(asked.osv_url)) is not None:
        print(f"SKIPPED: OSV cannot be reached, so nothing was checked: {why}")
        return 0
    sound = [audit(lock, tuple(ACCEPTED.get(str(lock), ())), asked.osv_url) for lock in asked.locks]
    return 0 if all(sound) else 1


if __name__ == "__main__":
    raise SystemExit(main())
