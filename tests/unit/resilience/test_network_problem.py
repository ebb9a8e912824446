"""Why a connection could not be made, described for the operator who has to mend it."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl

from session.resilience.deadline import Deadline
from session.resilience.diagnosis import DOWN, OK, Diagnosis, Problem, network_problem, once, silence
from tests.support.cases import cases


def not_trusted(why: str) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = why
    return error


class ServerDisconnectedError(Exception):
    """As aiohttp's."""


@cases(
    ("error", "what"),
    [
        (socket.gaierror(-2, "Name or service not known"), "no such host: its name is not known"),
        (not_trusted("self-signed certificate"), "its certificate is not trusted: self-signed certificate"),
        (not_trusted(""), "its certificate is not trusted: it cannot be verified"),
        (ssl.SSLError(1, "WRONG_VERSION_NUMBER"), "no TLS comes about: it may speak none"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), "connection refused: nothing listens there"),
        (OSError("Multiple exceptions: [Errno 111] Connect call failed"), "connection refused: nothing listens there"),
        (OSError(errno.EHOSTUNREACH, "No route to host"), "no way leads there"),
        (OSError(errno.ENETUNREACH, "Network is unreachable"), "no way leads there"),
        (OSError(errno.ETIMEDOUT, "Connection timed out"), "no way leads there"),
        (FileNotFoundError(errno.ENOENT, "no such file"), "there is no such socket or file"),
        (PermissionError(errno.EACCES, "denied"), "the socket or file may not be opened"),
        (ConnectionResetError(errno.ECONNRESET, "reset"), "it closes the connection without an answer"),
        (BrokenPipeError(errno.EPIPE, "broken"), "it closes the connection without an answer"),
        (EOFError(), "it closes the connection without an answer"),
        (ServerDisconnectedError(), "it closes the connection without an answer"),
    ],
)
def test_each_network_error_is_described_in_words(error: BaseException, what: str) -> None:
    problem = network_problem(error, "MANGA_X")
    assert problem is not None
    assert problem.what == what


@cases("error", [ValueError("[Errno 111]"), OSError(errno.EIO, "an error of a disk"), Exception()])
def test_error_that_is_not_of_the_network_has_no_network_problem(error: BaseException) -> None:
    assert network_problem(error, "MANGA_X") is None


def test_remedy_names_the_setting_when_it_may_be_wrong() -> None:
    for error in (socket.gaierror(), ssl.SSLError(), ConnectionRefusedError(errno.ECONNREFUSED, ""), EOFError()):
        problem = network_problem(error, "MANGA_X")
        assert problem is not None
        assert "MANGA_X" in problem.remedy


REFUSED = ConnectionRefusedError(errno.ECONNREFUSED, "refused")


def wrapped_by(how: str) -> BaseException:
    outer = RuntimeError("a driver's own")
    match how:
        case "cause":
            outer.__cause__ = REFUSED
        case "context":
            outer.__context__ = REFUSED
        case "keyword":
            outer.kwargs = {"error": REFUSED}  # type: ignore[attr-defined]
        case _:
            setattr(outer, how, REFUSED)
    return outer


@cases("how", ["cause", "context", "keyword", "os_error", "certificate_error", "info", "error"])
def test_network_error_is_found_inside_wrapping_exceptions(how: str) -> None:
    twice = RuntimeError("another")
    twice.__cause__ = wrapped_by(how)
    problem = network_problem(twice, "MANGA_X")
    assert problem is not None
    assert problem.what.startswith("connection refused")


def test_nearest_network_error_of_a_chain_is_reported() -> None:
    near = OSError(errno.EHOSTUNREACH, "no route")
    near.__cause__ = REFUSED
    problem = network_problem(near, "MANGA_X")
    assert problem is not None
    assert problem.what == "no way leads there"


def test_cyclic_exception_chain_is_handled() -> None:
    one, other = RuntimeError(), RuntimeError()
    one.__cause__, other.__cause__ = other, one
    assert network_problem(one, "MANGA_X") is None


async def test_silence_is_told_apart_by_whether_the_connection_was_accepted() -> None:
    async with await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert (await silence("127.0.0.1", port, "MANGA_X")).what == "it takes the connection and does not answer"
    assert (await silence("127.0.0.1", port, "MANGA_X")) == Problem(
        "it does not answer", "check the address in MANGA_X, routes and security groups"
    )


def test_diagnosis_is_built_from_a_network_problem() -> None:
    assert Diagnosis.from_problem(Problem("what", "remedy"), "v1") == Diagnosis(DOWN, "what", "remedy", "v1")
    assert Diagnosis.from_problem(Problem("what", "remedy")) == Diagnosis(DOWN, "what", "remedy")


async def test_dependency_of_several_parts_is_checked_once() -> None:
    """Whoever leaves does not end the check of the others."""
    checked, go = list[Deadline](), asyncio.Event()

    async def check(deadline: Deadline) -> Diagnosis:
        checked.append(deadline)
        await go.wait()
        return Diagnosis(OK, "well")

    own = once(check)
    first, second = (asyncio.create_task(own(Deadline(at))) for at in (1.0, 2.0))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait({first})
    go.set()
    assert [await second, await own(Deadline(3.0))] == [Diagnosis(OK, "well")] * 2
    assert checked == [Deadline(1.0)]
