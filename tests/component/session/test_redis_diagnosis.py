"""The doctor's report on a Redis by its replies, which a server plays for each kind of trouble."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import hiredis

from session.redis.address import RedisAddress
from session.redis.diagnosis import SCRIPT, SETTING, diagnose
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import DEGRADED, DOWN, OK, Diagnosis
from tests.support.cases import cases

PLAIN = "redis_version:7.2.4\r\ncluster_enabled:0\r\n"
CLUSTER = "redis_version:7.2.4\r\ncluster_enabled:1\r\n"


class Answering:
    """Answers by the first words of a command, and says OK to any other. `asked` is what came."""

    def __init__(self, answers: dict[str, str | None]) -> None:
        """None hangs up; what begins with "-" is a refusal; anything else is text."""
        self._answers = answers
        self.asked: list[tuple[str, ...]] = []
        self.meetings: list[asyncio.Task[object]] = []

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        own = asyncio.current_task()
        assert own is not None
        self.meetings.append(own)
        with suppress(ConnectionError):
            await self._talk(reader, writer)
        writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        commands = hiredis.Reader(encoding="utf-8")
        while data := await reader.read(4096):
            commands.feed(data)
            while (command := commands.gets()) is not False:
                self.asked.append(tuple(command))
                answer = self._answer(" ".join(command))
                if answer is None:
                    return
                for piece in (answer[:1], answer[1:]):  # in pieces, as networks bring it
                    writer.write(piece)
                    await writer.drain()

    def _answer(self, command: str) -> bytes | None:
        for begin, answer in self._answers.items():
            if command.startswith(begin):
                if answer is None:
                    return None
                return f"{answer}\r\n".encode() if answer[:1] == "-" else b"$%d\r\n%s\r\n" % (len(answer), answer.encode())
        return b"+OK\r\n"


@asynccontextmanager
async def redis_that(answers: dict[str, str | None]) -> AsyncIterator[tuple[Answering, int]]:
    own = Answering(answers)
    async with await asyncio.start_server(own.meet, "127.0.0.1", 0) as server:
        yield own, server.sockets[0].getsockname()[1]
        await asyncio.gather(*own.meetings)


async def told(answers: dict[str, str | None], scheme: str = "redis") -> Diagnosis:
    async with redis_that(answers) as (_, port):
        return await diagnose(RedisAddress.parse(f"{scheme}://127.0.0.1:{port}"), None, Deadline.after(30))


async def test_readable_and_writable_redis_is_ok_with_its_version() -> None:
    assert await told({"INFO": PLAIN}) == Diagnosis(OK, "read and written", version="Redis 7.2.4")


async def test_valkey_is_reported_with_its_own_version() -> None:
    found = await told({"INFO": PLAIN + "valkey_version:9.1.2\r\n"})
    assert found.version == "Valkey 9.1.2"


async def test_cluster_is_ok_when_it_serves_every_slot() -> None:
    found = await told({"INFO": CLUSTER, "CLUSTER INFO": "cluster_state:ok"}, "redis+cluster")
    assert (found.state, found.detail) == (OK, "a cluster, all slots served")


async def test_mode_missing_from_info_is_taken_from_the_address() -> None:
    for scheme in ("redis", "redis+cluster"):
        assert (await told({"INFO": "redis_version:7.2.4"}, scheme)).state == OK


@cases(
    ("scheme", "info", "what"),
    [("redis", CLUSTER, "it is a cluster"), ("redis+cluster", PLAIN, "it is no cluster")],
)
async def test_address_of_the_wrong_kind_is_reported_with_the_right_scheme(scheme: str, info: str, what: str) -> None:
    found = await told({"INFO": info}, scheme)
    assert (found.state, found.detail) == (DOWN, what)
    assert SETTING in str(found.remedy)


async def test_cluster_with_unserved_slots_is_reported_as_down() -> None:
    found = await told({"INFO": CLUSTER, "CLUSTER INFO": "cluster_state:fail"}, "redis+cluster")
    assert (found.state, found.detail) == (DOWN, "the cluster is down: not every slot is served")


async def test_moved_reply_is_ok_in_a_cluster_and_an_error_elsewhere() -> None:
    moved = {"EVAL": "-MOVED 866 127.0.0.1:7001"}
    assert (await told({"INFO": CLUSTER, **moved}, "redis+cluster")).state == OK
    assert (await told({"INFO": PLAIN, **moved})).state == DOWN


@cases("scheme", ["redis", "redis+cluster"])
async def test_read_only_replica_is_reported(scheme: str) -> None:
    refused = "-READONLY You can't write against a read only replica."
    found = await told({"INFO": CLUSTER if "+" in scheme else PLAIN, "EVAL": refused}, scheme)
    assert (found.state, found.detail) == (DOWN, "it is a replica and takes no writes")
    assert found.version == "Redis 7.2.4"


async def test_doctor_writes_to_a_key_of_its_own() -> None:
    async with redis_that({"INFO": PLAIN}) as (server, port):
        await diagnose(RedisAddress.parse(f"redis://127.0.0.1:{port}"), None, Deadline.after(30))
    assert server.asked[-1] == ("EVAL", SCRIPT, "1", "manga:mcp:{doctor}")


async def test_memory_limit_with_noeviction_is_a_warning() -> None:
    limited = PLAIN + "maxmemory:1000000\r\nmaxmemory_policy:{}\r\n"
    assert (await told({"INFO": limited.format("noeviction")})).state == DEGRADED
    assert (await told({"INFO": limited.format("volatile-lru")})).state == OK
    assert (await told({"INFO": PLAIN + "maxmemory:0\r\nmaxmemory_policy:noeviction\r\n"})).state == OK


async def test_user_password_and_database_are_sent_first() -> None:
    async with redis_that({"INFO": PLAIN}) as (server, port):
        await diagnose(RedisAddress.parse(f"redis://u:p@127.0.0.1:{port}/3"), None, Deadline.after(30))
    assert server.asked[:3] == [("AUTH", "u", "p"), ("PING",), ("SELECT", "3")]


async def test_password_without_a_user_is_sent_alone() -> None:
    async with redis_that({"INFO": PLAIN}) as (server, port):
        await diagnose(RedisAddress.parse(f"redis://:p@127.0.0.1:{port}"), None, Deadline.after(30))
    assert server.asked[:2] == [("AUTH", "p"), ("PING",)]


async def test_generated_credentials_precede_those_of_the_address() -> None:
    async with redis_that({"INFO": PLAIN}) as (server, port):
        address = RedisAddress.parse(f"redis://u:p@127.0.0.1:{port}")
        await diagnose(address, lambda: ("role", "token"), Deadline.after(30))
    assert server.asked[:2] == [("AUTH", "role", "token"), ("PING",)]


async def test_missing_aws_credentials_are_reported() -> None:
    def none() -> tuple[str, str]:
        raise PermissionError("no AWS credentials were found")

    async with redis_that({}) as (_, port):
        found = await diagnose(RedisAddress.parse(f"redis://u@127.0.0.1:{port}"), none, Deadline.after(30))
    assert found.detail == "there are no AWS credentials to sign in with"


@cases(
    ("refusal", "what"),
    [
        ("-NOAUTH Authentication required.", "it wants a password"),
        ("-LOADING Redis is loading the dataset in memory", "it is loading its data"),
    ],
)
async def test_error_reply_to_every_command_is_reported_by_kind(refusal: str, what: str) -> None:
    assert (await told({"INFO": refusal})).detail == what


async def test_user_without_the_right_to_info_is_ok() -> None:
    found = await told({"INFO": "-NOPERM this user has no permissions to run the 'info' command"})
    assert found == Diagnosis(OK, "read and written")


@cases(
    ("refusal", "what"),
    [
        ("-ERR AUTH <password> called without any password configured", "it has no such user, or wants no password"),
        ("-ERR DB index is out of range", "it has no database of this number"),
        ("-ERR max number of clients reached", "it has as many clients as it takes"),
        ("-ODD something with a name in it", "it refuses with ODD"),
    ],
)
async def test_refused_authentication_is_reported_without_its_text(refusal: str, what: str) -> None:
    assert (await told({"PING": refusal})).detail == what


async def test_closed_connection_is_reported() -> None:
    assert (await told({"PING": None})).detail == "it closes the connection without an answer"


async def test_server_that_is_no_redis_is_reported() -> None:
    async def web(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(web, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        found = await diagnose(RedisAddress.parse(f"redis://127.0.0.1:{port}"), None, Deadline.after(30))
    assert found.detail == "it answers with something else than Redis"
