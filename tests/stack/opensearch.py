"""A real OpenSearch node from Maven Central: k-NN on Lucene, Japanese analysis, hybrid search; on the loopback, unsecured.

`python -m tests.stack.opensearch` runs one until Ctrl-C.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.stack import artefacts
from tests.stack.artefacts import Artefact, StackError
from tests.stack.children import Child, child, run_until_stopped, temporary
from tests.stack.java import java_home, version_of

VERSION = "3.6.0"
SET = f"opensearch-{VERSION}"
JAVA = 21
HEAP = "512m"
START_SECONDS = 200.0
STOP_SECONDS = 20.0
COMPILE_SECONDS = 60
SOURCE = Path(__file__).parent / "kuromoji" / "Kuromoji.java"
NOT_NEEDED = ("modules/ingest-geoip/", "lib/tools/fips-demo-installer-cli/")
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

DESCRIPTOR = f"""\
name=analysis-kuromoji
description=Lucene's Japanese analysis, for tests
version={VERSION}
opensearch.version={VERSION}
java.version={JAVA}
classname=manga.stack.Kuromoji
"""


@dataclass(frozen=True)
class Node:
    """A running node: where it answers and the process behind it."""

    url: str
    child: Child


def missing() -> str | None:
    """Why no node can be started here, or None when one can."""
    try:
        java_home(JAVA)
    except StackError as e:
        return str(e)
    return None if _home().exists() else "OpenSearch is not fetched: run `python -m tests.stack.ensure opensearch`"


def ensure() -> Path:
    """Fetches, unpacks and compiles what is not here yet. Raises `StackError`."""
    fetched = artefacts.fetch(SET)
    with artefacts.only_one("opensearch"):
        if not _home().exists():
            unfinished = _home().with_suffix(".part")
            shutil.rmtree(unfinished, ignore_errors=True)
            _unpack({each.name: each for each in fetched}, unfinished)
            unfinished.rename(_home())
    return _home()


@contextmanager
def opensearch_node(settings: Mapping[str, str] | None = None, java_options: Iterable[str] = QUICK_START) -> Iterator[str]:
    """The URL of a node of one's own, empty at first and gone at the end. Raises `StackError`."""
    with started(settings, java_options) as node:
        yield node.url


@contextmanager
def started(settings: Mapping[str, str] | None = None, java_options: Iterable[str] = QUICK_START) -> Iterator[Node]:
    """The same with the process, for tests that pause or kill it."""
    problem = missing()
    if problem:
        raise StackError(problem)
    with temporary("opensearch", for_nobody=True) as folder:
        config = _configure(folder, {**SETTINGS, **(settings or {})})
        command = _command(folder, config, java_options)
        # It refuses root.
        with child(
            "OpenSearch", command, folder / "said.log", unprivileged=True, folder=_home(), stop_seconds=STOP_SECONDS
        ) as process:
            ports = folder / "logs" / "http.ports"
            process.wait_until(lambda: _address(ports) is not None, START_SECONDS)
            node = Node(f"http://{_address(ports)}", process)
            process.wait_until(lambda: _is_ready(node.url), START_SECONDS)
            yield node


def _home() -> Path:
    """Unpacked where nobody can read it too: a cache below a private folder is no place for it."""
    recipe = f"{SET}-{artefacts.digest(SET, SOURCE)}"
    place = artefacts.cache()
    private = any(not parent.stat().st_mode & 0o001 for parent in place.parents if parent.exists())
    return (Path("/var/tmp/manga-stack") if private and os.geteuid() == 0 else place) / recipe


def _unpack(parts: Mapping[str, Artefact], home: Path) -> None:
    with zipfile.ZipFile(parts["opensearch"].path) as archive:
        top = f"opensearch-{VERSION}/"
        for info in archive.infolist():
            name = info.filename.removeprefix(top)
            if name and not name.startswith(NOT_NEEDED):
                archive.extract(_renamed(info, name), home)
    for plugin in ("opensearch-knn", "neural-search"):
        with zipfile.ZipFile(parts[plugin].path) as archive:
            archive.extractall(home / "plugins" / plugin)
    _build_kuromoji(home, parts["lucene-analysis-kuromoji"].path)


def _renamed(info: zipfile.ZipInfo, name: str) -> zipfile.ZipInfo:
    info.filename = name
    return info


def _build_kuromoji(home: Path, lucene: Path) -> None:
    """OpenSearch's own Japanese plugin is in no Maven repository; Lucene's analysis, which it wraps, is."""
    plugin = _folder(home / "plugins" / "analysis-kuromoji")
    shutil.copy(lucene, plugin)
    (plugin / "plugin-descriptor.properties").write_text(DESCRIPTOR, encoding="utf-8")
    with temporary("kuromoji") as classes:
        compiler = java_home(JAVA, compiler=True) / "bin" / "javac"
        path = f"{home / 'lib'}/*:{lucene}"
        command = [compiler, "-proc:none", "-nowarn", "--release", str(JAVA), "-cp", path, "-d", classes, SOURCE]
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS, check=False)
        if done.returncode:
            raise StackError(f"the Japanese plugin did not compile:\n{done.stdout}{done.stderr}")
        with zipfile.ZipFile(plugin / "kuromoji.jar", "w") as jar:
            for each in sorted(classes.rglob("*.class")):
                jar.write(each, each.relative_to(classes))


def _configure(folder: Path, settings: Mapping[str, str]) -> Path:
    """A copy of the distribution's own configuration with ours on top, all of it owned by who will run the node."""
    config = folder / "config"
    shutil.copytree(_home() / "config", config)
    where = {"path.data": str(_folder(folder / "data")), "path.logs": str(_folder(folder / "logs"))}
    lines = [f"{name}: {json.dumps(value)}" for name, value in {**settings, **where}.items()]
    (config / "opensearch.yml").write_text("\n".join(lines), encoding="utf-8")
    _folder(folder / "tmp")
    owner = folder.stat()
    for each in (folder, *folder.rglob("*")):
        os.chown(each, owner.st_uid, owner.st_gid)
    return config


def _command(folder: Path, config: Path, java_options: Iterable[str]) -> list[str | Path]:
    """What bin/opensearch ends up running. The five Javas it starts to find that out would cost a third of the start."""
    home = java_home(JAVA)
    own = _options((config / "jvm.options").read_text(encoding="utf-8"), version_of(home), folder)
    places = [f"-Dopensearch.path.home={_home()}", f"-Dopensearch.path.conf={config}"]
    start = ["-cp", f"{_home() / 'lib'}/*", "org.opensearch.bootstrap.OpenSearch"]
    return [home / "bin" / "java", f"-Xms{HEAP}", f"-Xmx{HEAP}", *own, *java_options, *LAUNCHER_OPTIONS, *places, *start]


def _options(text: str, version: int, folder: Path) -> list[str]:
    """The distribution's own options for this Java; `8:`, `8-10:` or `11-:` stands before what is not for every one."""
    rows = (OPTION.match(line) for line in text.splitlines())
    fitting = [row["option"] for row in rows if row and int(row["low"] or 0) <= version <= _high(row)]
    return [option.replace("${OPENSEARCH_TMPDIR}", str(folder / "tmp")) for option in fitting if not OURS.search(option)]


def _high(row: re.Match[str]) -> float:
    return float(row["high"] or (math.inf if row["dash"] or not row["low"] else row["low"]))


def _folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def _address(ports: Path) -> str | None:
    try:
        found = ADDRESS.search(ports.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return found[1] if found else None


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_cluster/health?wait_for_status=yellow&timeout=5s", timeout=10) as answer:
            return json.load(answer)["status"] in ("yellow", "green")
    except (urllib.error.URLError, OSError):
        return False


if __name__ == "__main__":
    ensure()
    run_until_stopped(lambda stack: stack.enter_context(opensearch_node()))
