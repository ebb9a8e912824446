"""Diagnoses a Redis or Valkey server: signs in step by step, then tries the commands that serving needs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import hiredis

from session.failures import SessionFailure
from session.keys import PREFIX
from session.redis.address import RedisAddress
from session.redis.keyvalue import Argument, Command, KeyValue, Reply
from session.redis.multiplexed import Credentials, greeting
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import DEGRADED, DOWN, OK, Diagnosis, Problem, network_problem, silence

SETTING = "MANGA_REDIS_URL"
PROBE = f"{PREFIX}:{{doctor}}"
# Uses TIME and a write, as the scripts of calls do.
SCRIPT = "redis.call('SET', KEYS[1], redis.call('TIME')[1], 'PX', 1000) return 'OK'"
_REFUSALS = {
    "NOAUTH": ("it wants a password", f"put user and password into {SETTING}"),
    "WRONGPASS": ("it refuses user and password", f"correct them in {SETTING}"),
    "NOPERM": (
        "its user lacks permissions that serving needs",
        "allow +@read +@write +@scripting +@connection on manga:*; in a cluster +cluster|slots and +cluster|info as well",
    ),
    "LOADING": ("it is loading its data", "wait: it is ready by itself"),
    "MASTERDOWN": ("it is a replica that lost its primary", f"name the primary in {SETTING}, or mend the replication"),
    "READONLY": ("it is a replica and takes no writes", f"name the primary's address in {SETTING}"),
    "CLUSTERDOWN": ("the cluster is down: not every slot is served", "look at CLUSTER INFO and its failed nodes"),
    "OOM": ("its memory is full", "give it more, or set maxmemory-policy to volatile-lru"),
    "MISCONF": ("it takes no writes since it cannot save to disk", "look at its disk and log"),
}


async def diagnose(address: RedisAddress, credentials: Credentials | None, deadline: Deadline) -> Diagnosis:
    """Signs in to Redis step by step and returns the diagnosis. Never raises. `credentials`: for IAM addresses only."""
    try:
        async with asyncio.timeout(deadline.earlier_by(0.8).remaining()):
            return await _examine_server(address, credentials)
    except TimeoutError:
        at = "it does not answer" if address.path else None
        problem = Problem(at, "look at its load and log") if at else await silence(address.host, address.port, SETTING)
    except (hiredis.ProtocolError, UnicodeDecodeError):
        problem = Problem("it answers with something else than Redis", f"check scheme and port in {SETTING}: TLS?")
    except hiredis.ReplyError as error:
        problem = _refusal(str(error))
    except PermissionError as error:
        problem = Problem("there are no AWS credentials to sign in with", "give the task a role, or set AWS_PROFILE")
        if error.errno is not None:
            problem = Problem("the socket may not be opened", "check its owner and mode")
    except (OSError, EOFError) as error:
        problem = network_problem(error, SETTING) or Problem("it cannot be reached", f"check {SETTING}")
    return Diagnosis.from_problem(problem)


async def diagnose_embedded(redis: KeyValue, deadline: Deadline) -> Diagnosis:
    """Diagnoses the embedded Valkey over its existing connection. Never raises."""
    try:
        (reply,) = await redis.trip([Command(("INFO", "server"))], deadline)
        return Diagnosis(OK, "a Valkey of this process's own", version=_version(_facts(reply)))
    except SessionFailure as failure:
        return Diagnosis(DOWN, str(failure), f"set {SETTING} to a Redis of your own")


async def _examine_server(address: RedisAddress, credentials: Credentials | None) -> Diagnosis:
    wire = await _DirectConnection.open(address)
    try:
        for command in greeting(address, await asyncio.to_thread(credentials) if credentials is not None else None):
            await wire.ask(*command)
        facts = await _information(wire)
        version = _version(facts)
        if address.cluster != (facts.get("cluster_enabled", "1" if address.cluster else "0") == "1"):
            what, schemes = "it is a cluster", "redis+cluster:// or rediss+cluster://"
            if address.cluster:
                what, schemes = "it is no cluster", "redis:// or rediss:// without +cluster"
            return Diagnosis(DOWN, what, f"write {schemes} in {SETTING}", version)
        if address.cluster and facts.get("cluster_state", "ok") != "ok":
            return Diagnosis.from_problem(_refusal("CLUSTERDOWN"), version)
        if address.cluster:
            await wire.ask("CLUSTER", "SLOTS")  # the command by which serving finds the nodes
        try:
            await wire.ask("EVAL", SCRIPT, 1, PROBE)
        except hiredis.ReplyError as error:
            if not (address.cluster and str(error).startswith("MOVED")):  # the key is on another node: this one is well
                return Diagnosis.from_problem(_refusal(str(error)), version)
        if facts.get("maxmemory", "0") != "0" and facts.get("maxmemory_policy") == "noeviction":
            advice = "set maxmemory-policy to volatile-lru: all that is kept here has an end"
            return Diagnosis(DEGRADED, "it will refuse writes when its memory is full", advice, version)
        return Diagnosis(OK, "a cluster, all slots served" if address.cluster else "read and written", version=version)
    finally:
        wire.close()


class _DirectConnection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._replies = hiredis.Reader(encoding="utf-8", errors="replace")

    @classmethod
    async def open(cls, address: RedisAddress) -> _DirectConnection:
        if address.path is not None:
            return cls(*await asyncio.open_unix_connection(address.path))
        return cls(*await asyncio.open_connection(address.host, address.port, ssl=address.tls))

    async def ask(self, *command: Argument) -> Reply:
        """Sends a command, returns its reply. Raises hiredis.ReplyError for an error reply, EOFError if Redis hangs up."""
        self._writer.write(hiredis.pack_command(command))  # type: ignore[arg-type]  # its stub allows one argument only
        while (reply := self._replies.gets()) is False:
            data = await self._reader.read(65_536)
            if not data:
                raise EOFError
            self._replies.feed(data)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def close(self) -> None:
        self._writer.transport.abort()


async def _information(wire: _DirectConnection) -> Mapping[str, str]:
    """Returns the fields of INFO and CLUSTER INFO, without those of a command that Redis refuses. Raises
    hiredis.ReplyError for a refusal with LOADING or NOAUTH."""
    facts: dict[str, str] = {}
    for question in (("INFO",), ("CLUSTER", "INFO")):
        try:
            facts |= _facts(await wire.ask(*question))
        except hiredis.ReplyError as error:
            if str(error).startswith(("LOADING", "NOAUTH")):
                raise
    return facts


def _facts(reply: Reply) -> dict[str, str]:
    text = reply.decode("utf-8", "replace") if isinstance(reply, bytes) else str(reply)
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def _version(facts: Mapping[str, str]) -> str | None:
    if "valkey_version" in facts:
        return f"Valkey {facts['valkey_version']}"
    return f"Redis {facts['redis_version']}" if "redis_version" in facts else None


def _refusal(text: str) -> Problem:
    """Returns the problem behind an error reply. Quotes at most its first word, as the rest may contain a user's name."""
    word = text.partition(" ")[0]
    if word in _REFUSALS:
        return Problem(*_REFUSALS[word])
    if "password" in text or "AUTH" in text:
        return Problem("it has no such user, or wants no password", f"correct user and password in {SETTING}")
    if "DB index" in text:
        return Problem("it has no database of this number", f"correct the number at the end of {SETTING}")
    if "max number of clients" in text:
        return Problem("it has as many clients as it takes", "raise its maxclients, or run fewer tasks")
    return Problem(f"it refuses with {word}", "look at its log")
