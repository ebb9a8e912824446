"""Where a seed goes to: indices and tables of one test's own, in the real servers."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest

from infra.seed.__main__ import main
from server.config.settings import DEMO
from tests.stack.dynamodb import KEYS, REGION
from tests.support.stack import seeded

TITLES = 261
BOUND_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Destination:
    """An alias and tables of one's own in the shared servers, and a look at what is in them."""

    node: str
    endpoint: str
    name: str

    @property
    def settings(self) -> dict[str, str]:
        """Words alone, since most loads here are about other things than meaning."""
        return {
            "MANGA_CATALOG_URL": f"{self.node}/?alias={self.name}",
            "MANGA_STORE_URL": f"dynamodb://{REGION}?endpoint={self.endpoint}&table_prefix={self.name}-",
            "MANGA_EMBEDDER": "none",
        }

    def seed(self, *arguments: str, **settings: str) -> str:
        """What it said. Fails the test when it did not end well. Only what computes vectors is a process of its own."""
        if "MANGA_EMBEDDER" in settings:
            done = seeded({**self.settings, **settings}, *arguments)
            assert done.returncode == 0, done.stderr
            return done.stdout
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as said, redirect_stderr(StringIO()) as why:
            for name, value in (self.settings | settings).items():
                patch.setenv(name, value)
            assert main(arguments) == 0, why.getvalue()
        return said.getvalue()

    def indices(self) -> dict[str, Any]:
        found = httpx.get(f"{self.node}/{self.name}-*/_stats/indexing", params={"expand_wildcards": "all"}, timeout=10)
        return {name: each["primaries"]["indexing"]["index_total"] for name, each in found.json()["indices"].items()}

    def remove(self) -> None:
        for name in self.indices():
            httpx.delete(f"{self.node}/{name}", timeout=30)
        for name in self.table_names():
            self.tables.delete_table(TableName=name)

    def serving(self) -> list[str]:
        found = httpx.get(f"{self.node}/_alias/{self.name}", timeout=10)
        return sorted(found.json()) if found.status_code == 200 else []

    def titles(self) -> int:
        body = {"size": 0, "track_total_hits": True}
        found = httpx.post(f"{self.node}/{self.name}/_search", json=body, timeout=10).json()
        return int(found["hits"]["total"]["value"])

    @property
    def tables(self) -> Any:
        return boto3.client("dynamodb", region_name=REGION, endpoint_url=self.endpoint, **KEYS)

    def table_names(self) -> list[str]:
        names = self.tables.list_tables(ExclusiveStartTableName=self.name)["TableNames"]
        return [name for name in names if name.startswith(f"{self.name}-")]

    def items(self, table: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for page in self.tables.get_paginator("scan").paginate(TableName=f"{self.name}-{table}"):
            found += page["Items"]
        return found


def demo_of(path: Path, titles: int) -> Path:
    """The first titles of the demo catalogue, as a catalogue of its own."""
    rows = (DEMO / "catalog.jsonl").read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(rows[:titles]), "utf-8")
    return path


def wait_until(condition: Callable[[], bool], what: str) -> None:
    give_up = time.monotonic() + BOUND_SECONDS
    while not condition():
        assert time.monotonic() < give_up, f"not within {BOUND_SECONDS} s: {what}"
        time.sleep(0.02)


@pytest.fixture
def target(opensearch_url: str, dynamodb_endpoint: str) -> Iterator[Destination]:
    made = Destination(opensearch_url, dynamodb_endpoint, f"seed{uuid.uuid4().hex[:8]}")
    yield made
    made.remove()
