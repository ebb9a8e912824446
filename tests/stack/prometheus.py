"""Debian's Prometheus, with a scrape configuration of one's own, on the loopback; its data go with it."""

from __future__ import annotations

import json
import shutil
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.stack.artefacts import StackError
from tests.stack.children import child, free_port, temporary

PROGRAM = "prometheus"
JOB = "manga-tools"
START_SECONDS = 30.0
ASK_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Series:
    """One line: its labels, and what it was when, in seconds since 1970."""

    labels: dict[str, str]
    points: list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Prometheus:
    url: str

    def asked(self, what: str, **words: object) -> Any:
        """The `data` of an answer of its HTTP API. Raises `urllib.error.HTTPError` for a question that it does not take."""
        address = f"{self.url}/api/v1/{what}?{urllib.parse.urlencode(words)}"
        with urllib.request.urlopen(address, timeout=ASK_SECONDS) as answer:
            return json.load(answer)["data"]

    def over(self, expression: str, start: float, end: float, step: float) -> list[Series]:
        """What an expression was from start to end; points that are no number (0 / 0) are none."""
        found = self.asked("query_range", query=expression, start=start, end=end, step=step)["result"]
        lines = [Series(each["metric"], [(at, float(value)) for at, value in each["values"]]) for each in found]
        return [Series(each.labels, [(at, value) for at, value in each.points if value == value]) for each in lines]


def missing() -> str | None:
    """Why it can't be started here, or None when it can."""
    return None if shutil.which(PROGRAM) else "prometheus is not installed (Debian: apt-get install prometheus)"


@contextmanager
def prometheus(*targets: str, scrape_seconds: float = 1.0) -> Iterator[Prometheus]:
    """Asks each target, as HOST:PORT, for its /metrics that often. Raises `StackError`."""
    problem = missing()
    if problem:
        raise StackError(problem)
    with temporary("prometheus") as folder:
        every = f"{round(scrape_seconds * 1000)}ms"
        jobs = [{"job_name": JOB, "static_configs": [{"targets": list(targets)}]}]
        config = {"global": {"scrape_interval": every, "scrape_timeout": every}, "scrape_configs": jobs}
        (folder / "prometheus.yml").write_text(json.dumps(config), encoding="utf-8")
        url = f"http://127.0.0.1:{(port := free_port())}"
        options = {
            "config.file": folder / "prometheus.yml",
            "storage.tsdb.path": folder / "data",
            "web.listen-address": f"127.0.0.1:{port}",
            "enable-feature": "exemplar-storage",
        }
        command = [PROGRAM, *(f"--{name}={value}" for name, value in options.items())]
        with child("Prometheus", command, folder / "said.log") as process:
            process.wait_until(lambda: is_ready(url), START_SECONDS)
            yield Prometheus(url)


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/-/ready", timeout=ASK_SECONDS) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
