"""Which publisher's a magazine is, as far as the well-known ones go: catalogues know magazines, shoppers say publishers.

The table (publishers.json) is this project's own, written by hand: a publisher's spellings and the names of its magazines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Publisher:
    """A name to show, and the names of magazines."""

    name: str
    magazines: tuple[str, ...]


@cache
def publishers() -> Mapping[str, Publisher]:
    """By each spelling, normalised. The first time it reads a file."""
    table = json.loads(files("tools.store.search.reading").joinpath("publishers.json").read_text(encoding="utf-8"))
    return {
        spelling: Publisher(name, tuple(entry["magazines"]))
        for name, entry in table.items()
        for spelling in entry["spelled"]
    }
