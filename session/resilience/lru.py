from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Lru(OrderedDict[Key, Value]):
    """Mapping of at most `most` values (1 or more), which evicts the least recently used and has that first. No value may
    be None. With `size_of`, the values' sizes add up to at most `most_bytes`: a larger value evicts all others and is not
    kept. Only `put`, `use`, `pop`, `pop_while` and `clear` may change it."""

    def __init__(self, most: int, most_bytes: int = 0, size_of: Callable[[Value], int] | None = None) -> None:
        super().__init__()
        self._most = most
        self._most_bytes = most_bytes
        self._size_of = size_of
        self._sizes: dict[Key, int] = {}
        self.bytes = 0

    def peek(self, key: Key) -> Value | None:
        """Returns the value without marking it as used; None if there is none."""
        return self.get(key)

    def use(self, key: Key) -> Value | None:
        """Returns the value and marks it as used; None if there is none."""
        value = self.get(key)
        if value is not None:
            self.move_to_end(key)
        return value

    def put(self, key: Key, value: Value) -> None:
        self[key] = value
        self.move_to_end(key)
        if self._size_of is not None:
            size = self._size_of(value)
            self.bytes += size - self._sizes.get(key, 0)
            self._sizes[key] = size
        while len(self) > self._most or self.bytes > self._most_bytes:
            self.pop(next(iter(self)))

    def pop(self, key: Key) -> Value | None:  # type: ignore[override]
        """Removes the value and returns it; None if there is none."""
        self.bytes -= self._sizes.pop(key, 0)
        return super().pop(key, None)

    def pop_while(self, over: Callable[[Value], bool]) -> None:
        while self and over(next(iter(self.values()))):
            self.pop(next(iter(self)))

    def clear(self) -> None:
        super().clear()
        self._sizes.clear()
        self.bytes = 0
