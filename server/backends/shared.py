"""What several processes of one server have in common: loaded once, before the first is forked, and never written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.store.backends.embedded.loading import Loaded


@dataclass(frozen=True, slots=True)
class Shared:
    """Nothing, where a process serves by itself."""

    catalog: Loaded | None = None
    encoder: Any = None
