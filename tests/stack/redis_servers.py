"""Debian's Redis: one server, one with TLS, or a cluster of three, each on free ports of the loopback and in memory only.

`python -m tests.stack.redis_servers [single|tls|cluster]` runs one until Ctrl-C.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.stack.artefacts import StackError
from tests.stack.children import Child, child, free_port, run_until_stopped, temporary

PROGRAMS = ("redis-server", "redis-cli")
START_SECONDS = 30.0
COMMAND_SECONDS = 30
BUS = 10_000  # a cluster's nodes talk to each other on their port and this
NODES = 3


@dataclass(frozen=True)
class Redis:
    """A running server: its URL, its port, the process behind it and, with TLS, the authority to trust."""

    url: str
    port: int
    child: Child
    authority: Path | None = None


@dataclass(frozen=True)
class Cluster:
    """Three running masters, and a replica of the last where one was asked for; the URL names the first of them."""

    url: str
    nodes: tuple[Redis, ...]
    replica: Redis | None = None


def missing() -> str | None:
    """Why no Redis can be started here, or None when one can."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"{' and '.join(absent)} not installed (Debian: apt-get install redis-server)" if absent else None


@contextmanager
def redis_server(*, tls: bool = False, password: str | None = None) -> Iterator[str]:
    """The URL of a server of one's own: `redis://`, or `rediss://…?ssl_ca_certs=FILE`. Raises `StackError`."""
    with started(tls=tls, password=password) as redis:
        yield redis.url


@contextmanager
def redis_cluster() -> Iterator[str]:
    """The URL of the first of three masters that share the slots. Raises `StackError`."""
    with started_cluster() as cluster:
        yield cluster.url


@contextmanager
def started(
    *,
    tls: bool = False,
    password: str | None = None,
    cluster: bool = False,
    certificates: Path | None = None,
    names: str = "IP:127.0.0.1,DNS:localhost",
    more: Mapping[str, str] | None = None,
) -> Iterator[Redis]:
    """The server with its process, for tests that pause or kill it. `certificates` is a folder with some, or for some: those
    who trust each other share it; `names` are what they are made out to. `more` is more of its settings."""
    problem = missing()
    if problem:
        raise StackError(problem)
    with temporary("redis") as folder:
        port = free_port(BUS) if cluster else free_port()
        options = {"bind": "127.0.0.1", "dir": str(folder), "save": "", "appendonly": "no", "loglevel": "warning"}
        trusted = certificates or folder
        options |= {"port": "0", "tls-port": str(port)} | _certificates(trusted, names) if tls else {"port": str(port)}
        options |= {"requirepass": password} if password else {}
        options |= {"cluster-enabled": "yes", "cluster-node-timeout": "2000"} if cluster else {}
        options |= {"tls-cluster": "yes"} if cluster and tls else {}
        options |= more or {}
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        with child(f"Redis on {port}", ["redis-server", *arguments], folder / "said.log") as process:
            process.wait_until(lambda: _listens(port), START_SECONDS)
            secret = f":{password}@" if password else ""
            authority = trusted / "ca.crt" if tls else None
            trust = f"?ssl_ca_certs={authority}" if tls else ""
            yield Redis(f"redis{'s' if tls else ''}://{secret}127.0.0.1:{port}/0{trust}", port, process, authority)


@contextmanager
def started_cluster(*, tls: bool = False, replica: bool = False, patience_ms: int = 2000) -> Iterator[Cluster]:
    """Three masters, with every slot served. One that is silent for `patience_ms` is given up, for its replica where it has one."""
    with ExitStack() as stack:
        shared = stack.enter_context(temporary("redis-tls"))
        patience = {"cluster-node-timeout": str(patience_ms)}
        servers = [
            stack.enter_context(started(cluster=True, tls=tls, certificates=shared, more=patience))
            for _ in range(NODES + replica)
        ]
        greeting = ("redis-cli", *(("--tls", "--cacert", str(shared / "ca.crt")) if tls else ()))
        addresses = [f"127.0.0.1:{server.port}" for server in servers]
        _run(*greeting, "--cluster", "create", *addresses[:NODES], "--cluster-yes")
        _until_all_served(greeting, servers[:NODES])
        if replica:
            master = _run(*greeting, "-p", str(servers[-2].port), "cluster", "myid").strip()
            place = ("--cluster-slave", "--cluster-master-id", master)
            _run(*greeting, "--cluster", "add-node", addresses[-1], addresses[0], *place)
            _until_all_served(greeting, servers)
            told = (*greeting, "-p", str(servers[-1].port), "info", "replication")
            servers[-1].child.wait_until(lambda: "master_link_status:up" in _run(*told), START_SECONDS)
        url = servers[0].url.replace("/0?", "?").removesuffix("/0")
        yield Cluster(url, tuple(servers[:NODES]), servers[-1] if replica else None)


def _until_all_served(greeting: Sequence[str], servers: Sequence[Redis]) -> None:
    """Each of them knows all of them and finds every slot served."""
    for server in servers:
        asked = (*greeting, "-p", str(server.port), "cluster", "info")
        server.child.wait_until(lambda asked=asked: _serves_all_slots(_run(*asked), len(servers)), START_SECONDS)


def _serves_all_slots(said: str, nodes: int) -> bool:
    return "cluster_state:ok" in said and f"cluster_known_nodes:{nodes}" in said


def _certificates(folder: Path, names: str) -> dict[str, str]:
    """An authority and a certificate made out to those names, made for this one run if they are not there yet."""
    authority, key, request, certificate = (folder / name for name in ("ca.crt", "ca.key", "server.csr", "server.crt"))
    server_key, names_file = folder / "server.key", folder / "names"
    files = {"tls-cert-file": certificate, "tls-key-file": server_key, "tls-ca-cert-file": authority}
    options = {name: str(path) for name, path in files.items()} | {"tls-auth-clients": "no"}
    if certificate.exists():
        return options
    names_file.write_text(f"subjectAltName={names}\n", encoding="utf-8")
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    _run("openssl", "req", "-x509", *new_key, "-days", "2", "-subj", "/CN=stack", "-keyout", key, "-out", authority)
    _run("openssl", "req", *new_key, "-subj", "/CN=localhost", "-keyout", server_key, "-out", request)
    signing = ["-req", "-in", request, "-CA", authority, "-CAkey", key, "-CAcreateserial", "-days", "2"]
    _run("openssl", "x509", *signing, "-extfile", names_file, "-out", certificate)
    return options


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _run(*command: str | Path) -> str:
    words = [str(part) for part in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise StackError(f"{words[0]} did not run: {e}") from None
    if done.returncode:
        raise StackError(f"{' '.join(words[:3])} failed: {done.stdout[-800:]}{done.stderr[-800:]}")
    return done.stdout


KINDS = {"single": redis_server, "tls": lambda: redis_server(tls=True), "cluster": redis_cluster}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", nargs="?", choices=KINDS, default="single")
    wanted = KINDS[parser.parse_args().kind]
    run_until_stopped(lambda stack: stack.enter_context(wanted()))
