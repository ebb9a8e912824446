"""How people and models write which volume they mean."""

from __future__ import annotations

import re

from tools.volumes.asked import NEXT

NUMBERED = re.compile(r"(?:vol(?:ume)?s?\.?|第|#)?\s*([0-9]{1,4})\s*(?:巻|かん)?", re.IGNORECASE)
NEXT_IN_JAPANESE = frozenset({"次", "次巻", "次の巻"})


def volume_meant(text: str) -> int | str:
    """Takes "vol. 12" and 第12巻 for 12, and 次巻 for "next". Anything else stays as it is, but for its case."""
    plain = text.strip()
    if found := NUMBERED.fullmatch(plain):
        return int(found[1])
    return NEXT if plain in NEXT_IN_JAPANESE else plain.lower()
