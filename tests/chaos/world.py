"""The real stack, a proxy before each backend, a real server behind them, and its clients."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.chaos import backends
from tests.chaos import catalogue as catalogue_of
from tests.chaos.backends import ROOT, SLOW, Backend
from tests.chaos.faults import NONE, REFUSED, Deed, Fault
from tests.chaos.launch import SUFFIX
from tests.chaos.processes import START_SECONDS, listening, running_module
from tests.chaos.proxy import Proxy
from tests.chaos.told import Clients, Json, Tail
from tests.stack.dynamodb import REGION
from tests.support.bedrock import MODEL
from tests.support.environments import python_of
from tests.support.process import until
from tests.support.stack import seeded

SESSIONS = 20
NAMESPACE = "MangaTools/chaos"
TTL_SECONDS = 2
"""How long text about titles is fresh here, so that within seconds there is all of it: live, cached, stale."""


@dataclass(slots=True)
class World:
    """`samples` is what the server says, `clients` what its clients saw."""

    url: str
    server: asyncio.subprocess.Process
    log: Path
    samples: Tail
    names: Path
    backends: dict[str, Backend]
    proxies: Mapping[str, Proxy]
    clients: Clients
    audit: Path

    async def begin(self, backend: str, fault: Fault) -> None:
        """The process first: a proxy that is told lets nobody through."""
        own = self.backends[backend]
        match fault.deed:
            case Deed.PAUSED:
                own.process.pause()
            case Deed.KILLED:
                own.process.kill()
        if fault.clock_step:
            own.step_clock(fault.clock_step)
        if fault.lookup_seconds is not None:
            self._lose_name(backend, fault.lookup_seconds)
        await self.proxies[backend].turn(fault)

    async def end(self, backend: str, fault: Fault) -> None:
        """Back when the backend is as it was: one that was killed needs its time to start, and stays shut until it is filled."""
        own, proxy = self.backends[backend], self.proxies[backend]
        if fault.deed is Deed.KILLED:
            await proxy.turn(REFUSED)
            await own.start_again()
        if fault.deed is Deed.PAUSED:
            own.process.resume()
        if fault.clock_step:
            own.step_clock(0)
        self._lose_name(backend, None)
        await proxy.turn(NONE)

    def fill_audit_disk(self, full: bool) -> None:
        """The audit's name leads to another place from now on: /dev/full takes nothing (full(4))."""
        new = self.audit.with_suffix(".new")
        new.symlink_to("/dev/full" if full else self.audit.with_suffix(".jsonl"))
        new.replace(self.audit)

    async def holdings(self) -> Json:
        """What the server holds just now: tasks, descriptors, memory."""
        self.samples.catch_up()
        since = len(self.samples.read)
        os.kill(self.server.pid, signal.SIGRTMIN)

        def told() -> bool:
            self.samples.catch_up()
            return bool(self.samples.of("holdings", since))

        await until(told, 30.0, "the server's holdings")
        return self.samples.of("holdings", since)[-1]

    def _lose_name(self, backend: str, seconds: float | None) -> None:
        lost = json.loads(self.names.read_text())
        lost.pop(backend + SUFFIX, None)
        if seconds is not None:
            lost[backend + SUFFIX] = seconds
        written = self.names.with_suffix(".new")
        written.write_text(json.dumps(lost))
        written.replace(self.names)


@asynccontextmanager
async def opened(running: Mapping[str, str] | None = None, sessions: int = SESSIONS) -> AsyncIterator[World]:
    """`running` are the URLs of servers that somebody else has started and shares; what is not among them is started here.

    Raises `StackError` where the real servers cannot be had."""
    agents = str(python_of("clients/strands"))
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="manga-chaos-")))
        real = stack.enter_context(backends.opened(running or {}))
        proxies = {
            name: await stack.enter_async_context(Proxy.before(name, each.port, SLOW[name])) for name, each in real.items()
        }
        name = f"chaos{uuid.uuid4().hex[:8]}"
        direct = settings({each: backend.port for each, backend in real.items()}, name, host="127.0.0.1")
        catalogue = catalogue_of.write_to(folder)
        await asyncio.to_thread(fill, direct, catalogue)
        if real["dynamodb"].child is not None:
            real["dynamodb"].refill = lambda: fill(direct, catalogue)
        samples, names, log = Tail(folder / "samples"), folder / "names", folder / "server.log"
        stack.callback(samples.file.close)
        names.write_text("{}")
        audit = folder / "audit"
        audit.symlink_to(audit.with_suffix(".jsonl"))
        told = {"CHAOS_SAMPLES": str(folder / "samples"), "CHAOS_NAMES": str(names), "MANGA_AUDIT_LOG": str(audit)}
        through = settings({each: proxy.port for each, proxy in proxies.items()}, name, host=None)
        server = await stack.enter_async_context(running_module("tests.chaos.launch", environment=through | told, log=log))
        url = await listening(server, log)
        clients = await _talking(stack, folder, url, sessions, agents)
        yield World(url, server, log, samples, names, real, proxies, clients, audit)


async def _talking(stack: AsyncExitStack, folder: Path, url: str, sessions: int, agents: str) -> Clients:
    """The clients' process, once all of them are connected; fails with what it and the server said."""
    log, module = folder / "clients.log", ("tests.chaos.clients", url, str(sessions))
    running = running_module(*module, environment=clean(), log=log, piped=True, python=agents)
    clients = Clients(await stack.enter_async_context(running))
    try:
        await clients.heard("ready", 0, START_SECONDS)
    except AssertionError as error:
        server = (folder / "server.log").read_text()
        raise AssertionError(f"{error}\n{log.read_text()[-2000:]}\n{server[-2000:]}") from None
    return clients


def clean() -> dict[str, str]:
    """This process's environment without anybody's MANGA_ settings or AWS account."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MANGA_", "AWS_"))}
    keys = {"AWS_ACCESS_KEY_ID": "chaos", "AWS_SECRET_ACCESS_KEY": "chaos", "AWS_DEFAULT_REGION": REGION}
    return own | keys | {"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.devnull}


def settings(ports: Mapping[str, int], name: str, host: str | None) -> dict[str, str]:
    """Those of a server, or of the seed, that finds each backend at a port of `host`, or of a name of its own."""
    at = {each: f"{host or each + SUFFIX}:{port}" for each, port in ports.items()}
    return {
        **clean(),
        "MANGA_PORT": "0",
        "MANGA_CATALOG_URL": f"http://{at['opensearch']}/?alias={name}",
        "MANGA_STORE_URL": f"dynamodb://{REGION}?endpoint=http://{at['dynamodb']}&table_prefix={name}-",
        "MANGA_REDIS_URL": f"redis://{at['redis']}/0",
        "MANGA_EMBEDDER": f"bedrock:{MODEL}",
        "MANGA_CACHE_TTL_S": str(TTL_SECONDS),
        "MANGA_LOG_TOOL_CALLS": "off",
        "MANGA_EMF": NAMESPACE,
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": f"http://{at['bedrock']}",
    }


def fill(direct: Mapping[str, str], catalogue: Path) -> None:
    demo = [f"--{what}={ROOT / 'infra' / 'demo' / what}.jsonl" for what in ("orders", "volumes")]
    done = seeded(direct, "--catalog", str(catalogue), *demo)
    assert done.returncode == 0, done.stderr
