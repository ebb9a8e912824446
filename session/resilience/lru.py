"""A bounded mapping that forgets what was used longest ago."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, ValuesView
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Lru(Generic[Key, Value]):
    """At most `most` values, 1 or more: those that were put or used last. None is no value. Where `size_of` tells how many
    bytes a value has, they have at most `most_bytes` together."""

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
        """The last used last."""
        return iter(self._values)

    def __reversed__(self) -> Iterator[Key]:
        """The last used first."""
        return reversed(self._values)

    def values(self) -> ValuesView[Value]:
        """The last used last."""
        return self._values.values()

    def __contains__(self, key: object) -> bool:
        """Asking counts as no use."""
        return key in self._values

    def peek(self, key: Key) -> Value | None:
        """What is kept under `key`, without using it: for whoever keeps the books, and where values expire in the order in
        which they were put. Whoever needs the value uses it: or else what is asked for most goes as early as the rest."""
        return self._values.get(key)

    def use(self, key: Key) -> Value | None:
        """What is kept under `key`, which is now the last to be forgotten."""
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
        """Forgets what was used longest ago, as long as it is `over`."""
        while self._values and over(next(iter(self._values.values()))):
            self.pop(next(iter(self._values)))

    def clear(self) -> None:
        self._values.clear()
        self._sizes.clear()
        self.bytes = 0
