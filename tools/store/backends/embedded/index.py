"""The lexical index of a catalogue, with names by character n-grams and prose by words, and searches in it for titles and
authors."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.store.backends.embedded.columns import TitleColumns, authors_of
from tools.store.models import NameMatches, Ordering, Title
from tools.store.search.columns import Floats, Mask, Numbers, Rows
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.ranking.names import TYPO_LENGTHS, AskedAuthor
from tools.store.search.text.characters import has_kanji
from tools.store.search.text.romaji import MIN_CONSONANTS, consonants
from tools.store.search.text.tokens import SortedKeys, grams
from tools.store.search.titles.document import AskedName, AuthorKeys, prose_terms
from tools.store.search.titles.names import MOST_TITLES, ExactName, NameKeys, NameTable, exact_names, family_key


@dataclass(frozen=True, slots=True)
class SparseIndex:
    """An inverted index with BM25 weights. `rows[starts[t]:starts[t+1]]` are the rows that contain term number t, with their
    `weights` at the same positions. `idf` is by term number; `size` is the number of rows."""

    vocabulary: Mapping[str, int]
    starts: NDArray[np.int64]
    rows: Numbers
    weights: Floats
    idf: Floats
    size: int

    def measure_coverage(self, asked: Sequence[Sequence[str]]) -> Floats:
        """Returns an array of shape (size,): the BM25 score of each row divided by the query's total idf. A row that
        repeats a term may exceed 1. `asked` has a group of alternative terms for each query word. The frequency of a
        group is the sum of its terms' frequencies; its match in a row is that of its best term."""
        total, most = np.zeros(self.size, np.float32), 1e-6
        for group in asked:
            parts = [
                slice(self.starts[t], self.starts[t + 1]) for term in group if (t := self.vocabulary.get(term)) is not None
            ]
            idf = idf_of(sum(part.stop - part.start for part in parts), self.size)
            best = np.zeros(self.size, np.float32)
            for part in parts:
                rows = self.rows[part]
                best[rows] = np.maximum(best[rows], self.weights[part])
            most += idf
            total += np.float32(idf) * best
        return total / np.float32(most)

    def most_alike(self, terms: Sequence[str], masses: Floats, most: int, among: NDArray[np.bool_] | None = None) -> Numbers:
        """Returns up to `most` rows with the highest Dice coefficients of idf-weighted terms, in no order. `masses` is the
        result of `masses()`; the mask `among` limits the rows."""
        asked = dict.fromkeys(terms)
        dice = 2.0 * self._sum_weights(asked) / (masses + np.float32(self._weight_of(asked)))
        if among is not None:
            dice[~among] = 0.0
        best = np.argpartition(-dice, most)[:most] if len(dice) > most else np.arange(len(dice))
        return np.asarray(best[dice[best] > 0.0], np.int32)

    def masses(self) -> Floats:
        """Returns an array of shape (size,): each row's sum of idf × weight over all its terms, above 0."""
        spread = np.repeat(self.idf, np.diff(self.starts)) * self.weights
        sums = np.bincount(self.rows, weights=spread, minlength=self.size).astype(np.float32)
        return np.asarray(sums + np.float32(1e-6), np.float32)

    def in_vocabulary(self, terms: Sequence[str]) -> float:
        """Returns the share of the terms' total idf that belongs to known terms; 0 without terms."""
        each = dict.fromkeys(terms)
        asked = self._weight_of(each)
        return self._weight_of([term for term in each if term in self.vocabulary]) / asked if asked else 0.0

    def _sum_weights(self, terms: Iterable[str]) -> Floats:
        """Returns an array of shape (size,): each row's sum of idf × weight over the terms."""
        numbers = [t for term in terms if (t := self.vocabulary.get(term)) is not None]
        if not numbers:
            return np.zeros(self.size, np.float32)
        first, last = self.starts[numbers], self.starts[[t + 1 for t in numbers]]
        parts = [slice(*ends) for ends in zip(first.tolist(), last.tolist(), strict=True)]
        values = np.concatenate([self.weights[part] for part in parts])
        values *= np.repeat(self.idf[numbers], last - first)
        rows = np.concatenate([self.rows[part] for part in parts])
        return np.bincount(rows, weights=values, minlength=self.size).astype(np.float32)

    def _weight_of(self, terms: Collection[str]) -> float:
        """Returns the sum of the terms' idf. An unknown term has the highest idf."""
        known = [t for term in terms if (t := self.vocabulary.get(term)) is not None]
        return float(self.idf[known].sum(dtype=np.float64)) + idf_of(0, self.size) * (len(terms) - len(known))


def idf_of(rows: int, size: int) -> float:
    held = min(rows, size)
    return math.log(1.0 + (size - held + 0.5) / (held + 0.5))


def build(documents: Iterable[Mapping[str, float]], *, k1: float, b: float) -> SparseIndex:
    """Builds an index with a row for each document (term → weighted frequency) and BM25 weights from 0 to k1 + 1."""
    vocabulary: dict[str, int] = {}
    terms, rows, frequencies, lengths = [], [], [], []
    for row, document in enumerate(documents):
        for term, frequency in document.items():
            terms.append(vocabulary.setdefault(term, len(vocabulary)))
            rows.append(row)
            frequencies.append(frequency)
        lengths.append(sum(document.values()))
    row_of, often, long = np.array(rows, np.int32), np.array(frequencies, np.float32), np.array(lengths, np.float32)
    size, order = len(lengths), np.argsort(np.array(terms, np.int32), kind="stable")
    counts = np.bincount(np.array(terms, np.int32), minlength=len(vocabulary))
    norm = 1.0 - b + b * long / max(1.0, float(long.mean()) if size else 1.0)
    saturated = often * (k1 + 1.0) / (often + k1 * norm[row_of])
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    idf = np.log(1.0 + (size - counts + 0.5) / (counts + 0.5)).astype(np.float32)
    return SparseIndex(vocabulary, starts, row_of[order], saturated[order].astype(np.float32), idf, size)


@dataclass(frozen=True, slots=True)
class KeyRows:
    """Names in rows, sorted by owner. `keys[r]` is the sound key (phonetic form) of a name of title or author number
    `owners[r]`. `part` marks partial names: a title before its subtitle, or one word of an author's Latin name. `grams`
    finds rows by character n-grams."""

    keys: Sequence[str]
    owners: Numbers
    part: Mask
    grams: SparseIndex


@dataclass(frozen=True, slots=True)
class LexicalIndex:
    """Indexes of title names, author names and prose, cached on disk since they are slow to build. An author's number is the
    position in `TitleColumns.authors`."""

    names: KeyRows
    people: KeyRows
    prose: SparseIndex


def build_index(titles: Sequence[Title]) -> LexicalIndex:
    names, people = map(NameKeys.of, titles), map(AuthorKeys.from_author, authors_of(titles))
    return LexicalIndex(
        _rows(((named.whole, named.main) for named in names), lambda key, part: key),
        # Parts of a name are found by their exact key only.
        _rows(((named.spellings, sorted(named.parts)) for named in people), lambda key, part: "" if part else key),
        build((prose_terms(t) for t in titles), k1=1.2, b=0.25),
    )


def _rows(names: Iterable[tuple[Sequence[str], Sequence[str]]], found_by: Callable[[str, bool], str]) -> KeyRows:
    """Makes a row for each name. `names` has (whole names, partial names) for each owner. `found_by(key, is_part)` returns
    the text to index by n-grams."""
    keys: list[str] = []
    owners: list[int] = []
    parts: list[bool] = []
    for number, groups in enumerate(names):
        for part, group in zip((False, True), groups, strict=True):
            keys.extend(group)
            owners.extend([number] * len(group))
            parts.extend([part] * len(group))
    # Distinct n-grams, weighted by idf alone.
    grammed = (dict.fromkeys(grams(key), 1.0) if key else {} for key in map(found_by, keys, parts))
    return KeyRows(keys, np.array(owners, np.int32), np.array(parts, np.bool_), build(grammed, k1=0.0, b=0.0))


_RECALL = 120


class IndexedNames(NameTable):
    """The names of a whole catalogue, found by n-grams, prefixes and consonants."""

    def __init__(self, rows: KeyRows, titles: int) -> None:
        self._store(rows.keys, rows.owners, rows.part, titles)
        self._grams, self._masses = rows.grams, rows.grams.masses()
        self._loanwords = _by_consonants(rows)
        self._prefixes = SortedKeys((key, row) for row, key in enumerate(rows.keys))

    def _find_alike(self, key: str, among: Mask | None) -> Rows:
        rows = None if among is None else among[self._owners]
        return np.asarray(self._grams.most_alike(grams(key), self._masses, _RECALL, rows), np.intp)

    def _beginning(self, keys: tuple[str, ...]) -> list[int]:
        return list({row for key in keys for row in self._prefixes.beginning_with(key)})

    def _of_consonants(self, skeleton: str, key: str) -> list[int]:
        return self._loanwords.get(skeleton, [])


def _by_consonants(rows: KeyRows) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for row, key in enumerate(rows.keys):
        if key.isascii() and len(skeleton := consonants(key)) >= MIN_CONSONANTS:
            found[skeleton].append(row)
    return found


_RECALLED_AUTHORS = 40


class AuthorSearch:
    """Finds titles by author names. Immutable after construction, so threads may share it. `_ends` has the beginnings and
    ends of names with kanji, among them family and given names; `_families` has the keys of family names."""

    def __init__(self, rows: KeyRows, columns: TitleColumns) -> None:
        self._rows, self._columns = rows, columns
        self._masses = rows.grams.masses()
        self._spelled: dict[str, set[int]] = defaultdict(set)
        self._parts: dict[str, set[int]] = defaultdict(set)
        self._ends: dict[str, set[int]] = defaultdict(set)
        parts: list[set[str]] = [set() for _ in columns.authors]
        spellings: list[list[str]] = [[] for _ in columns.authors]
        for key, author, part in zip(rows.keys, rows.owners.tolist(), rows.part.tolist(), strict=True):
            if part:
                self._parts[key].add(author)
                parts[author].add(key)
                continue
            self._spelled[key].add(author)
            spellings[author].append(key)
            for size in range(1, len(key) + 1) if has_kanji(key) else ():
                self._ends[key[:size]].add(author)
                self._ends[key[-size:]].add(author)
        self._keys = [AuthorKeys(frozenset(p), tuple(s)) for p, s in zip(parts, spellings, strict=True)]
        self._families: dict[str, set[int]] = defaultdict(set)
        for number, known in enumerate(columns.authors):
            self._families[family_key(known)].add(number)

    def written_by(self, asked: str) -> Mask:
        """Returns a mask of shape (titles,) of the titles by an author of this name, as `AskedName.fits` decides."""
        mask = self._columns.none()
        name = AskedName(asked)
        for author in self._find_near(name):
            if name.fits(self._keys[author]):
                mask[self._columns.works[author]] = True
        return mask

    def _find_near(self, asked: AskedName) -> set[int]:
        found = set(self._spelled.get(asked.key, ()))
        for part in asked.words:
            found |= self._parts.get(part, set()) | self._ends.get(part, set())
        return found

    def measure_authorship(self, query: ParsedQuery) -> Floats:
        """Returns an array of shape (titles,): the confidence that the query names an author of each title
        (`AskedAuthor`)."""
        found = np.zeros(len(self._columns), np.float32)
        asked = AskedAuthor(query)
        read = {a for key in asked.readings for known in (self._spelled, self._parts) for a in known.get(key, ())}
        for author in self._candidates(asked.name) | read:
            works = self._columns.works[author]
            found[works] = np.maximum(found[works], np.float32(asked.sureness(self._keys[author])))
        return found

    def count_works(self, name: ExactName) -> int:
        """Counts the titles by authors of this name; if no author has it, those by authors whose family name it may be."""
        authors: Iterable[int] = self._spelled.get(name.key, ())
        if not authors and name.may_be_written_family:
            near = self._ends.get(name.key, ())
            authors = [each for each in near if any(key.startswith(name.key) for key in self._keys[each].spellings)]
        elif not authors and name.may_be_family:
            authors = self._families.get(name.key, ())
        return len({work for author in authors for work in self._columns.works[author].tolist()})

    def _candidates(self, asked: AskedName) -> set[int]:
        """Returns the numbers of the authors that the name may mean. If the name has several words and authors are called
        exactly so, only these; else all that share a part, a spelling or many n-grams with the name."""
        exact = self._spelled.get(asked.key)
        if exact and len(asked.words) > 1:
            return exact
        inside = {a for part in asked.substrings() for a in self._spelled.get(part, ())}
        typed = []
        if len(asked.key) in TYPO_LENGTHS:
            alike = self._rows.grams.most_alike(grams(asked.key), self._masses, _RECALLED_AUTHORS)
            typed = self._rows.owners[alike].tolist()
        return self._find_near(asked) | inside | set(typed)


class ExactNames:
    """Finds titles and authors by exact sound keys. Immutable after construction, so threads may share it."""

    def __init__(self, names: KeyRows, people: AuthorSearch, columns: TitleColumns) -> None:
        self._people, self._columns = people, columns
        self._whole: dict[str, set[int]] = defaultdict(set)
        self._main: dict[str, set[int]] = defaultdict(set)
        for key, title, main in zip(names.keys, names.owners.tolist(), names.part.tolist(), strict=True):
            (self._main if main else self._whole)[key].add(title)
        self._fame = np.empty(len(columns), np.intp)
        self._fame[columns.ordered[Ordering.POPULARITY]] = np.arange(len(columns))

    def find(self, asked: Sequence[str]) -> dict[str, NameMatches]:
        found = {
            each: NameMatches(self._titles(name), self._people.count_works(name))
            for each, name in exact_names(asked).items()
        }
        return {each: called for each, called in found.items() if called != NameMatches()}

    def _titles(self, name: ExactName) -> tuple[str, ...]:
        titles = self._whole.get(name.key) or (self._main.get(name.key) if name.may_precede_subtitle else None)
        best = sorted(titles or (), key=lambda number: int(self._fame[number]))
        return tuple(self._columns.titles[number].title_id for number in best[:MOST_TITLES])
