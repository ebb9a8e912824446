"""What has to be, as Japanese says it by two negations: 完結していないと困る, 5巻以内じゃなきゃ嫌.

Read word by word each would be the opposite of what is meant, so that the two are taken out before anything is read.
"""

from __future__ import annotations

import re

_BAD = (
    r"(?:困[るりっ](?:ます|ちゃう|て)?|(?:だめ|ダメ|駄目|嫌(?!い)|いや|イヤ|やだ|無理|ムリ)|いけ(?:ない|ません)|なら(?:ない|ん)|なりません"
    r"|つまら(?:ない|ん)|意味(?:が|は)?(?:ない|ありません)|(?:買え|買わ|読め|読ま|選ば)(?:ない|ません))"
    r"(?:です|なん|んです|だ|の|な|よ|ので|から|けど){0,3}"
)
_UNLESS = rf"(?:ないと|な(?:きゃ|ければ|くちゃ|くては)|ねば)、?(?:ちょっと|絶対|絶対に|とても|少し)?{_BAD}"
_NEEDED = re.compile(
    rf"(?P<does>て)い?{_UNLESS}|(?P<noun>じゃ|では|で){_UNLESS}|(?P<adjective>(?<=[\u3400-\u9fffぁ-んァ-ヶー])く){_UNLESS}"
    rf"|(?P<there>が|は|も){_UNLESS}"
)
_MAY_SAY_SO = re.compile(r"ないと|なきゃ|なければ|なくちゃ|なくては|ねば")
"""Which each of these has: most texts are looked at no closer."""
_SAID = {"does": "ている", "noun": "で", "adjective": "い", "there": "がある"}


def needed(text: str) -> str:
    """A normalised text with what has to be said plainly: 完結しているもの in place of 完結していないと困る."""
    return _NEEDED.sub(_plainly, text) if _MAY_SAY_SO.search(text) else text


def _plainly(match: re.Match[str]) -> str:
    """A noun at the end of a text needs no particle."""
    said = _SAID[match.lastgroup or ""]
    return "" if said == "で" and match.end() == len(match.string) else said
