"""What does not matter at all: "price doesn't matter", 巻数は問わない; and what may be so though nobody would ask for it:
"out of stock is fine", 高くてもいい.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.store.models import DIGITAL, PAPER, Conditions, Range, Status
from tools.store.search.reading.claim import Claim
from tools.store.search.reading.freedom import Freedom
from tools.store.search.reading.lately import CLASSIC
from tools.store.search.reading.length import LONG, SHORT
from tools.store.search.reading.optional import NO_MATTER_JA, OK_JA, only_optional
from tools.store.search.reading.wordings import Wording, finding

_MATTERS = {
    "price": ("price", "series_price"),
    "length": ("volumes",),
    "status": ("statuses",),
    "time": ("years",),
    "audience": ("audience",),
    "rating": ("min_rating",),
    "stock": ("in_stock", "all_volumes"),
    "format": ("format",),
}
_ENGLISH = {
    "price": r"prices?|costs?|budget|money|how much (?:it|they) costs?|(?:being )?(?:cheap|expensive)",
    "length": r"length|number of volumes|volume count|how (?:long|many volumes)(?: (?:it|they) (?:is|are|has|have))?",
    "status": r"(?:publication |completion )?status|(?:being )?finished or not",
    "time": r"(?:release |publication )?(?:year|date|decade|era)|how old (?:it|the series|the manga) is",
    "audience": r"age(?: rating)?",
    "rating": r"ratings?|scores?|reviews?",
    "stock": r"stock|availability",
    "format": r"format|paper or digital|digital or paper|physical or digital|digital or physical",
}
_JAPANESE = {
    "price": r"お?値段|価格|金額|予算|コスト|(?:値段の)?高い安い",
    "length": r"(?:全)?巻数|冊数|長さ|話の長さ|長短|何巻",
    "status": r"(?:完結|連載|刊行)状況|(?:完結|連載中)の?(?:有無|是非)",
    "time": r"年代|発売年|発表年|時代の新旧|新旧|古い新しい|新しい古い|いつの(?:作品|漫画)",
    "audience": r"(?:対象)?年齢(?:制限|層)?",
    "rating": r"評価|評判|レビュー|星の数",
    "stock": r"在庫(?:の有無|状況|の?あるなし)?",
    "format": r"形式|媒体|フォーマット|紙か電子か?|電子か紙か?|紙でも電子でも|電子でも紙でも",
}


def _any_of(named: dict[str, str], prefix: str = "") -> str:
    return "|".join(f"(?P<{prefix}{matter}>{wording})" for matter, wording in named.items())


_NO_OBJECT = (
    r"(?: really| itself)?(?: (?:doesn't|does not|don't|do not|isn't|is not|aren't|are not)(?: really)? (?:matter"
    r"|important"
    r"|an? (?:concern|problem|issue|factor))|(?:'s| is| are)? (?:no (?:object|issue|problem|concern|factor)|irrelevant"
    r"|unimportant|not (?:important|an? (?:concern|problem|issue|factor))))(?: (?:to|for) (?:me|us))?"
)
_NO_CARE = (
    r"(?:i |we )?(?:don't|do not)(?: really)? (?:care|mind|worry)(?: about)?(?: the| its)?"
    r"|no (?:limits? on(?: the)?|max(?:imum)?)"
)
_ENGLISH_NAMED = re.compile(
    rf"(?:^|(?<=[,.;:!?()])|\b(?:and|but|of|with|for)) ?(?:(?:the )?(?:{_any_of(_ENGLISH)}){_NO_OBJECT}"
    rf"|(?:any|regardless of(?: the| its)?|no matter(?: the)?|{_NO_CARE}) (?:{_any_of(_ENGLISH, 'any_')})"
    r"|no (?:price|budget) limits?)(?= ?(?:$|[,.;:!?()])| (?:and|but|as long)\b)"
)
_JAPANESE_NAMED = re.compile(
    rf"(?:どんな|どの)?(?:{_any_of(_JAPANESE)})(?:[がの](?:高い低い|高く|多く|少なく|なく|無く|低く|良く"
    rf"|よく))?(?:なくても|ても|でも|[はをもに]|には|なら)?"
    rf"(?:{NO_MATTER_JA}|(?:いくら|何|なん|いつ|どちら|どっち)でも{OK_JA}|(?<=[てで]も){OK_JA}|の?(?:上限"
    rf"|制限)は?(?:なし|ない|ありません))"
)
_ENDS_JA = re.compile(r"で?(?:$|[、。,.!? ])")
_OF_THE_SHOP = frozenset(("length", "status", "stock", "format"))
"""What no story is about. Of the others a clause of its own speaks: 年齢は関係ない恋 and "love at any cost" are stories."""
_bare = only_optional(
    finding(
        Wording(
            re.compile(
                r"\b(?:a (?:bit|little) )?(?:more )?(?:expensive|pricey|costly)\b"
                r"|(?:多少|少し|少々|ちょっと)?(?:お?値段[がは]|価格[がは])?(?:高く|高額|高価|割高|高め|値が張っ)"
            ),
            "expensive",
            Conditions(price=Range(1, None), series_price=Range(1, None)),
        ),
        Wording(
            re.compile(r"\b(?:very |really |a bit )?(?:long|longer|lengthy)\b|長く|長い(?:の|やつ|もの)|巻数が多く"),
            "long",
            Conditions(volumes=Range(LONG, None)),
        ),
        Wording(
            re.compile(r"\b(?:short|shorter)\b|短く|短い(?:の|やつ|もの)"),
            "short",
            Conditions(volumes=Range(None, SHORT)),
            loose=True,
        ),
        Wording(
            re.compile(r"\b(?:old|older|dated)\b|古く|古い(?:の|やつ|もの)|昔の(?:やつ|もの)?"),
            "old",
            Conditions(years=Range(None, CLASSIC)),
            loose=True,
        ),
        Wording(
            re.compile(r"\b(?:new|newer|recent)\b|新しく|新しい(?:の|やつ|もの)|新作|最近の(?:やつ|もの)?"),
            "new",
            Conditions(years=Range(CLASSIC, None)),
        ),
        Wording(
            re.compile(r"(?:まだ)?(?:完結し|終わっ)て(?=い?なく)"),
            "finished",
            Conditions(statuses=(Status.FINISHED,)),
        ),
        Wording(
            re.compile(
                r"\b(?:out of stock|sold out|backordered|back-?orders?|pre-?orders?|unavailable|not available)\b"
                r"|在庫(?:切れ|なし)|品切れ(?:中)?|売り切れ|欠品(?:中)?|入荷待ち|取り寄せ|予約"
            ),
            "out of stock",
            Conditions(in_stock=True, all_volumes=True),
        ),
        Wording(re.compile(r"\b(?:popular|famous|well[- ]known)\b|人気(?:の?ある|作)?|有名"), "popular"),
        Wording(re.compile(r"\b(?:cheap|affordable)\b|安く|安い(?:の|やつ|もの)"), "cheap"),
        Wording(re.compile(r"\b(?:digital|e-?books?)\b|電子(?:版|書籍)?|デジタル"), "digital", Conditions(format=DIGITAL)),
        Wording(re.compile(r"\b(?:paper|print|physical)\b|紙(?:の本|版)?"), "on paper", Conditions(format=PAPER)),
    )
)


def find_indifference(text: str) -> Iterator[Claim]:
    """Claims of a normalised text, all of which are freedoms."""
    for match in _ENGLISH_NAMED.finditer(text):
        yield _claim(match, (match.lastgroup or "price").removeprefix("any_"))
    for match in _JAPANESE_NAMED.finditer(text):
        matter = match.lastgroup or ""
        if matter in _OF_THE_SHOP or _ENDS_JA.match(text, match.end()):
            yield _claim(match, matter)
    yield from _bare(text)


def _claim(match: re.Match[str], matter: str) -> Claim:
    """It says nothing of the answer: no condition was stated."""
    return Claim(*match.span(), says="", freedom=Freedom(matters=_MATTERS[matter]))
