from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, ValuesView
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Lru(Generic[Key, Value]):
    """Mapping of at most `most` values (1 or more), which evicts the least recently used. No value may be None. With
    `size_of`, the values' sizes add up to at most `most_bytes`: a larger value evicts all others and is not kept."""

    def __init__(self, most: int, most_bytes: int = 0, size_of: Callable[[Value], int] | None = None) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._size_of = size_of
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._sizes: dict[Key, int] = {}
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Key]:
        """Iterates over the keys, least recently used first."""
        return iter(self._values)

    def __reversed__(self) -> Iterator[Key]:
        """Iterates over the keys, most recently used first."""
        return reversed(self._values)

    def values(self) -> ValuesView[Value]:
        """Returns the values, least recently used first."""
        return self._values.values()

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def peek(self, key: Key) -> Value | None:
        """Returns the value without marking it as used; None if there is none."""
        return self._values.get(key)

    def use(self, key: Key) -> Value | None:
        """Returns the value and marks it as used; None if there is none."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: Key, value: Value) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if self._size_of is not None:
            size = self._size_of(value)
            self.bytes += size - self._sizes.get(key, 0)
            self._sizes[key] = size
        while len(self._values) > self._most or self.bytes > self._most_bytes:
            self.pop(next(iter(self._values)))

    def pop(self, key: Key) -> Value | None:
        self.bytes -= self._sizes.pop(key, 0)
        return self._values.pop(key, None)

    def pop_while(self, over: Callable[[Value], bool]) -> None:
        while self._values and over(next(iter(self._values.values()))):
            self.pop(next(iter(self._values)))

    def clear(self) -> None:
        self._values.clear()
        self._sizes.clear()
        self.bytes = 0
