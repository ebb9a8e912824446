"""Builds what servers make of equal files and titles once in a process of tests: it is read only, and takes a second.

Every builder keeps its latest few results by the values of its arguments. `forking.py` builds those of the demo before it
forks, so that a forked server has them from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from server.config.settings import DEMO
from session.resilience.clocks import utc_now
from session.resilience.lru import Lru
from tools.store.backends.embedded import catalog, stock_and_orders
from tools.store.catalog import popular
from tools.store.currency import YEN
from tools.store.models import CatalogQuery, Conditions
from tools.store.ports import MOST_POPULAR
from tools.store.search.query.parser import QueryParser
from tools.store.search.reading import reader
from tools.store.tags import shipped

_MOST = 6
"""Results that a builder keeps."""


def _values(*given: Any, **named: Any) -> Hashable:
    return repr((given, named))


def _of_file(path: Path, *given: Any, **named: Any) -> Hashable:
    try:
        state = path.stat()
    except OSError:
        return object()  # whose error is the builder's
    return repr((path, state.st_ino, state.st_size, state.st_mtime_ns, given, named))


def _of_content(content: bytes, *given: Any, **named: Any) -> Hashable:
    vocabulary, *rest = given or (None,)
    return content, None if vocabulary is None else vocabulary.digest, repr((rest, named))


def _of_titles(*given: Any) -> Hashable:
    return tuple(tuple(each) for each in given)


BUILDERS: tuple[tuple[Any, str, Callable[..., Hashable]], ...] = (
    (reader, "_scanner_of", _values),
    (catalog, "parse", _of_content),
    (catalog, "build_columns", _of_titles),
    (catalog, "build_index", _of_titles),
    (stock_and_orders, "read_volumes", _of_file),
    (stock_and_orders, "read_orders", _of_file),
    (popular, "PopularIndex", _of_titles),
)
"""Modules, the builders that they call, and what tells calls apart."""


@contextmanager
def built_once() -> Iterator[None]:
    """Keeps results within the block."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, key in BUILDERS:
            patch.setattr(module, name, _keep(getattr(module, name), key))
        yield


def _keep(build: Callable[..., Any], key: Callable[..., Hashable]) -> Callable[..., Any]:
    made: Lru[Hashable, Any] = Lru(_MOST)
    making = Lock()

    def build_or_recall(*given: Any, **named: Any) -> Any:
        called = key(*given, **named)
        with making:
            if called not in made:
                made.put(called, build(*given, **named))
            return made.use(called)

    return build_or_recall


def build_those_of_the_demo() -> None:
    """Builds what a server of the demo catalogue asks for as it starts."""
    records = catalog.parse(catalog.read_bytes(DEMO / "catalog.jsonl"), shipped(), currency=YEN)
    titles = [title for title, _ in records]
    columns = catalog.build_columns(titles, [offers for _, offers in records])
    engine = catalog.Engine(columns, catalog.build_index(columns.titles), QueryParser(shipped()))
    popular.PopularIndex(engine.search(CatalogQuery("", Conditions(), MOST_POPULAR)).titles)
    stock_and_orders.read_volumes(DEMO / "volumes.jsonl", currency=YEN)
    stock_and_orders.read_orders(DEMO / "orders.jsonl", None, YEN)
    reader._scanner_of(engine.terms, utc_now().year, shipped().own, YEN)
