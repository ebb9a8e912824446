"""The Lua scripts, read from beside this file: every write that must be atomic is one of them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files

INCLUDE = re.compile(r"^-- include (\w+)\n", re.MULTILINE)
"""What two scripts have in common stands in a file of its own: Redis has no way to call one from another."""


@dataclass(frozen=True, slots=True)
class Script:
    """`digest` is what Redis knows the text by (SHA-1, the EVALSHA contract, not a security measure)."""

    name: str
    text: str
    digest: str

    @classmethod
    def load(cls, name: str) -> Script:
        text = INCLUDE.sub(lambda found: _text(found[1]), _text(name))
        return cls(name, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


def _text(name: str) -> str:
    return files(__package__).joinpath(f"{name}.lua").read_text("utf-8")
