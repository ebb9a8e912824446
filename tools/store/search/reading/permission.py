"""What is allowed after all, or never minded: "no horror. Actually, horror is fine", "I don't mind gore", グロくても平気."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from tools.store.models import Conditions
from tools.store.search.query.wordings import GENRES
from tools.store.search.reading.claim import About, Claim
from tools.store.search.reading.persons import KIN_JA
from tools.store.search.reading.vocabulary import Named, Vocabulary

_MOST = 8
CHANGED = (
    r"(?:\b(?:actually|wait|well|hmm|oh|no|sorry|on second thoughts?|scratch that|never ?mind|come to think of it|i mean"
    r"|changed my mind|because|but|and|though|although|while|i think|i guess)\b[,. ]{0,3}"
    r"|(?:やっぱり|やはり|いや|あ、)、?){0,4}"
)
"""Leads to what one has thought better of."""
_BY = r"(?: (?:for|with|by) (?:me|us|him|her|them|myself|(?:my|our|the) [a-z]{2,12}))"
_AFTERWARDS = rf"(?:{_BY}| too| after all| actually| personally| myself| though| either| now){{0,3}}"
_FINE = (
    r"(?: (?:manga|stuff|stories))?(?:(?:'s|'re| is| are| would be) (?:actually |also |totally |perfectly |absolutely )?"
    rf"(?:fine|ok(?:ay)?|alright|all right|no problem|welcome|good)\b{_AFTERWARDS}"
    rf"| (?:doesn't|does not|don't|do not|won't) (?:bother|scare|upset) (?:me|us|him|her|them)\b{_AFTERWARDS}"
    r"|(?:漫画|マンガ|もの)?(?:(?:は|も|でも|ても)|(?=大丈夫|平気)|(?<=[^ -~])(?=ok))"
    r"(?:ok|オッケー|オーケー|大丈夫|平気|構わない|かまわない"
    r"|構いません|気にしない|気にならない"
    r"|問題ない|いい|あり)(?:です|だ|かな|よ|かも|ので?|し){0,2})"
)
_TAKEN = (
    r"\b(?:i|we|he|she|they|(?:my|our) [a-z]{2,12})"
    r"(?:(?:'m|'s|'re| am| is| are) (?:\w+ )?(?:fine|ok(?:ay)?|cool|comfortable|good) with"
    r"| (?:really )?(?:don't|do not|doesn't|does not|won't|wouldn't) (?:really |actually )?"
    r"mind(?: (?:some|a bit of|a little))?"
    r"| can (?:handle|take|stomach|deal with))(?: (?:the|any|some|all))?"
)
PERMITTED = re.compile(
    rf"{CHANGED}(?:{_TAKEN} (?P<which>[a-z][a-z -]{{2,24}}?){_AFTERWARDS}(?=$|[,.;!?]| but\b)"
    rf"|(?P<what>(?! )(?:(?! but )[^,.;!?、。]){{2,30}}?){_FINE})"
)
_DENIED = re.compile(r"[な無]く$")
"""Not that is what is fine: ホラーじゃなく|てもいい."""
_HINT = re.compile(
    "fine|ok|right|problem|welcome|good|cool|comfortable|bother|scare|upset|mind|handle|take|stomach|deal"
    "|オ|大丈夫|平気|構|かまわ|気に|問題|いい|あり"
)
"""Without a word of these nothing is said to be fine: most texts need no closer look, which costs more than any other."""
_SLIGHT = re.compile(r"\b(?:a (?:little|bit of|touch of)|some|mild(?:ly)?|minor)\b|少し|多少|ちょっと")
_NOT_FOR = re.compile(
    r",? but (?:he|she|they|(?:my|our|the) [a-z]{2,12}) (?:can't|cannot|can not|doesn't|does not|don't|won't|isn't"
    r"|is not|hates?)"
    r"(?: (?:handle|stand|take|like|stomach|ready for|want|allowed))?(?: (?:it|that|them|any))?(?=$|[,.;!?])|"
    r",? (?:but|just|only) (?:definitely |certainly |please )?not (?:for|with) (?:him|her|them|(?:my|our|the) [a-z]{2,12})\b"
    rf"|(?:です|だ)?(?:けれど|けど|が)、?(?:{KIN_JA}|私|僕|俺|自分)(?:さん|ちゃん|くん|君)?に?(?:は|だけは)(?:なし|ナシ|だめ|ダメ|駄目|ng|無理|苦手|早い|避けたい)(?:で|です)?"
)
"""Goes on from what is fine for one to another, for whom it is not."""


class Permission:
    """Finds what is said to be fine. It states something only beside what is not wanted (`hearing.heard`)."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def __call__(self, text: str) -> Iterator[Claim]:
        """Claims of a normalised text, whose conditions are those that it withdraws; and of whom they are not for."""
        matches = list(islice(PERMITTED.finditer(text), _MOST)) if _HINT.search(text) else []
        everything = self._vocabulary.named(text) if matches else ()
        for match in matches:
            words = (match["what"] or match["which"]).strip()
            claim = self._claim(match, words, everything)
            if claim and (other := _NOT_FOR.match(text, claim.end)):
                yield replace(claim, start=other.start(), end=other.end(), says=f"without {_said(claim)}", about=None)
            if claim:
                yield claim

    def _claim(self, match: re.Match[str], words: str, everything: Sequence[Named]) -> Claim | None:
        """What a narrower word of the text names is not meant: "no gore, but violence is fine"."""
        named = () if _DENIED.search(words) else self._vocabulary.named(words)
        genres = tuple(genre for genre, wording in GENRES.items() if wording.search(words))
        if not named and not genres:
            return None
        narrower = {tag for one in named for each in everything if _is_narrower(each, one) for tag in each.aversion.tags}
        tags = dict.fromkeys(tag for each in named for tag in each.aversion.tags if tag not in narrower)
        said = words[named[0].start : named[-1].end] if named else words
        if _SLIGHT.search(words) and match.string.count(said) < 2:  # "no gore, but a little blood is ok" is still without
            tags = {}
        endured = match["which"] or (named and all(each.unpleasant for each in named))
        withdrawn = Conditions(without_tags=tuple(tags), without_genres=genres)
        return Claim(*match.span(), f"{said} is fine", withdrawn, about=About.ENDURED if endured else About.PERMITTED)


def _is_narrower(one: Named, other: Named) -> bool:
    return {*one.aversion.tags, *one.aversion.also} < {*other.aversion.tags, *other.aversion.also}


def _said(claim: Claim) -> str:
    return ", ".join((*claim.conditions.without_tags, *claim.conditions.without_genres))
