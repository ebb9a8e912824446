"""A register of named values that are added, replaced and withdrawn, compared with a model."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tools.registry import MOST_WITHDRAWN, Register

FIRST = ("zebra", "ape")
NAMES = st.sampled_from([*FIRST, "bee", "cat", "dog", "eel"])


class Comings(RuleBasedStateMachine):
    """The same told of two dictionaries, in the order in which things went."""

    def __init__(self) -> None:
        super().__init__()
        self.register: Register[int] = Register(FIRST)
        self.there: dict[str, int] = {}
        self.gone: dict[str, int] = {}
        self.changes = self.told = self.version = 0
        self.register.on_change(self.hear)

    def hear(self) -> None:
        self.told += 1

    def put(self, name: str) -> int:
        self.version += 1
        self.gone.pop(name, None)
        self.there[name] = self.version
        return self.version

    def take(self, name: str) -> None:
        if name in self.there:
            self.gone[name] = self.there.pop(name)

    @rule(present=st.lists(NAMES, unique=True), gone=st.lists(NAMES, unique=True))
    def many_at_once(self, present: list[str], gone: list[str]) -> None:
        for name in gone:
            if name not in present:
                self.take(name)
        self.register.exchange({name: self.put(name) for name in present}, gone)
        self.changes += 1

    @invariant()
    def what_is_there_is_found_in_order(self) -> None:
        rest = sorted(set(self.there) - set(FIRST))
        order = [name for name in (*FIRST, *rest) if name in self.there]
        assert self.register.names() == order
        assert self.register.all() == [self.there[name] for name in order]
        assert len(self.register) == len(order)
        assert all(self.register.get(name) == value for name, value in self.there.items())

    @invariant()
    def what_went_is_found_but_not_current(self) -> None:
        for name in (*FIRST, "bee", "cat", "dog", "eel"):
            assert (name in self.register) is (name in self.there)
            assert self.register.current(name) == self.there.get(name)
            assert self.register.get(name) == self.there.get(name, self.gone.get(name))

    @invariant()
    def every_change_is_told_once(self) -> None:
        assert self.told == self.changes


TestComings = Comings.TestCase


def test_held_value_stays_the_same_after_a_replacement() -> None:
    register: Register[list[int]] = Register()
    register.exchange({"one": [1]})
    held = register.get("one")
    register.exchange({"one": [2]})
    assert (held, register.get("one")) == ([1], [2])


def test_a_bounded_number_of_withdrawn_names_is_remembered() -> None:
    register: Register[int] = Register()
    for number in range(1000):
        register.exchange({f"n{number}": number})
        register.exchange({}, [f"n{number}"])
    kept = [number for number in range(1000) if register.get(f"n{number}") is not None]
    assert kept == list(range(1000 - MOST_WITHDRAWN, 1000))
