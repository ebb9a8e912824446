"""Installs what the real servers need, once: `python3 -m tests.stack.ensure [opensearch] [dynamodb] [redis] [zipkin] [prometheus]`.

Needs the standard library only, so that it runs before anything else is set up. Debian packages are installed when this is
root on a machine with apt-get; elsewhere it says what is missing. Exits with 1 when something could not be had.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from tests.stack import dynamodb, opensearch_home, prometheus, redis_servers, zipkin
from tests.stack.artefacts import StackError
from tests.stack.java import java_home

APT_SECONDS = 600
OLDER_JAVA = "openjdk-17-jre-headless"
JAVA_PACKAGES = ("openjdk-25-jdk-headless", "openjdk-21-jdk-headless")


def redis() -> None:
    """Debian's Redis and, for its certificates, OpenSSL."""
    _install("redis-server", unless=redis_servers.missing() is None)
    _install("openssl", unless=shutil.which("openssl") is not None)


def dynamodb_local() -> None:
    """Maven, any Java from 17 on, and the jars."""
    _maven()
    _java(dynamodb.JAVA, OLDER_JAVA)
    dynamodb.ensure()


def prometheus_server() -> None:
    """Debian's, with promtool."""
    _install("prometheus", unless=prometheus.missing() is None)


def viewer() -> None:
    """Maven, any Java from 17 on, and the jar."""
    _maven()
    _java(zipkin.JAVA, OLDER_JAVA)
    zipkin.ensure()


def opensearch_node() -> None:
    """Maven, a Java from 21 on with its compiler, and the distribution with its plugins."""
    _maven()
    _java(opensearch_home.JAVA, *JAVA_PACKAGES, compiler=True)
    opensearch_home.ensure()


SERVERS: dict[str, Callable[[], None]] = {
    "redis": redis,
    "dynamodb": dynamodb_local,
    "opensearch": opensearch_node,
    "zipkin": viewer,
    "prometheus": prometheus_server,
}


def _maven() -> None:
    _install("maven", unless=shutil.which("mvn") is not None)


def _java(oldest: int, *packages: str, compiler: bool = False) -> None:
    """The first of the packages that this Debian has; which one depends on its release."""
    for package in packages:
        try:
            java_home(oldest, compiler=compiler)
        except StackError as e:
            try:
                _install(package, unless=False)
            except StackError:
                print(f"{e}; no package {package}", file=sys.stderr)
    java_home(oldest, compiler=compiler)


def _install(package: str, *, unless: bool) -> None:
    if unless:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise StackError(f"{package} is missing and can only be installed by root on Debian or Ubuntu")
    _apt("update", "-qq")
    _apt("install", "-y", "-qq", "--no-install-recommends", package)


def _apt(*arguments: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=APT_SECONDS, check=False, env=environment)
    except subprocess.TimeoutExpired:
        raise StackError(f"apt-get {arguments[0]} did not end in {APT_SECONDS} s") from None
    if done.returncode:
        raise StackError(f"{' '.join(command)} failed: {done.stderr[-300:]}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", nargs="*", metavar="server", help=f"of {', '.join(SERVERS)}; all when none is named")
    wanted = parser.parse_args(arguments).servers or list(SERVERS)
    unknown = [name for name in wanted if name not in SERVERS]
    if unknown:
        parser.error(f"no such server: {', '.join(unknown)}")
    return 1 if [name for name in wanted if not _ready(name)] else 0


def _ready(name: str) -> bool:
    since = time.monotonic()
    try:
        SERVERS[name]()
    except StackError as e:
        print(f"{name}: {e}", file=sys.stderr)
        return False
    print(f"{name}: ready ({time.monotonic() - since:.1f} s)")
    return True


if __name__ == "__main__":
    sys.exit(main())
