"""What is asked of volumes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tools.contract import Json

NEXT = "next"


@dataclass(frozen=True, slots=True)
class Asked:
    """`today` is Japan's day. Without a title it is about a month, by default today's. `offset` counts what was listed
    before; it says nothing where a volume is named."""

    today: str
    title_id: str | None = None
    volume: int | str | None = None
    format: str | None = None
    month: str | None = None
    offset: int | None = None

    @classmethod
    def of(cls, arguments: Json, today: str) -> Asked:
        """`arguments` are validated."""
        about: Json = {} if "title_id" in arguments else {"month": today[:7]}
        volume = arguments.get("volume", NEXT)
        return cls(today, **(about | arguments | ({} if volume == NEXT else {"volume": int(volume)})))


NUMBERED = re.compile(r"(?:vol(?:ume)?s?\.?|第|#)?\s*([0-9]{1,4})\s*(?:巻|かん)?", re.IGNORECASE)
NEXT_IN_JAPANESE = frozenset({"次", "次巻", "次の巻"})


def volume_meant(text: str) -> int | str:
    """Takes "vol. 12" and 第12巻 for 12, and 次巻 for "next". Anything else stays as it is, but for its case."""
    plain = text.strip()
    if found := NUMBERED.fullmatch(plain):
        return int(found[1])
    return NEXT if plain in NEXT_IN_JAPANESE else plain.lower()
