"""Addresses with variables in them: RFC 6570 as far as its first level, `manga://titles/{title_id}`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import unquote

LONGEST_VALUE = 256
VARIABLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class UriTemplate:
    """A variable is a segment of the address, percent-encoded, at most 256 characters, with a slash before the next one: so
    an address is read in one pass."""

    text: str
    variables: tuple[str, ...] = field(init=False)
    _pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raises ValueError for what is no such template."""
        literals, names = VARIABLE.split(self.text)[::2], VARIABLE.findall(self.text)
        bare = "".join(literals)
        if (
            not names
            or len(set(names)) != len(names)
            or "{" in bare
            or "}" in bare
            or any("/" not in each for each in literals[1:-1])
        ):
            raise ValueError(f"{self.text!r} is no URI template with variables of their own")
        segment = rf"([^/?#\x00-\x20\x7f]{{1,{LONGEST_VALUE}}})"
        object.__setattr__(self, "variables", tuple(names))
        object.__setattr__(self, "_pattern", re.compile(segment.join(map(re.escape, literals))))

    def match(self, uri: str) -> dict[str, str] | None:
        """Returns the variables of an address, decoded; None for one that is not of this template."""
        found = self._pattern.fullmatch(uri)
        return dict(zip(self.variables, map(unquote, found.groups()), strict=True)) if found else None
