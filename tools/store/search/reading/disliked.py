"""A title that was not liked, and a wish for something else: "I hated Naruto, what else", ナルトは嫌いだった、他には？

Without the wish, a dislike may be a question or a story's own. With it, the title is no answer, and the words of the wish
are no subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from tools.store.search.reading.claim import About, Claim
from tools.store.search.reading.naming import alternatives, name_before, names_at
from tools.store.search.text.characters import has_cjk

_MOST = 8
"""Titles that are looked at: nobody rules out more."""
_WORKS = (
    r"(?:mangas?|comics?|series|titles?|ones?|recommendations?|recs?|ideas?|suggestions?|options?|picks?|stor(?:y|ies)"
    r"|books?)"
)
_WISH = re.compile(
    r"\b(?:(?:what|which|anything|something|stuff|some) else"
    r"(?: (?:is there|is good|is out there|(?:do|have) you (?:have|got)|you got"
    r"|(?:can|could|would) you (?:recommend|suggest)"
    r"|(?:should|can|could) i (?:read|try|get|buy)|to (?:read|try)))?"
    r"|(?:something|anything|stuff|one|mangas?)(?= (?:like|similar to) )"
    r"|(?:something|anything|one|mangas?)(?: (?:completely|totally|very|quite|a bit|a little|more))? different"
    rf"|(?:(?:any|some|what) )?(?:other|another|different|better) {_WORKS}"
    rf"|(?:(?:any|some) )?(?:other|another|different)(?= (?:[a-z-]+ ){{1,3}}{_WORKS}\b)"
    r"|(?:an)?others?(?= ?(?:$|[.!?]|please))"
    r"|(?:what (?:(?:should|can|could|do) (?:i|you|we) (?:read|try|get|recommend|suggest) )?)?instead|alternatives?"
    r"|what (?:(?:should|can|could) i (?:read|try|get) )?(?:now|next))\b"
)
_WISH_JA = re.compile(
    r"(?:(?:何|なに|なん)か)?(?:(?:それ|これ|その)?(?:以外|他|ほか)(?:に(?:は|も)?|の|は|で)?|(?:別|べつ)の(?!世界|次元|時代|人)"
    r"|(?:違う|ちがう)(?!世界|次元|時代|人)|(?:代|か)わりに?)"
    r"(?:(?:何|なに|なん)か)?(?:(?:面白い|いい|良い)?(?:漫画|マンガ|まんが|作品|もの|やつ|の|シリーズ|おすすめ|オススメ|お勧め))?"
    r"(?:(?:は|が|を|も|で)?(?:ある|あります(?:か)?|ない|ありません(?:か)?|教えて(?:ください)?|お願い(?:します)?|ください|いい|がいい))?"
)
_MUCH = r"(?:(?:really|absolutely|just|totally|honestly|personally|truly|kinda|also|actually|particularly|exactly|much) )"
_NOT = (
    r"(?:did(?:n't|nt| not)|do(?:n't|nt| not)|could(?:n't|nt| not)|can(?:'t|t|not| not)|was(?:n't|nt| not)|am not|not|never)"
)
_DISLIKED = (
    rf"{_MUCH}{{0,2}}(?:hated?|dislik(?:e|ed)|loathed?|detested?|despised?"
    rf"|{_NOT} {_MUCH}{{0,2}}(?:liked?|enjoy(?:ed)?|loved?|care(?:d)? for|stand|finish|get (?:into|through|on with)"
    r"|click with|into|keen on|fond of|impressed by|an? (?:big |huge )?fan of)"
    r"|(?:(?:was|got|am) )?(?:bored (?:of|with|by)|disappointed (?:by|with|in)|sick of|tired of)|dropped|gave up on)"
)
_WHO = r"(?:(?:i|we|he|she|they|(?:my|our|his|her)(?: [a-z0-9'-]+){1,5}?)(?:'ve|'m|'s| have| has| am)? )"
_SOMEBODY = re.compile(r"(?:my|our|his|her) (?:(?:best|good|old|close) )?[a-z-]+ ")
"""Who did not like it is no subject; what follows for their reading, `recipients` tell by the same words."""
_CLAUSE = r"(?:^|(?<=[.,;:!?] )|(?<= but )|(?<= and )|(?<= so ))"
_IT = r"(?:it|that(?: one)?|this(?: one)?|them|those)\b(?=$|[ ,.;:!?])"
_BEFORE = re.compile(
    rf"(?:(?<!who )(?<!that )\b{_WHO}|{_CLAUSE})(?P<says>{_DISLIKED})\b(?: (?P<it>{_IT})| ?(?=[^,.;:!?])(?!by\b))", re.ASCII
)
_REASON = re.compile(r",? (?:because|since|as|cause|cuz|it was|it's|it is|they were)\b[^.,;:!?]{1,60}(?=[.,;:!?]|$)")
"""Why, which is no wish: "because it was too long"."""
_BAD = (
    r"(?:boring|bad|terrible|awful|disappointing|dull|overrated|trash|meh|not (?:for me|my (?:thing|cup of tea|taste|jam)))"
)
_AFTER = re.compile(
    r"(?:^|(?<=[.,;!?] ))(?P<name>[^.,;:!?]{2,60}?)"
    rf"(?:[.,:!?]+ {_WHO}?{_DISLIKED} {_IT}"
    rf"| {_MUCH}{{0,2}}(?:(?:was|is)(?:n't| not) {_MUCH}{{0,2}}(?:for me|my (?:thing|cup of tea|taste|jam)"
    r"|(?:very |that |so )?good)"
    rf"|(?:was|is) (?:(?:really|so|too|very|a bit|kinda|pretty|just) ){{0,2}}{_BAD}"
    r"|bored me|sucks|sucked|left me cold|did(?:n't| not) (?:click|work|do it|do anything)(?: (?:for|with) me)?)\b)",
    re.ASCII,
)
_DISLIKED_JA = re.compile(
    r"(?:(?:は|が|も|って)(?:[^、。 はがも]{2,12}(?:て|で|から|ので))?)?、?"
    r"(?:ちょっと|少し|正直|あまり|あんまり|そんなに|全然|どうも|(?:私|僕|俺|自分)には|もう|すごく|とても|大){0,3}"
    r"(?:嫌い|きらい|キライ|苦手|好き(?:じゃ|では)(?:な|あり)|好み(?:じゃ|では)(?:な|あり)|つまらな|つまんな|(?:面白|おもしろ)くな"
    r"|合わな|合いませ|(?:ハマ|はま)れ(?:な|ませ)|楽しめ(?:な|ませ)|(?:ダメ|だめ|駄目|無理|微妙|退屈)(?:だった|でした)|いまいち|イマイチ"
    r"|挫折し|飽き|受け付け(?:な|ませ)|気に入(?:らな|りませ)|がっかり)"
    r"(?!(?:じゃ|では|で)(?:な|あり)|くな[いか])"
    r"(?:か?った|い|でした|だった|です|んだ|なん|の|ん|て|で|し|まし|た|ない|だ|けれど|けど|が|から|ので|ね|よ|な|く){0,6}"
)
_NO_NAME = re.compile(
    r"(?:it|that(?: one)?|this(?: one)?|them|these|those|what|which|the (?:first|last) one|everything|anything|nothing"
    r"|none)$"
)
_PART = re.compile(
    r" (?:at|after|around|halfway|by)\b.*| ?-$|'s (?:ending|art|artwork|style|story|plot|pacing|characters?)$"
    r"|の(?:絵|作画|話|ストーリー|展開|主人公|ラスト|結末|キャラ|雰囲気|テンポ)$"
)
_PART_OF = re.compile(r"^(?:the )?(?:ending|art|artwork|style|story|plot|pacing|characters?) of ")


def find_disliked(text: str) -> Iterator[Claim]:
    """Claims of a normalised text: what to leave out, and the words of the wish, which state nothing else. A name that
    nothing goes by leaves out nothing: its claim is to be dropped."""
    wishes = [match.span() for match in islice(_wishes(text), _MOST)]
    claims = [_claim(text, *each) for each in _disliked(text)] if wishes else []
    yield from claims
    if claims:
        yield from (Claim(start, end, says="") for start, end in wishes)


def _claim(text: str, name: str, start: int, end: int) -> Claim:
    reason = _REASON.match(text, end)
    end = reason.end() if reason else end
    if not name or _NO_NAME.match(name):
        return Claim(start, end, says="")
    names = (*alternatives(name), bare := _PART_OF.sub("", _PART.sub("", name)))
    return Claim(start, end, f"without {bare}", names=tuple(dict.fromkeys(names)), about=About.EXCLUDED)


def _wishes(text: str) -> Iterator[re.Match[str]]:
    yield from _WISH.finditer(text)
    if has_cjk(text):
        yield from _WISH_JA.finditer(text)


def _disliked(text: str) -> Iterator[tuple[str, int, int]]:
    """Each name, or word for one, that is said not to be liked, and where that is said."""
    for match in islice(_BEFORE.finditer(text), _MOST):
        if _SOMEBODY.fullmatch(text, match.start(), match.start("says")):
            yield "", match.start(), match.start("says")
        if match["it"]:
            yield match["it"], match.start("says"), match.end()
        elif name := names_at(text, match.end()):
            yield name.text, match.start("says"), name.end
    for match in islice(_AFTER.finditer(text), _MOST):
        yield match["name"], *match.span()
    if has_cjk(text):
        for match in islice(_DISLIKED_JA.finditer(text), _MOST):
            if before := name_before(text, match.start()):
                yield before.text, before.start, match.end()
