"""A real OpenSearch node from Maven Central: k-NN on Lucene, Japanese analysis, hybrid search; on the loopback, unsecured.

`python -m tests.stack.opensearch` runs one until Ctrl-C.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.stack.artefacts import StackError
from tests.stack.children import Running, child, run_until_stopped, temporary
from tests.stack.java import java_home, missing_for, version_of
from tests.stack.opensearch_home import JAVA, ensure, installed, made_folder

HEAP = "512m"
START_SECONDS = 200.0
STOP_SECONDS = 20.0
ADDRESS = re.compile(r"^(127\.0\.0\.1:\d+)$", re.MULTILINE)

OPTION = re.compile(r"^(?:(?P<low>\d+)(?P<dash>-)?(?P<high>\d+)?:)?(?P<option>-.+)$")
# Heap and collector are chosen here; logs and dumps would go into the unpacked distribution, which a node only reads.
OURS = re.compile(r"logs/|HeapDump|^-Xm[sx]|G1|InitiatingHeap")
# Half the processor time until it is ready. A node that is measured is better off without: `java_options=()`.
QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
LAUNCHER_OPTIONS = (
    "-Xss1m",
    "-Djava.awt.headless=true",
    "-Dfile.encoding=UTF-8",
    "-Djna.nosys=true",
    "-Dio.netty.noUnsafe=true",
    "-Dio.netty.noKeySetOptimization=true",
    "-Dio.netty.recycler.maxCapacityPerThread=0",
    "-Dlog4j.shutdownHookEnabled=false",
    "-Dlog4j2.disable.jmx=true",
    "-Djava.locale.providers=SPI,CLDR",
    "-Dopensearch.distribution.type=zip",
    "-Dopensearch.bundled_jdk=false",
)

SETTINGS = {
    "cluster.name": "manga-stack",
    "node.name": "stack",
    "discovery.type": "single-node",
    "network.host": "127.0.0.1",
    "http.port": "0",
    "transport.port": "0",
    "node.portsfile": "true",
    # A full disk of the machine is no reason for an index to turn read-only in a test.
    "cluster.routing.allocation.disk.threshold_enabled": "false",
}


def missing() -> str | None:
    """Why no node can be started here, or None when one can."""
    return missing_for("OpenSearch", JAVA, fetched=installed().exists())


@contextmanager
def opensearch_node(settings: Mapping[str, str] | None = None, java_options: Iterable[str] = QUICK_START) -> Iterator[str]:
    """The URL of a node of one's own, empty at first and gone at the end. Raises `StackError`."""
    with started(settings, java_options) as node:
        yield node.url


@contextmanager
def started(settings: Mapping[str, str] | None = None, java_options: Iterable[str] = QUICK_START) -> Iterator[Running]:
    """The same with the process, for tests that pause or kill it."""
    problem = missing()
    if problem:
        raise StackError(problem)
    with temporary("opensearch", for_nobody=True) as folder:
        config = _configure(folder, {**SETTINGS, **(settings or {})})
        command = _command(folder, config, java_options)
        # It refuses root.
        with child(
            "OpenSearch", command, folder / "said.log", unprivileged=True, folder=installed(), stop_seconds=STOP_SECONDS
        ) as process:
            ports = folder / "logs" / "http.ports"
            process.wait_until(lambda: _address(ports) is not None, START_SECONDS)
            node = Running(f"http://{_address(ports)}", process)
            process.wait_until(lambda: is_ready(node.url), START_SECONDS)
            yield node


def _configure(folder: Path, settings: Mapping[str, str]) -> Path:
    """A copy of the distribution's own configuration with ours on top, all of it owned by who will run the node."""
    config = folder / "config"
    shutil.copytree(installed() / "config", config)
    where = {"path.data": str(made_folder(folder / "data")), "path.logs": str(made_folder(folder / "logs"))}
    lines = [f"{name}: {json.dumps(value)}" for name, value in {**settings, **where}.items()]
    (config / "opensearch.yml").write_text("\n".join(lines), encoding="utf-8")
    made_folder(folder / "tmp")
    owner = folder.stat()
    for each in (folder, *folder.rglob("*")):
        os.chown(each, owner.st_uid, owner.st_gid)
    return config


def _command(folder: Path, config: Path, java_options: Iterable[str]) -> list[str | Path]:
    """What bin/opensearch ends up running. The five Javas it starts to find that out would cost a third of the start."""
    home = java_home(JAVA)
    own = _options((config / "jvm.options").read_text(encoding="utf-8"), version_of(home), folder)
    places = [f"-Dopensearch.path.home={installed()}", f"-Dopensearch.path.conf={config}"]
    start = ["-cp", f"{installed() / 'lib'}/*", "org.opensearch.bootstrap.OpenSearch"]
    return [home / "bin" / "java", f"-Xms{HEAP}", f"-Xmx{HEAP}", *own, *java_options, *LAUNCHER_OPTIONS, *places, *start]


def _options(text: str, version: int, folder: Path) -> list[str]:
    """The distribution's own options for this Java; `8:`, `8-10:` or `11-:` stands before what is not for every one."""
    rows = (OPTION.match(line) for line in text.splitlines())
    fitting = [row["option"] for row in rows if row and int(row["low"] or 0) <= version <= _high(row)]
    return [option.replace("${OPENSEARCH_TMPDIR}", str(folder / "tmp")) for option in fitting if not OURS.search(option)]


def _high(row: re.Match[str]) -> float:
    return float(row["high"] or (math.inf if row["dash"] or not row["low"] else row["low"]))


def _address(ports: Path) -> str | None:
    try:
        found = ADDRESS.search(ports.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return found[1] if found else None


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_cluster/health?wait_for_status=yellow&timeout=5s", timeout=10) as answer:
            return json.load(answer)["status"] in ("yellow", "green")
    except (urllib.error.URLError, OSError):
        return False


if __name__ == "__main__":
    ensure()
    run_until_stopped(lambda stack: stack.enter_context(opensearch_node()))
