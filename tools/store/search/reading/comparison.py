"""Titles that a text compares with or says are known: "like X but shorter", "I've read X", Xみたいな, Xは読んだ."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from tools.store.search.reading.antecedent import like_it, like_it_ja
from tools.store.search.reading.claim import About, Claim, Relative
from tools.store.search.reading.naming import Name, alternatives, name_before, names_at
from tools.store.search.reading.vocabulary import Vocabulary

_MOST = 8
"""Titles that are looked at: nobody rules out more."""
_THING = (
    r"(?:something|anything|stuff|mangas?|comics?|series|books?|stor(?:y|ies)|titles?|ones?|more|works?|much"
    r"|an?(?: little)? bit|a lot|else"
    r"|smth|sth|sumthing|somthing|someting|similar|recommendations?|recs?|very|mood|vibes?|feel)"
)
_NO_VERB = r"(?!(?:i|i'd|you|he|she|they|we|would|might|will|could|to|people|girls|boys|that|who|don't|not)\b)"
_MEASURE = r"(?:many|much|few|little|long|short|soon|far|well|young|old|cheap|high|low)\b"
"""Not "as long as", "as young as ten"."""
_WHO = r"(?:i|we|he|she|they|my [a-z]+|(?:i|we|they)'ve|he's|she's)"
_HOW = r"(?:really|absolutely|just|recently|already|also|only|have|has|had|completely|both|always)"
_LIKE = (
    rf"\b{_THING}(?: {_NO_VERB}[a-z]+){{0,3}}? like\b|^like\b|(?<=, )like\b"
    r"|\b(?:similar to|reminiscent of|in the (?:vein|style|spirit|mou?ld) of|along the lines of|comparable to"
    r"|akin to|resembl(?:es|ing)|(?:read|reading|try|next|up) after|after (?:reading|finishing)|(?:that )?reminds? me of"
    r"|(?:the )?same (?:vibes?|feel|feeling|mood|tone|energy|spirit) (?:as|like)"
    r"|(?:big |huge )?fans? of|if (?:you|i|he|she|they) (?:liked?|loved?"
    r"|enjoy(?:ed)?)"
    rf"|{_WHO}(?: {_HOW}){{0,3}} (?:loved|liked|enjoyed|adored|adores?|devoured|loves?|likes?|enjoys?)|loved"
    r"|could(?:n't| not) (?:put down|stop reading)|binged|(?:i'm|i am|he's|she's) (?:hooked on|obsessed with)"
    rf"|favou?rite(?: (?:manga|series))? is|as (?!{_MEASURE})[a-z]+ as)\b"
)
_KNOWN = (
    rf"\b(?:{_WHO}(?: {_HOW}){{0,3}} (?:read|own|owns|finished|bought|got|completed|know|knows|have)|(?:just|already"
    rf"|recently)(?: {_HOW})?"
    r" (?:finished|read|bought|own|have|completed))(?: reading)?(?! (?:up to |through )?(?:volumes?|vols?\b\.?) ?#?[0-9])"
    r"(?: all(?: of)?| (?:[a-z0-9]+ )?volumes? of| everything of)?\b(?! (?:after|next|with|to|on|about|for)\b)"
)
_THAN = r"(?<=[a-z] )than(?! (?:[0-9]|(?:an?|that|this|me)\b|[a-z]+ (?:volumes?|years?)))"
"""Not of numbers: "shorter than 5 volumes"."""
_ENGLISH = re.compile(rf"(?P<known>{_KNOWN})|(?P<like>{_LIKE})|(?P<than>{_THAN})\b", re.ASCII)
_TASTE = re.compile(
    r"\b(?:loves?|enjoys?|adores?|fans? of|knows?|have|got|owns?|favou?rite(?: (?:manga|series))? is)$|^(?:i|we|he"
    r"|she|they|my) .*likes?$|好き|ファン|ハマ"
)
_NO_NAME = re.compile(
    r"(?:(?:it|that|this|them|these|those|what|which|him|her|next|more)$"
    r"|(?:to|after|another|mostly|many|some|any|only|lots|most|reading|when|how|an?)\b)"
)
_JAPANESE = re.compile(
    r"(?P<like>みたい(?:な|に|で|だ?けど|だが)(?:の|やつ)?|のよう(?:な|に|で)(?:の)?|[にと](?:よく)?似(?:た|て(?:い)?る|ている)"
    r"|っぽい(?:けど|が)?"
    r"|風の|に近い(?:けど|が)?|並みの|系統の"
    r"|[がをは](?:大)?好き(?!じゃ|では)(?:な(?:人|方)(?:に|向け|へ)?|です(?:が|けど)?|だ(?:けど|が)?|な(?:ので|ら)|で"
    r"|なんです|なんだけど)?|にハマ(?:った|って)"
    r"|のファン(?:に|向け)?|が面白かった|が良かった)"
    r"|(?P<known>[はをもなら]{0,3}(?:もう|すでに|既に|全部|全巻|最近|この前|最新刊まで){0,3}(?:読んだ|読みました"
    r"|読み終|読了"
    r"|既読|読破|読んで(?:い)?[るま]|持って(?:い)?[るま]"
    r"|買った|買いました|買って|完走|知って(?:い)?[るま])(?:[わえっ](?:た|て)(?:の)?)?)"
    r"|(?P<than>より(?:は)?(?:も)?(?=短|長|新し|古|怖|暗|明る|軽|重|優し))"
)
_UP_TO_A_VOLUME = re.compile(r"[0-9]巻(?:まで|を)?$")
"""Who has read so much of a series goes on in it: フリーレンの3巻まで読んだ."""
_BUT = re.compile(
    r"^(?!(?:something|anything|stuff|some|any|mangas?|comics?|i|i'm|an?|the best|not|no|nothing|like|good|please|my|give"
    r"|smth|sth|more|similar|loved?|just|read)\b)(?P<name>[^ ,.;:!?]+(?: (?!like )[^ ,.;:!?]+){0,5}?) but "
    r"(?P<than>(?:a bit |a lot |much |way )?(?:shorter|longer|newer|older|more modern))?"
)
"""A name before "but" is what the rest differs from: "Vinland Saga but finished"; one word only if it is measured with."""
_NOT_KNOWN = re.compile(
    r"(?:^|(?<=[.,;!?] ))not (?P<name>[^.,;!?]{2,60}),? (?:because |since |as )?(?:i|we|he|she|they)(?:'ve|'s| have| has)?"
    r"(?: already| just)? (?:read|seen|own|owns|have|has|got|finished|bought|know|knows)"
    r"(?: (?:that|it|this|them|those|one|ones|already))*(?=$|[ .,;!?])",
    re.ASCII,
)
"""What is known is said after it: "not Slam Dunk, I've read that one"."""
_MAKER = r"(?:author|writer|artist|mangaka|creator)s?"
_MAKER_JA = "(?:作者|著者|作家|漫画家)(?:さん)?の?(?:作品|漫画|マンガ|もの|やつ|本)?"
_ANOTHER = (
    r"(?:\b(?:but|and|only|just|though) )?\b(?:(?:not|nothing|isn't|never) (?:by|from) (?:the|that) same"
    rf" (?:{_MAKER}|person|guy|one)|(?:by|from) (?:an?other|(?:a )?different|other) {_MAKER}|by (?:someone|somebody) else)\b"
    rf"|同じ{_MAKER_JA}(?:以外の?|じゃない|ではない|でない|じゃなくて|ではなく|は(?:なし|抜き|避けて|除いて)"
    rf"|を(?:除いて|避けて))で?|(?:別の|違う|他の|ほかの){_MAKER_JA}で?"
)
_RELATIVE = re.compile(
    r"(?:\b(?:but|only|just|and)\b )?(?:\b(?:much|a bit|a little|a lot|way|quite|rather)\b )?\b(?:"
    r"(?P<shorter>shorter|not (?:so|as|that|too|quite as) long|less long|fewer volumes)|(?P<longer>longer)"
    r"|(?P<newer>newer|more (?:recent|modern))"
    r"|(?P<older>older(?! (?:kids|children|teens|readers|sister|brother|girls|boys))))\b"
    rf"|(?P<another>{_ANOTHER})"
    r"|(?:もっと|もう少し|もうちょっと|より|少し)(?:(?P<short>短[いくめ]の?)|(?P<long>長[いくめ]の?)"
    r"|(?P<new>新し[いくめ]の?)|(?P<old>古[いくめ]の?))"
)
_RELATIVES = {relative.value: relative for relative in Relative} | {
    "short": Relative.SHORTER,
    "long": Relative.LONGER,
    "new": Relative.NEWER,
    "old": Relative.OLDER,
    "another": Relative.BY_ANOTHER,
}


class Comparison:
    """Finds what is compared with, what is known, and how the answers differ from the former."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def __call__(self, text: str) -> Iterator[Claim]:
        """Claims of a normalised text. A name that nothing goes by compares with nothing: its claim is to be dropped."""
        compared = False
        for claim in (*self._english(text), *self._before_but(text), *_not_known(text), *self._japanese(text)):
            compared = compared or claim.about is About.LIKE
            yield claim
        if compared:
            yield from _relatives(text)

    def _english(self, text: str) -> Iterator[Claim]:
        taken = 0
        for marker in _ENGLISH.finditer(text):
            if marker.lastgroup == "like" and (meant := like_it(text, marker.start(), marker.end())):
                yield from meant
                taken = meant[0].end
            name = names_at(text, marker.end()) if marker.start() >= taken else None
            if name is not None and not self._is_theme(name, marker):
                yield _claim(marker, _start(marker), name.end, name)
                taken = name.end

    def _before_but(self, text: str) -> Iterator[Claim]:
        match = _BUT.match(text)
        if match is None or (" " not in match["name"] and match["than"] is None) or self._vocabulary.named(match["name"]):
            return
        end = match.end("name")
        yield Claim(0, end, f"like {match['name']}", names=(match["name"],), about=About.LIKE)

    def _japanese(self, text: str) -> Iterator[Claim]:
        taken = 0
        for marker in _JAPANESE.finditer(text):
            if marker.lastgroup == "like" and (meant := like_it_ja(text, marker.start(), marker.end())):
                yield from meant
                taken = meant[0].end
            name = name_before(text, marker.start(), taken)
            if name is not None and not self._is_theme(name, marker) and not _UP_TO_A_VOLUME.search(name.text):
                yield _claim(marker, name.start, marker.end(), name)
                taken = marker.end()

    def _is_theme(self, name: Name, marker: re.Match[str]) -> bool:
        """ "I like romance", 恋愛が好き: a taste, no title."""
        if _NO_NAME.match(name.text):
            return True
        named = self._vocabulary.named(name.text) if _TASTE.search(marker[0]) else ()
        return bool(named) and sum(each.end - each.start for each in named) >= len(name.text.replace(" ", "")) - 1


def _start(marker: re.Match[str]) -> int:
    """ "Something light like Nana", "as grand as Kingdom": what stands before the "like" is what is wanted."""
    bare = marker.lastgroup == "like" and (marker[0].endswith(" like") or marker[0].startswith("as "))
    return marker.end() - len(marker[0].split()[-1]) if bare else marker.start()


def _claim(marker: re.Match[str], start: int, end: int, name: Name) -> Claim:
    about = About.KNOWN if marker.lastgroup == "known" else About.LIKE
    says = f"{'not' if about is About.KNOWN else 'like'} {name.text}"
    return Claim(start, end, says, names=alternatives(name.text), about=about)


def _not_known(text: str) -> Iterator[Claim]:
    for match in islice(_NOT_KNOWN.finditer(text), _MOST):
        name = match["name"].strip()
        yield Claim(match.start(), match.end(), f"not {name}", names=alternatives(name), about=About.KNOWN)


def _relatives(text: str) -> Iterator[Claim]:
    for match in _RELATIVE.finditer(text):
        relative = _RELATIVES[match.lastgroup or ""]
        says = relative.value if relative is Relative.BY_ANOTHER else f"{relative.value} than it"
        yield Claim(match.start(), match.end(), says, relative=relative)
