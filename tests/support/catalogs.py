"""The demo catalogue in every implementation of the catalogue's port. The test bodies never learn which one they ask."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.seed.index import Loading, Plan, Progress
from session.resilience.deadline import Deadline
from tests.support.standby import bundle_of, open_standby_bundle
from tools.store.backends.embedded.catalog import EmbeddedCatalog
from tools.store.backends.embedding import LocalEmbedder
from tools.store.backends.opensearch.address import OpenSearchAddress
from tools.store.backends.opensearch.catalog import OpenSearchCatalog
from tools.store.backends.opensearch.client import Client
from tools.store.models import Title
from tools.store.ports import CatalogPort, Embedder
from tools.store.records.catalog_file import Record
from tools.store.records.catalog_file import load as read_records

CATALOG = Path(__file__).resolve().parents[2] / "infra" / "demo" / "catalog.jsonl"
CATALOGS = ["embedded", "opensearch", "standby"]


@pytest.fixture(scope="session")
def catalog_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo catalogue, where some titles have a publisher, as other shops' have one."""
    houses: tuple[dict[str, str], ...] = ({}, {"publisher": "Harbour Press"}, {}, {"publisher": "青空書房"})
    rows = enumerate(CATALOG.read_text("utf-8").splitlines())
    path = tmp_path_factory.mktemp("records") / "catalog.jsonl"
    lines = (json.dumps({**json.loads(row), **houses[number % len(houses)]}, ensure_ascii=False) for number, row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


@pytest.fixture(scope="session")
def records(catalog_file: Path) -> tuple[Record, ...]:
    return read_records(catalog_file)


@pytest.fixture(scope="session")
def titles(records: Sequence[Record]) -> tuple[Title, ...]:
    return tuple(title for title, _ in records)


@pytest.fixture(scope="session")
def local_embedder() -> Iterator[LocalEmbedder]:
    """The real one, warm."""
    embedder = LocalEmbedder()
    in_a_loop_of_its_own(embedder.embed(["warm up"], Deadline.after(60)))
    yield embedder
    embedder.close()


@pytest.fixture(scope="session")
def opensearch_catalog(opensearch_url: str, records: Sequence[Record], local_embedder: Embedder) -> OpenSearchAddress:
    """The demo catalogue on a real node. It is only read, so that one loading serves every test."""
    address = new_address(opensearch_url)
    in_a_loop_of_its_own(loaded(address, records, local_embedder))
    return address


@pytest.fixture(scope="session")
def standby_bundle(tmp_path_factory: pytest.TempPathFactory, records: Sequence[Record], local_embedder: Embedder) -> Path:
    """The demo catalogue as the seed makes a bundle of it."""
    path = tmp_path_factory.mktemp("standby") / "full.bundle"
    return in_a_loop_of_its_own(bundle_of(path, records, local_embedder))


@pytest.fixture(scope="session")
def catalog_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("catalog")


@pytest.fixture(params=CATALOGS)
def catalog_source(request: pytest.FixtureRequest) -> OpenSearchAddress | Path | None:
    """Where the catalogue under test is, a standby's bundle among the places; None for the embedded one."""
    fixtures = {"opensearch": "opensearch_catalog", "standby": "standby_bundle"}
    return request.getfixturevalue(fixtures[request.param]) if request.param in fixtures else None


@pytest.fixture
async def catalog(
    catalog_source: OpenSearchAddress | Path | None,
    local_embedder: LocalEmbedder,
    catalog_cache: Path,
    catalog_file: Path,
) -> AsyncIterator[CatalogPort]:
    async with _opened(catalog_source, local_embedder, catalog_cache, catalog_file) as opened:
        yield opened


@asynccontextmanager
async def _opened(
    source: OpenSearchAddress | Path | None, embedder: Embedder, cache: Path, file: Path
) -> AsyncIterator[CatalogPort]:
    if isinstance(source, Path):
        async with open_standby_bundle(source, embedder) as there:
            yield there
        return
    if source is not None:
        async with OpenSearchCatalog.open(source, embedder) as there:
            yield there
        return
    async with EmbeddedCatalog.open(file, embedder, cache_dir=cache) as here:
        await here.wait_for_vectors()
        yield here


def new_address(url: str) -> OpenSearchAddress:
    """An alias that nobody else uses."""
    return replace(OpenSearchAddress.parse(url), alias=f"t{uuid.uuid4().hex[:10]}")


async def loaded(
    address: OpenSearchAddress,
    records: Sequence[Record],
    embedder: Embedder | None,
    *,
    progress: Progress = lambda done, total, what: None,
    dry_run: bool = False,
) -> Plan:
    """Loads the records into service as the seed does."""
    client = Client(address)
    try:
        loading = Loading(client, records, embedder, progress)
        plan = await loading.plan()
        if not dry_run and not plan.nothing_to_do:
            await loading.run(plan)
        return plan
    finally:
        await client.aclose()


def in_a_loop_of_its_own(work: Coroutine[Any, Any, Any]) -> Any:
    """Session fixtures are made before any test's loop, and must not leave one behind."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, work).result()
