"""A bounded mapping that forgets what was used longest ago."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, ValuesView
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Lru(Generic[Key, Value]):
    """At most `most` values, 1 or more: those that were put or used last. None is no value."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Key, Value] = OrderedDict()

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
        while len(self._values) > self._most:
            self._values.popitem(last=False)

    def pop(self, key: Key) -> Value | None:
        return self._values.pop(key, None)

    def pop_while(self, over: Callable[[Value], bool]) -> None:
        """Forgets what was used longest ago, as long as it is `over`."""
        while self._values and over(next(iter(self._values.values()))):
            self._values.popitem(last=False)

    def clear(self) -> None:
        self._values.clear()
