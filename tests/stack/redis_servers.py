"""Debian's Redis: one server, one with TLS, or a cluster of three, each on free ports of the loopback and in memory only.

`python -m tests.stack.redis_servers [single|tls|cluster]` runs one until Ctrl-C.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.stack.artefacts import StackError
from tests.stack.children import Child, child, free_port, run_until_stopped, temporary

PROGRAMS = ("redis-server", "redis-cli")
START_SECONDS = 10.0
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
    """Three running masters; the URL names the first of them."""

    url: str
    nodes: tuple[Redis, ...]


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
def started(*, tls: bool = False, password: str | None = None, cluster: bool = False) -> Iterator[Redis]:
    """The server with its process, for tests that pause or kill it."""
    problem = missing()
    if problem:
        raise StackError(problem)
    with temporary("redis") as folder:
        port = free_port(BUS) if cluster else free_port()
        options = {"bind": "127.0.0.1", "dir": str(folder), "save": "", "appendonly": "no", "loglevel": "warning"}
        options |= {"port": "0", "tls-port": str(port)} | _certificates(folder) if tls else {"port": str(port)}
        options |= {"requirepass": password} if password else {}
        options |= {"cluster-enabled": "yes", "cluster-node-timeout": "2000"} if cluster else {}
        options |= {"tls-cluster": "yes"} if cluster and tls else {}
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        with child(f"Redis on {port}", ["redis-server", *arguments], folder / "said.log") as process:
            process.wait_until(lambda: _listens(port), START_SECONDS)
            secret = f":{password}@" if password else ""
            authority = folder / "ca.crt" if tls else None
            trust = f"?ssl_ca_certs={authority}" if tls else ""
            yield Redis(f"redis{'s' if tls else ''}://{secret}127.0.0.1:{port}/0{trust}", port, process, authority)


@contextmanager
def started_cluster() -> Iterator[Cluster]:
    """Three masters without replicas, with every slot served."""
    with ExitStack() as stack:
        nodes = tuple(stack.enter_context(started(cluster=True)) for _ in range(NODES))
        addresses = [f"127.0.0.1:{node.port}" for node in nodes]
        _run("redis-cli", "--cluster", "create", *addresses, "--cluster-yes")
        for node in nodes:
            node.child.wait_until(lambda node=node: _serves_all_slots(node.port), START_SECONDS)
        yield Cluster(nodes[0].url.removesuffix("/0"), nodes)


def _serves_all_slots(port: int) -> bool:
    said = _run("redis-cli", "-p", str(port), "cluster", "info")
    return "cluster_state:ok" in said and f"cluster_known_nodes:{NODES}" in said


def _certificates(folder: Path) -> dict[str, str]:
    """An authority and a certificate for 127.0.0.1 and localhost, made for this one run."""
    authority, key, request, certificate = (folder / name for name in ("ca.crt", "ca.key", "server.csr", "server.crt"))
    server_key, names = folder / "server.key", folder / "names"
    names.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n", encoding="utf-8")
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    _run("openssl", "req", "-x509", *new_key, "-days", "2", "-subj", "/CN=stack", "-keyout", key, "-out", authority)
    _run("openssl", "req", *new_key, "-subj", "/CN=localhost", "-keyout", server_key, "-out", request)
    signed = ["-req", "-in", request, "-CA", authority, "-CAkey", key, "-CAcreateserial", "-days", "2", "-extfile", names]
    _run("openssl", "x509", *signed, "-out", certificate)
    files = {"tls-cert-file": certificate, "tls-key-file": server_key, "tls-ca-cert-file": authority}
    return {name: str(path) for name, path in files.items()} | {"tls-auth-clients": "no"}


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
