"""The Lua scripts, read from beside this file: every write that must be atomic is one of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Script:
    """`digest` is what Redis knows the text by (SHA-1, the EVALSHA contract, not a security measure)."""

    name: str
    text: str
    digest: str

    @classmethod
    def load(cls, name: str) -> Script:
        text = files(__package__).joinpath(f"{name}.lua").read_text("utf-8")
        return cls(name, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())
