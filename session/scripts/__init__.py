"""Lua scripts beside this file, each of which Redis runs atomically."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files

INCLUDE = re.compile(r"^-- include (\w+)\n", re.MULTILINE)
"""Matches an include line. Shared parts are included as text, since Redis scripts cannot call one another."""


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script and its SHA-1 `digest`, by which EVALSHA runs it."""

    text: str
    digest: str

    @classmethod
    def load(cls, name: str) -> Script:
        text = INCLUDE.sub(lambda found: _text(found[1]), _text(name))
        return cls(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


def _text(name: str) -> str:
    return files(__package__).joinpath(f"{name}.lua").read_text("utf-8")
