"""Whom a part of a text is said of: "no gore for my son", 私はグロくても平気.

Somebody is named beside what is said of them, in the same clause; what is said of nobody there is said of whomever the text
has named last, who is the one that something is looked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.store.search.reading.claim import Claim

SPEAKER = "me"
SOMEBODY = "them"
"""Somebody else, by a pronoun."""

KIN = (
    r"(?:sons?|daughters?|husband|wife|partner|spouse|boyfriend|girlfriend|fianc[eé]e?|brothers?|sisters?|cousins?"
    r"|friends?|best friend|roommate|flatmate|neighbou?r|mate|step(?:son|daughter|brother|sister)|ex)"
)
KIN_JA = (
    "(?:息子|娘|子ども?|子供|こども|孫|甥っ子|姪っ子|甥|姪|夫|妻|旦那|主人|嫁|奥さん|彼氏|彼女|父|母|祖父|祖母|兄|姉|弟|妹|友人|友達|いとこ|親"
    "|上司|同僚|生徒)"
)
_THEM = r"(?:him|her|them|kids?|children|somebody|someone|a friend|(?:the|a) (?:kids?|children|child|boys?|girls?))"
_ME = re.compile(
    r"\b(?:(?:for|with|by|to|bothers?) (?:me|us|myself)|me personally|personally|myself|i personally"
    r"|(?:i(?:'m| am)|we(?:'re| are)|i|we)(?= (?:\w+ )?(?:fine|ok|okay|cool|comfortable|mind|handle|take|stomach)\b))\b"
    r"|(?:私|わたし|あたし|僕|ぼく|俺|おれ|自分)(?=[はもがなに]|だけ|的|自身|として)"
)
_OTHER = re.compile(
    rf"\b(?:for|with|by|to) (?:{_THEM}\b|(?:my|our|his|her|their) (?P<noun>(?:[a-z0-9-]+ ){{0,3}}?[a-z-]+)"
    r"(?=$|[,.;:!?)]| (?:and|or|but|is|are|was|who|that|with|no|not|without|please|though|too|actually|either|to|as|turning"
    r"|turns|loves?|likes?|hates?)\b))"
    rf"|\b(?P<pronoun>he|she|they)(?:'s|'re| is| are| can| doesn't| don't)\b|\b(?:my|our) (?P<kin>{KIN}|kids?|children)\b"
    rf"|(?P<ja>{KIN_JA})(?:たち|さん|ちゃん|くん|君)?(?=[にはもがへとの用向な]|でも)"
)
_THINGS = re.compile(r"\b(?:collection|birthday|taste|liking|shelf|book ?club|money|library|holiday|trip|flight|break)s?$")
_CLAUSES = re.compile(r"[,.;!?、。]|\b(?:but|though|although|while|whereas|however)\b|けれど|けど|だが|ですが")
_REACH = 120
_BOUGHT_FOR = re.compile(
    rf"\b(?:it's |it is )?(?:an? (?:present|gift) )?for "
    rf"(?:(?:me|him|her|them|myself|(?:my|our|his|her) {KIN})(?: and | or |, ?)?){{1,3}}"
    r"(?=$|[,.:;!?]| (?:who|and|but)\b)"
    rf"|{KIN_JA}(?:さん|ちゃん|くん|君|たち)?(?:に[はも]|用(?:に|の)?|向け(?:に|の)?|[にへ](?=$|[、。]))"
)


def said_of(text: str, start: int, end: int) -> str | None:
    """Of whom the clause around `text[start:end]` speaks: `SPEAKER`, a noun, `SOMEBODY`; None where nobody is named."""
    begin = max(0, start - _REACH)
    before = [match.end() for match in _CLAUSES.finditer(text, begin, start)]
    after = _CLAUSES.search(text, end, end + _REACH)
    clause = text[before[-1] if before else begin : after.start() if after else end + _REACH]
    named = list(_others(clause))
    return named[-1] if named else SPEAKER if _ME.search(clause) else None


def last_named(text: str) -> str | None:
    """The last one besides the speaker of whom the text speaks."""
    return next(reversed(list(_others(text))), None)


def may_be_one(one: str | None, other: str | None) -> bool:
    """Whether the same person may be meant: by a pronoun anybody else, by nothing anybody at all."""
    return one is None or other is None or one == other or (SOMEBODY in (one, other) and SPEAKER not in (one, other))


def find_bought_for(text: str) -> Iterator[Claim]:
    """Words that only say for whom something is: of somebody whose age they leave open, they state nothing."""
    for match in _BOUGHT_FOR.finditer(text):
        yield Claim(*match.span(), says="")


def _others(text: str) -> Iterator[str]:
    for match in _OTHER.finditer(text):
        noun = match["noun"] or match["kin"] or match["ja"] or SOMEBODY
        if not _THINGS.search(noun):
            yield noun
