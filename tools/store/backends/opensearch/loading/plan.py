"""What a load is going to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """What a load would do, or did. `there` titles were in the index before; `replaces` is what served until then."""

    index: str
    titles: int
    there: int
    serving: bool
    replaces: tuple[str, ...]

    @property
    def nothing_to_do(self) -> bool:
        return self.serving and self.there == self.titles
