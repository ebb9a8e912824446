"""The judged sets on a real OpenSearch node, for `make quality` and for comparing it with the embedded catalogue."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256

from tests.quality.measure import Measured, measure
from tests.quality.sets import JudgedSet
from tests.stack import opensearch
from tests.support.catalogs import loaded
from tools.store.backends.embedding import LocalEmbedder
from tools.store.backends.opensearch.address import OpenSearchAddress
from tools.store.backends.opensearch.catalog import OpenSearchCatalog
from tools.store.records.catalog_file import load as read_records

RUNNING = "MANGA_STACK_OPENSEARCH"


@contextmanager
def node_url() -> Iterator[str]:
    """The node that MANGA_STACK_OPENSEARCH names, where what was loaded stays, or one of one's own with its full compiler."""
    if running := os.environ.get(RUNNING):
        yield running
        return
    with opensearch.started(java_options=()) as node:
        yield node.url


async def run_on_opensearch(judged: JudgedSet, url: str, lexical: bool = False) -> list[Measured]:
    """Loads the set's catalogue where it is not there yet, and searches it as it is when it is warm."""
    name = f"quality-{sha256(judged.name.encode()).hexdigest()[:8]}"
    address = replace(OpenSearchAddress.parse(url), alias=name)
    async with LocalEmbedder() as embedder:
        await loaded(address, read_records(judged.catalog), None if lexical else embedder, progress=_progress())
        async with OpenSearchCatalog.open(address, None if lexical else embedder) as catalog:
            queries = judged.queries()
            await measure(catalog, queries)
            return await measure(catalog, queries)


def _progress() -> object:
    """Tells of the load on stderr, every ten seconds."""
    told = time.monotonic()

    def tell(done: int, total: int, what: str) -> None:
        nonlocal told
        if time.monotonic() - told > 10:
            told = time.monotonic()
            print(f"{done} of {total} {what}", file=sys.stderr)

    return tell
