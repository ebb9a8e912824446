"""What an index was built from, and what it is called for that."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from tools.store.ports import Embedder

FORMAT = "3"
"""Of the documents: what their columns hold, and how it is packed. Count on when that changes, for a server cannot read what
another format wrote. Whatever the index is created with counts by itself (`definition`).
"""

_FINGERPRINT = 16
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Identity:
    """What an index was built from and with. Two of the same identity hold the same."""

    format: str
    definition: str
    embedder: str | None
    dimensions: int
    titles: int
    content: str

    @property
    def fingerprint(self) -> str:
        return digest(self.meta())

    def meta(self) -> Json:
        return asdict(self)

    @classmethod
    def from_meta(cls, meta: Json) -> Identity:
        """Raises LookupError and TypeError for what this server did not write."""
        embedder = meta["embedder"]
        return cls(
            str(meta["format"]),
            str(meta["definition"]),
            None if embedder is None else str(embedder),
            int(meta["dimensions"]),
            int(meta["titles"]),
            str(meta["content"]),
        )

    def disagreement(self, embedder: Embedder) -> str | None:
        """Why vectors of `embedder` can't be compared with those of the index; None when they can."""
        if self.embedder is None:
            return "the index has no vectors: load the catalogue again with an embedder"
        if (self.embedder, self.dimensions) == (embedder.name, embedder.dimensions):
            return None
        return (
            f"the index was made with {self.embedder} ({self.dimensions} dimensions), "
            f"this server embeds with {embedder.name} ({embedder.dimensions}): "
            "set MANGA_EMBEDDER as it was, or load the catalogue again"
        )


def index_name(alias: str, identity: Identity) -> str:
    return f"{alias}-{identity.fingerprint}"


def filling(name: str) -> str:
    """The alias that an index is written by while it is loaded. A write to an index that is gone would make one of that
    name, with a mapping by guess; one to an alias that is gone is refused."""
    return f"{name}-filling"


def is_index_of(alias: str, name: str) -> bool:
    return re.fullmatch(rf"{re.escape(alias)}-[0-9a-f]{{{_FINGERPRINT}}}", name) is not None


def digest(described: Any) -> str:
    """A short name for whatever JSON can say, the same for the same."""
    return sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:_FINGERPRINT]
