"""What a customer had before, as what they want more of: "something like last time", "the usual", 前みたいなの.

Which titles those are no text tells; the words themselves are no subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.store.search.reading.claim import Claim

_ENDS = r"(?=$|[,.;!?]| (?:but|and|please|pls|again|only)\b)"
_HAD = r"(?:had|bought|read|got|ordered|liked|enjoyed)"
_AGAIN = re.compile(
    r"\b(?:(?:something|anything|stuff|one|more|mangas?|series|titles?) )?(?:(?:just|exactly|much) )?"
    r"(?:like|similar to|(?:the )?same (?:thing )?as) "
    rf"(?:before|(?:the )?last time|always|what i(?:'ve)? (?:already )?{_HAD}(?: (?:before|last time|last))?"
    rf"|(?:the|my) last (?:ones?|order|purchase|books?|manga)(?: i {_HAD})?){_ENDS}"
    rf"|\b(?:my|the) usual{_ENDS}"
    r"|(?<![^\s、。])(?:前回|この前|前|いつも|以前|先日|最後に)(?:の|に)?(?:(?:買|読)った|(?:買|読)んだ)?(?:の|やつ|もの|漫画|マンガ|作品)?"
    r"(?:みたい|と同じ(?:よう)?|のよう|[にと]似た|っぽい)(?:な|に)?(?:の|やつ|もの|感じ)?(?:で|を|が)?(?=$|[、。])"
    r"|(?<![^\s、。])いつもの(?:やつ|感じ|で)?(?=$|[、。])"
)
_MAY_SAY_SO = re.compile(
    r" as (?:before|what|my|the|al|last)|like (?:before|what|my|the|al|last)|similar to|usual|前|いつも|先日|最後に"
)
"""Which each of these has: most texts are looked at no closer."""


def find_again(text: str) -> Iterator[Claim]:
    """Claims of a normalised text, which state nothing else."""
    matches = _AGAIN.finditer(text) if _MAY_SAY_SO.search(text) else ()
    return (Claim(*match.span(), says="", again=True) for match in matches)
