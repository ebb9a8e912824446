"""A bounded mapping evicts the least recently used entry."""

from __future__ import annotations

from collections import OrderedDict

from hypothesis import given
from hypothesis import strategies as st

from session.resilience.lru import Lru

ACTS = st.lists(st.tuples(st.sampled_from(("put", "use", "peek", "pop")), st.integers(0, 6)), max_size=60)


def test_least_recently_used_entry_is_evicted() -> None:
    latest: Lru[str, int] = Lru(2)
    latest.put("a", 1)
    latest.put("b", 2)
    assert latest.use("a") == 1
    latest.put("c", 3)
    assert "b" not in latest
    assert (latest.peek("a"), latest.peek("c"), len(latest)) == (1, 3, 2)


def test_peek_does_not_count_as_use() -> None:
    latest: Lru[str, int] = Lru(2)
    latest.put("a", 1)
    latest.put("b", 2)
    assert "a" in latest
    assert latest.peek("a") == 1
    latest.put("c", 3)
    assert "a" not in latest


@given(ACTS, st.integers(1, 4))
def test_lru_holds_the_last_entries_of_an_unbounded_ordered_mapping(acts: list[tuple[str, int]], most: int) -> None:
    latest: Lru[int, int] = Lru(most)
    every: OrderedDict[int, int] = OrderedDict()
    for number, (act, key) in enumerate(acts):
        if act == "put":
            latest.put(key, number)
            every[key] = number
            every.move_to_end(key)
        elif act == "use" and latest.use(key) is not None:
            every.move_to_end(key)
        elif act == "pop":
            latest.pop(key)
            every.pop(key, None)
        while len(every) > most:
            every.popitem(last=False)
        assert {k: latest.peek(k) for k in range(7) if k in latest} == dict(every)


def test_iteration_is_from_the_least_to_the_most_recently_used() -> None:
    lru: Lru[str, int] = Lru(2)
    lru.put("a", 1)
    lru.put("b", 2)
    assert lru.use("a") == 1
    lru.put("c", 3)
    assert (list(lru), list(reversed(lru)), list(lru.values())) == (["a", "c"], ["c", "a"], [1, 3])
    assert (lru.use("b"), lru.peek("b"), lru.pop("b")) == (None, None, None)


def test_put_counts_as_use_and_peek_does_not() -> None:
    lru: Lru[str, int] = Lru(2)
    lru.put("a", 1)
    lru.put("b", 2)
    assert lru.peek("a") == 1
    assert "a" in lru
    assert list(lru) == ["a", "b"]
    lru.put("a", 3)
    assert (list(lru), len(lru)) == (["b", "a"], 2)


def test_pop_while_removes_the_oldest_entries_up_to_the_first_mismatch() -> None:
    lru: Lru[str, int] = Lru(9)
    for name, value in (("a", 1), ("b", 2), ("c", 9), ("d", 1)):
        lru.put(name, value)
    lru.pop_while(lambda value: value < 5)
    assert list(lru) == ["c", "d"]
    assert lru.pop("c") == 9
    lru.pop_while(lambda value: True)
    assert list(lru) == []


@given(ACTS, st.integers(1, 4), st.integers(1, 12))
def test_lru_with_a_byte_limit_never_exceeds_it(acts: list[tuple[str, int]], most: int, most_bytes: int) -> None:
    """This holds for values of any size; a value larger than the limit is not kept."""
    latest: Lru[int, int] = Lru(most, most_bytes, lambda value: value % 7)
    for number, (act, key) in enumerate(acts):
        if act == "put":
            latest.put(key, number)
            assert key in latest or number % 7 > most_bytes
        elif act == "pop":
            latest.pop(key)
        else:
            latest.use(key)
        assert latest.bytes == sum(value % 7 for value in latest.values()) <= most_bytes
        assert len(latest) <= most
    latest.clear()
    assert (list(latest), latest.bytes) == ([], 0)
    latest.put(1, 1)
    assert latest.bytes == 1
