"""Diagnoses of dependencies, written for operators: in the doctor and seed commands, and in the span exporter's log."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from session.resilience.deadline import Deadline

OK, DEGRADED, DOWN = "ok", "degraded", "down"
CONNECT_SECONDS = 0.7
_NO_WAY = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ETIMEDOUT)
_HANGING_UP = (ConnectionResetError, BrokenPipeError, EOFError)
_CARRIERS = ("os_error", "certificate_error", "info", "error")
"""Attributes in which client libraries keep an underlying error."""


@dataclass(frozen=True, slots=True)
class Problem:
    what: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """State of a dependency: OK, DEGRADED or DOWN. `detail` has no secret. `remedy`: None if there is nothing to do.
    `version`: the dependency's own, None if unknown."""

    state: str
    detail: str
    remedy: str | None = None
    version: str | None = None

    @classmethod
    def from_problem(cls, problem: Problem, version: str | None = None) -> Diagnosis:
        return cls(DOWN, problem.what, problem.remedy, version)


Check = Callable[[Deadline], Awaitable[Diagnosis]]


def always(diagnosis: Diagnosis) -> Check:
    async def check(deadline: Deadline) -> Diagnosis:
        return diagnosis

    return check


def once(check: Check) -> Check:
    """Returns a check that runs `check` once, with the first caller's deadline, and gives all callers the same result."""
    asked: list[asyncio.Task[Diagnosis]] = []

    async def check_once(deadline: Deadline) -> Diagnosis:
        if not asked:
            asked.append(asyncio.ensure_future(check(deadline)))
        return await asyncio.shield(asked[0])

    return check_once


def network_problem(error: BaseException, setting: str) -> Problem | None:
    """Returns the network problem behind a library's error, or None. `setting`: name of the setting with the address."""
    chain = list(causes_of(error))
    for each in chain:
        if isinstance(each, socket.gaierror):
            return Problem("no such host: its name is not known", f"check the host in {setting}, and DNS")
        if isinstance(each, ssl.SSLCertVerificationError):
            why = getattr(each, "verify_message", "") or "it cannot be verified"
            return Problem(f"its certificate is not trusted: {why}", f"name its authority's file in {setting}")
        if isinstance(each, ssl.SSLError):
            return Problem("no TLS comes about: it may speak none", f"check the scheme and the port in {setting}")
        if _is(each, errno.ECONNREFUSED):
            return Problem("connection refused: nothing listens there", f"start it, or correct {setting}")
        if any(_is(each, number) for number in _NO_WAY):
            return Problem("no way leads there", f"check the address in {setting}, routes and security groups")
        if isinstance(each, FileNotFoundError):
            return Problem("there is no such socket or file", f"start it, or correct {setting}")
        if isinstance(each, PermissionError):
            return Problem("the socket or file may not be opened", "check its owner and mode")
    if any(isinstance(each, _HANGING_UP) or "Disconnected" in type(each).__name__ for each in chain):
        return Problem(
            "it closes the connection without an answer", f"check scheme and port in {setting}: with or without TLS?"
        )
    return None


async def silence(host: str, port: int, setting: str) -> Problem:
    """Returns the problem behind a timeout, found by opening a connection. `setting`: as in `network_problem`."""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(host, port)
            writer.close()
        return Problem("it takes the connection and does not answer", "look at its load and log, or restart it")
    return Problem("it does not answer", f"check the address in {setting}, routes and security groups")


def _is(error: BaseException, number: int) -> bool:
    """Returns whether the error or its text has this errno: after several attempts asyncio keeps only the texts."""
    return isinstance(error, OSError) and (error.errno == number or f"[Errno {number}]" in str(error))


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """Yields the error and its causes, nearest first, including causes that client libraries keep in attributes."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        each = waiting.pop(0)
        if not isinstance(each, BaseException) or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        told = getattr(each, "kwargs", None)
        waiting += [getattr(each, name, None) for name in _CARRIERS]
        waiting += [told.get("error")] if isinstance(told, dict) else []
        waiting += [each.__cause__, each.__context__]
