"""The lexical index and the vectors to and from the arrays that are kept on disk."""

from __future__ import annotations

import numpy as np

from tools.store.backends.embedded.computed import Arrays, pack, unpack
from tools.store.backends.embedded.lexical.index import LexicalIndex, NameRows, PeopleRows
from tools.store.backends.embedded.lexical.sparse import SparseIndex

_ROWS = 512
"""Of a matrix that are looked at together."""


class StaleArraysError(ValueError):
    """Arrays that do not fit the catalogue they claim to be computed from."""


def index_arrays(index: LexicalIndex) -> Arrays:
    names, people = index.names, index.people
    return {
        "names.keys": pack(tuple(names.keys)),
        "names.titles": names.titles,
        "names.main": names.main,
        "people.keys": pack(tuple(people.keys)),
        "people.authors": people.authors,
        "people.part": people.part,
        **_sparse_arrays("names", names.grams),
        **_sparse_arrays("people", people.grams),
        **_sparse_arrays("prose", index.prose),
    }


def index_from(arrays: Arrays, titles: int, authors: int) -> LexicalIndex:
    """Raises StaleArraysError if anything is missing or out of range."""
    try:
        index = LexicalIndex(_names(arrays), _people(arrays), _sparse("prose", arrays))
    except (KeyError, ValueError, TypeError) as error:
        raise StaleArraysError(str(error)) from error
    names, people = index.names, index.people
    _require(len(names.keys) == len(names.titles) == len(names.main) == names.grams.size, "names")
    _require(len(people.keys) == len(people.authors) == len(people.part) == people.grams.size, "people")
    _require(_in_range(names.titles, titles) and _in_range(people.authors, authors) and index.prose.size == titles, "titles")
    return index


def _names(arrays: Arrays) -> NameRows:
    titles, main = arrays["names.titles"].astype(np.int32), arrays["names.main"].astype(np.bool_)
    return NameRows(unpack(arrays["names.keys"]), titles, main, _sparse("names", arrays))


def _people(arrays: Arrays) -> PeopleRows:
    authors, part = arrays["people.authors"].astype(np.int32), arrays["people.part"].astype(np.bool_)
    return PeopleRows(unpack(arrays["people.keys"]), authors, part, _sparse("people", arrays))


def _sparse_arrays(name: str, index: SparseIndex) -> Arrays:
    return {
        f"{name}.terms": pack(tuple(index.vocabulary)), f"{name}.starts": index.starts, f"{name}.rows": index.rows,
        f"{name}.weights": index.weights, f"{name}.idf": index.idf, f"{name}.size": np.array(index.size),
    }  # fmt: skip


def _sparse(name: str, arrays: Arrays) -> SparseIndex:
    terms = unpack(arrays[f"{name}.terms"])
    starts, rows = arrays[f"{name}.starts"].astype(np.int64), arrays[f"{name}.rows"].astype(np.int32)
    weights, idf = arrays[f"{name}.weights"].astype(np.float32), arrays[f"{name}.idf"].astype(np.float32)
    size = int(arrays[f"{name}.size"])
    _require(len(starts) == len(terms) + 1 == len(idf) + 1 and len(rows) == len(weights), name)
    _require(
        bool(starts[0] == 0 and starts[-1] == len(rows) and (np.diff(starts) >= 0).all()) and _in_range(rows, size), name
    )
    return SparseIndex({term: i for i, term in enumerate(terms)}, starts, rows, weights, idf, size)


def _in_range(numbers: np.ndarray[tuple[int, ...], np.dtype[np.int32]], size: int) -> bool:
    return not len(numbers) or bool(numbers.min() >= 0 and numbers.max() < size)


def _require(good: bool, what: str) -> None:
    if not good:
        raise StaleArraysError(what)


def fits(matrix: np.ndarray[tuple[int, ...], np.dtype[np.float32]], texts: int, dimensions: int) -> bool:
    """Whether it is (texts, dimensions) of finite numbers. Looked at in pieces: what a thread has used once its process
    keeps, and a byte for each number are eleven megabytes of a large catalogue."""
    pieces = (matrix[first : first + _ROWS] for first in range(0, len(matrix), _ROWS))
    return matrix.shape == (texts, dimensions) and all(bool(np.isfinite(each).all()) for each in pieces)
