"""What comes and goes while the server runs: values by name, told apart as those that are there and those that were."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

T = TypeVar("T")
Observer = Callable[[], None]

MOST_WITHDRAWN = 256
"""Names that are remembered after they went. Of more than these the longest gone are forgotten."""


class NameTaken(ValueError):
    """Something is registered under that name already."""


class NotRegistered(ValueError):
    """Nothing is registered under that name."""


class Register(Generic[T]):
    """Whoever holds a value keeps the version of it that was registered when they got it: values are never changed, only
    exchanged. Names of `first` are gone through first and in that order, the others by name. One thread
    changes it, the loop's."""

    def __init__(self, first: Iterable[str] = (), most_withdrawn: int = MOST_WITHDRAWN) -> None:
        self._rank = {name: place for place, name in enumerate(first)}
        self._most_withdrawn = most_withdrawn
        self._current: dict[str, T] = {}
        self._withdrawn: dict[str, T] = {}
        self._observers: list[Observer] = []

    def register(self, name: str, value: T) -> None:
        """Adds what is new, or was withdrawn. Raises `NameTaken`."""
        if name in self._current:
            raise NameTaken(f"{name} is registered already; replace it, or withdraw it first")
        self.exchange({name: value})

    def replace(self, name: str, value: T) -> None:
        """Puts another version in its place. Raises `NotRegistered`."""
        self._there(name)
        self.exchange({name: value})

    def withdraw(self, name: str) -> None:
        """Takes it away; `get` still finds it. Raises `NotRegistered`."""
        self._there(name)
        self.exchange({}, [name])

    def exchange(self, present: Mapping[str, T], gone: Iterable[str] = ()) -> None:
        """Withdraws what is `gone`, and puts what is `present` where its name was or was not: to observers one change."""
        leaving = {name: self._current[name] for name in gone if name in self._current and name not in present}
        staying = {name: value for name, value in self._current.items() if name not in leaving}
        withdrawn = {name: value for name, value in self._withdrawn.items() if name not in present} | leaving
        self._current = dict(sorted((staying | dict(present)).items(), key=self._place))
        self._withdrawn = dict(list(withdrawn.items())[-self._most_withdrawn :])
        for observer in self._observers:
            observer()

    def get(self, name: str) -> T | None:
        """Finds what is there, and what was withdrawn as it was last."""
        return self._current[name] if name in self._current else self._withdrawn.get(name)

    def on_change(self, observer: Observer) -> None:
        """Has it called after every change, on the loop and before anything else runs there: it only takes note."""
        self._observers.append(observer)

    def names(self) -> list[str]:
        return list(self._current)

    def __contains__(self, name: object) -> bool:
        """Tells whether it is there now."""
        return name in self._current

    def __iter__(self) -> Iterator[T]:
        """Goes through those that are there as the loop begins, whatever comes and goes meanwhile."""
        return iter(tuple(self._current.values()))

    def __len__(self) -> int:
        return len(self._current)

    def _there(self, name: str) -> None:
        if name not in self._current:
            raise NotRegistered(f"{name} is not registered")

    def _place(self, item: tuple[str, T]) -> tuple[int, str]:
        return self._rank.get(item[0], len(self._rank)), item[0]
