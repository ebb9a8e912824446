"""The series of a title, found once for a whole catalogue: titles whose names begin with one of its names, and those that
the catalogue says are related. Sequels, spin-offs and side stories mostly."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from tools.store.models import Title
from tools.store.search.document import prior
from tools.store.search.names import name_keys
from tools.store.search.text import has_cjk

_ROWS, _MOST = 200, 60


def kin_of_all(titles: Sequence[Title]) -> list[tuple[str, ...]]:
    """For each title the ids of its kin, itself left out, the best known first, at most 60."""
    keys = [(*named.whole, *named.main) for named in map(name_keys, titles)]
    rows = sorted((key, number) for number, group in enumerate(keys) for key in group)
    sorted_keys = [key for key, _ in rows]
    numbers = {title.title_id: number for number, title in enumerate(titles)}
    fame = [prior(title) for title in titles]

    def of(number: int) -> tuple[str, ...]:
        found = {numbers[i] for i in titles[number].related if i in numbers}
        for key in filter(is_telling, keys[number]):
            start = bisect_left(sorted_keys, key)
            stop = min(bisect_left(sorted_keys, key + "\U0010ffff", lo=start), start + _ROWS)
            found.update(owner for _, owner in rows[start:stop])
        found.discard(number)
        return tuple(titles[n].title_id for n in sorted(found, key=lambda n: (-fame[n], n))[:_MOST])

    return [of(number) for number in range(len(titles))]


def is_telling(key: str) -> bool:
    """Long enough that a name beginning with it is kin, not chance."""
    return len(key) >= (3 if has_cjk(key) else 6)
