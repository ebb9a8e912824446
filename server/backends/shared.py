"""What several processes of one server have in common: loaded once, before the first is forked, and never written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.store.backends.embedded.loading import Loaded
    from tools.store.backends.embedded.releases import EmbeddedReleases
    from tools.store.backends.embedded.titles import EmbeddedTitles


@dataclass(frozen=True, slots=True)
class SharedStore:
    """What the embedded store is of: `file` has stock and orders."""

    titles: EmbeddedTitles
    releases: EmbeddedReleases
    file: Path


@dataclass(frozen=True, slots=True)
class Shared:
    """Nothing, where a process serves by itself. `people` is the file of what customers did and stated, which all write."""

    catalog: Loaded | None = None
    encoder: Any = None
    store: SharedStore | None = None
    people: Path | None = None
