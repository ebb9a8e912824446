"""Modules imported anew, so that the version that is installed now is the one that runs."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.util import find_spec
from types import ModuleType


class FreshImports:
    """One attempt to import modules anew. Nothing but what is beneath its roots is touched, so that the classes of the
    server itself stay the same for everybody; what the imported code takes out or exchanges is put back."""

    def __init__(self) -> None:
        self.roots = frozenset[str]()
        self._before: dict[str, ModuleType] = {}
        self._others: dict[str, ModuleType] = {}
        self._abandoned = False

    def begin(self, roots: Iterable[str]) -> None:
        """From now on nothing beneath them counts as imported."""
        self.roots = frozenset(roots)
        self._before = _taken_out(self.roots)
        self._others = {name: module for name, module in sys.modules.copy().items() if not _half_imported(module)}

    def end(self) -> None:
        """Says that nothing more will be imported."""
        self._put_back()
        if self._abandoned:
            self.undo()

    def abandon(self) -> None:
        """Does away with it while it may still go on, on another thread: what that imports until its end goes then too."""
        self._abandoned = True
        self._put_back()
        self.undo()

    def keep(self) -> None:
        """Lets go of the version before: there is no way back from here."""
        self._before = {}

    def undo(self) -> None:
        """Puts back what was: the half-imported rest of a failed attempt would be worse than either version."""
        _taken_out(self.roots)
        sys.modules.update(self._before)
        for root in self.roots & set(self._before):
            parent, _, name = root.rpartition(".")
            if parent in sys.modules:
                setattr(sys.modules[parent], name, self._before[root])

    def _put_back(self) -> None:
        """Once: what goes later goes for a reason."""
        others, self._others = self._others, {}
        sys.modules.update(others)


def forget(roots: Iterable[str]) -> None:
    """Lets go of the modules of a package that is gone; calls under way keep what they use."""
    _taken_out(frozenset(roots))


def root_of(module: str) -> str:
    """Returns the outermost package above a module that is no namespace: what is beneath it is one package's own. Raises
    `ImportError` for a name that leads nowhere."""
    parts = module.split(".")
    for length in range(1, len(parts) + 1):
        name = ".".join(parts[:length])
        spec = find_spec(name)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if spec.origin is not None or spec.submodule_search_locations is None:
            return name
    return module


def _half_imported(module: ModuleType) -> bool:
    """By another thread, which takes it out again where that fails."""
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _taken_out(roots: frozenset[str]) -> dict[str, ModuleType]:
    beneath = tuple(f"{root}." for root in roots)
    names = [name for name in list(sys.modules) if name in roots or name.startswith(beneath)]
    taken = {name: sys.modules.pop(name, None) for name in names}
    return {name: module for name, module in taken.items() if module is not None}
