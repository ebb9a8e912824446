"""How long until it serves: `python -m tests.load.start [CATALOGUE]`.

Starts the server twice with a cache of its own that is empty the first time, and a stdio server once. Prints the seconds
from the start of the process until /readyz says ready, until search by meaning is there too, and until a SIGTERM has ended
it; and until stdio has answered `initialize`. The time of a machine that does something else besides says little.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from typing import Any

from tests.load.handshake import initialize

BOUND_SECONDS = 120.0


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "MANGA_PORT": "0", "XDG_CACHE_HOME": folder}
        if len(sys.argv) > 1:
            environment["MANGA_CATALOG_FILE"] = sys.argv[1]
        for what in ("first start", "next start"):
            print(what, *(f"{name} {value}" for name, value in http_start(environment).items()), sep="  ")
        print(f"stdio        initialize {stdio_start(environment):.1f} s")
    return 0


def http_start(environment: dict[str, str]) -> dict[str, str]:
    began = time.monotonic()
    server = _started(environment)
    try:
        url = _address(server)
        ready = _until(began, lambda: _readyz(url)["status"] in ("ready", "degraded"))
        meaning = _until(began, lambda: "meaning" in _readyz(url)["dependencies"]["catalog"]["detail"])
        megabytes = _resident_megabytes(server.pid)
        ending = time.monotonic()
        server.send_signal(signal.SIGTERM)
        code = server.wait(10)
        ended = time.monotonic() - ending
    finally:
        server.kill()
        server.wait()
    return {
        "ready": f"{ready:.1f} s",
        "by meaning": f"{meaning:.1f} s",
        "RSS": f"{megabytes} MB",
        "SIGTERM": f"exit {code} after {ended:.1f} s",
    }


def stdio_start(environment: dict[str, str]) -> float:
    began = time.monotonic()
    server = _started(environment, "stdio")
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps(initialize("start", "2024-11-05", 1)) + "\n")
    server.stdin.flush()
    server.stdout.readline()
    took = time.monotonic() - began
    server.stdin.close()
    server.wait(10)
    return took


def _started(environment: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "server", *arguments]
    return subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def _address(server: subprocess.Popen[str]) -> str:
    assert server.stderr is not None
    for line in server.stderr:
        if found := re.search(r"listening on (\S+)", line):
            return found.group(1)
    raise SystemExit("the server ended before it listened")


def _readyz(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{url}/readyz", timeout=5) as answer:
        loaded: dict[str, Any] = json.load(answer)
    return loaded


def _until(began: float, holds: Any) -> float:
    while not holds():
        if time.monotonic() - began > BOUND_SECONDS:
            raise SystemExit(f"not there after {BOUND_SECONDS:.0f} s")
        time.sleep(0.05)  # what is asked is remembered for a second, so more often would tell no more
    return time.monotonic() - began


def _resident_megabytes(pid: int) -> int:
    with open(f"/proc/{pid}/status", encoding="ascii") as status:  # noqa: PTH123
        line = next(each for each in status if each.startswith("VmRSS"))
    return int(line.split()[1]) // 1024


if __name__ == "__main__":
    raise SystemExit(main())
