"""Zipkin from Maven Central, in memory, with a door for OTLP: what draws a trace for the tests, as in docker-compose.yml.

`python -m tests.stack.zipkin` runs one until Ctrl-C: spans go to the address it prints, with OTEL_EXPORTER_OTLP_ENDPOINT, and
the page is below /zipkin of the other.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from tests.stack import artefacts
from tests.stack.artefacts import StackError
from tests.stack.children import child, free_port, run_until_stopped, temporary
from tests.stack.java import java_home, missing_for

SET = "zipkin"
JAVA = 17
START_SECONDS = 60.0
ASK_SECONDS = 10.0
STOP_SECONDS = 0.2
"""It has nothing to keep, and waits for two seconds in case that somebody asks."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """`url` is Zipkin's own address, `otlp` the one for OTEL_EXPORTER_OTLP_ENDPOINT."""

    url: str
    otlp: str

    def spans(self, trace_id: str) -> list[dict[str, Any]]:
        """What it has of a trace so far, as its own pages get it; none for a trace that it does not know."""
        try:
            with urllib.request.urlopen(f"{self.url}/api/v2/trace/{trace_id}", timeout=ASK_SECONDS) as answer:
                return list(json.load(answer))
        except urllib.error.HTTPError as problem:
            if problem.code == 404:
                return []
            raise

    def found(self, **words: object) -> list[list[dict[str, Any]]]:
        """The spans of each trace that fits: `serviceName`, `spanName`, `limit` and the other words of its API."""
        with urllib.request.urlopen(f"{self.url}/api/v2/traces?{urlencode(words)}", timeout=ASK_SECONDS) as answer:
            return list(json.load(answer))

    def page(self, trace_id: str) -> str:
        return f"{self.url}/zipkin/traces/{trace_id}"


def missing() -> str | None:
    """Why it can't be started here, or None when it can."""
    return missing_for("Zipkin", JAVA, fetched=artefacts.is_fetched(SET))


def ensure() -> None:
    """Fetches what is not here yet. Raises `StackError`."""
    artefacts.fetch(SET)


@contextmanager
def viewer() -> Iterator[Viewer]:
    """One of one's own, empty at first and gone at the end. Raises `StackError`."""
    from tests.stack.otlp_door import otlp_door  # `ensure` runs before anything is installed, and this needs packages

    problem = missing()
    if problem:
        raise StackError(problem)
    with temporary("zipkin") as folder:
        port = free_port()
        (jar,) = artefacts.listed(SET)
        # A hotter compiler pays off after minutes; a test run is shorter.
        quick = ["-Xmx160m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", f"-Djava.io.tmpdir={folder}"]
        listen = {"port": port, "ip": "127.0.0.1", "protocols[0]": "http"}
        options = [f"--armeria.ports[0].{name}={value}" for name, value in listen.items()]
        java = [java_home(JAVA) / "bin" / "java", *quick, "-jar", jar.path, *options]
        with child("Zipkin", java, folder / "said.log", stop_seconds=STOP_SECONDS) as process:
            url = f"http://127.0.0.1:{port}"
            process.wait_until(lambda: is_ready(url), START_SECONDS)
            with otlp_door(f"{url}/api/v2/spans") as otlp:
                yield Viewer(url, otlp)


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=ASK_SECONDS) as answer:
            return json.load(answer)["status"] == "UP"
    except (urllib.error.URLError, OSError):
        return False


if __name__ == "__main__":
    ensure()
    run_until_stopped(lambda stack: str(stack.enter_context(viewer())))
