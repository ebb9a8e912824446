"""The Lua scripts beside this file: each is one atomic write."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files

INCLUDE = re.compile(r"^-- include (\w+)\n", re.MULTILINE)
"""Shared parts of scripts are included as text: Redis scripts cannot call one another."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script. `digest` is the SHA-1 of its text that EVALSHA takes."""

    text: str
    digest: str

    @classmethod
    def load(cls, name: str) -> Script:
        text = INCLUDE.sub(lambda found: _text(found[1]), _text(name))
        return cls(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


def _text(name: str) -> str:
    return files(__package__).joinpath(f"{name}.lua").read_text("utf-8")
