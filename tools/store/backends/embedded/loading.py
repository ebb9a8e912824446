"""A catalogue file to a searchable engine, through what is kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from tools.store.backends.embedded.columns import TitleColumns, build_columns
from tools.store.backends.embedded.computed import FORMAT, ComputedStore, StaleArraysError, index_arrays, index_from
from tools.store.backends.embedded.engine import Engine
from tools.store.backends.embedded.index import LexicalIndex, build_index
from tools.store.backends.embedded.vectors import VectorPlan, plan_vectors
from tools.store.backends.embedding import single_threaded_blas
from tools.store.records.catalog_file import parse, read_bytes
from tools.store.search.query.parser import QueryParser
from tools.store.tags import Vocabulary, shipped

Progress = Callable[[int, int, str], None]
_STEPS = 3


@dataclass(frozen=True, slots=True)
class Loaded:
    """`key` identifies the content and the format of everything computed from it. `plan` is what to embed, where it was made
    together with the rest."""

    columns: TitleColumns
    engine: Engine
    key: str
    plan: VectorPlan | None = None

    def planned(self) -> VectorPlan:
        """Blocking, where it was not made."""
        return self.plan or plan_vectors(self.columns.titles)


def load_catalog(
    path: Path, store: ComputedStore, progress: Progress | None = None, vocabulary: Vocabulary | None = None
) -> Loaded:
    """Parses the whole file before anything else. Raises CatalogFileError. Blocking: seconds for tens of thousands of
    titles.
    """
    single_threaded_blas()
    content = read_bytes(path)
    vocabulary = vocabulary or shipped()
    key = f"{FORMAT}/{sha256(content + vocabulary.digest.encode()).hexdigest()}"
    _tell(progress, 0, "read")
    records = parse(content, vocabulary)
    columns = build_columns([title for title, _ in records], [offers for _, offers in records])
    _tell(progress, 1, "parsed")
    index = _index(columns, store, key)
    _tell(progress, 2, "indexed")
    engine = Engine(columns, index, QueryParser.load(vocabulary))
    _tell(progress, _STEPS, "ready")
    return Loaded(columns, engine, key)


def _index(columns: TitleColumns, store: ComputedStore, key: str) -> LexicalIndex:
    arrays = store.load("index", key)
    if arrays is not None:
        try:
            return index_from(arrays, len(columns), len(columns.authors))
        except StaleArraysError:
            pass
    index = build_index(columns.titles)
    store.save("index", key, index_arrays(index))
    return index


def _tell(progress: Progress | None, done: int, what: str) -> None:
    if progress is not None:
        progress(done, _STEPS, what)
