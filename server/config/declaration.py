"""How a setting is declared: a field of a dataclass with its rule, its default and its words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from typing import Any

from server.config.parsing import Rule, parsed

PREFIX = "MANGA_"


def setting(parse: Callable[[str], Any], default: Any, about: str, *, secret: bool = False) -> Any:
    """Declares one. `about` is what the documents say of it; the range that a `Rule` allows is added to it."""
    if isinstance(parse, Rule):
        about = f"{about} {parse.allowed}."
    return field(default=default, repr=not secret, metadata={"parse": parse, "about": about})


def stated(declared: Any, environment: Mapping[str, str]) -> dict[str, Any]:
    """Returns those of the `declared` dataclass that an environment states, by field. Raises `SettingError` for a value that
    cannot be used."""
    known = {PREFIX + each.name.upper(): each for each in fields(declared)}
    return {
        each.name: parsed(name, environment[name], each.metadata["parse"])
        for name, each in known.items()
        if environment.get(name, "").strip()
    }
