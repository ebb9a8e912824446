"""What a text is about, once the words that state something are taken out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tools.store.search.query.parser import without_filler
from tools.store.search.reading.claim import Claim

_LEADING = """
that which who is are it it's its that's thats has have and but or with in of for from to a an the also only just plus
be been was were must should preferably ideally published released please rather mostly if where when
i i'd i'm i've we he she they he's she's hes shes
"""
_BEFORE = frozenset(_LEADING.split())
"""English words that lead to what is said next: without it, nothing holds them."""
_FOLLOWING = """
that which who is are it's and but or with also please too preferably ideally only of pls plz thx thanks onegai
"""
_AFTER = frozenset(_FOLLOWING.split())
"""English words that go on from what was said."""
_JA_BEFORE = re.compile(r"(?:けど|だけど|ただし|あとは?|それと|かつ|で|(?<!も)の|な|が|は|も|を|に|と|し|、|,)$")
_JA_AFTER = re.compile(
    r"^(?:であり|であって|だけど|けれど|けど|かつ"
    r"|で|の|な|が|は|も(?!の)|を|に|と|(?:か|または|もしくは)$|ある(?=[^ぁ-ん]|もの)|もの(?=$|[、。 がをで])|、|,)"
)
_GIFT_JA = re.compile(
    r"^(?:の?お?(?:誕生日|クリスマス|入学|卒業|お祝い|祝い)の?)?(?:プレゼント|贈り物|ギフト)(?:用の?|として|する|を|に|で|は|の)?"
    r"(?:したい|する|あげたい|贈りたい|探して(?:い)?(?:る|ます))?(?:です|ので|けど|と思って(?:い)?(?:る|ます))?(?:[。、!]|$)"
)
"""That it is a gift, said after whom it is for."""
_PUNCTUATION = " ,.;:!?。、！？・/-()[]"
_ONLY_ASKING = """
a an the i me my we want wanted need would like love looking for something anything some any good great nice fun
interesting cool enjoyable decent best really very to read that is i'd i'll i'm you your recommend recommendation
recommendations suggest suggestion suggestions give show find get can could please what whatever which should do have
got one ones stuff thing things manga mangas comic comics series title titles book books story stories buy new me
today now next and or but fine ok okay of with there are pls plz thx thanks onegai gift present birthday safe suitable
appropriate
"""
_VAGUE = frozenset(_ONLY_ASKING.split())
"""English words that say of a title only that it be one, and be good."""
_VAGUE_JA = re.compile(
    r"何か|なにか|なんか|おもしろい|面白い|いい|良い|よい|おすすめ|オススメ|お勧め|人気|漫画|マンガ|まんが|コミック"
    r"|作品|お?話|やつ|もの|本|シリーズ"
    r"|を?読みたい(?:です)?|を?探して(?:います|いる)?|を?教えて(?:ください)?|を?ください|は?ありますか|は?ない\?"
    r"|(?:誕生日|クリスマス|お?祝い?の?)?(?:に|の|用)?(?:プレゼント|贈り物|ギフト)(?:に?したい|に?ほしい|用)?|贈りたい|あげたい"
    r"|読ませ(?:たい|られる|ても(?:いい|大丈夫|安心))|安全な|安心(?:して読める|できる|な)?|ぴったりな?|ちょうどいい|初めて(?:の|読む)|クリスマス|読み聞かせ(?:できる|用の?)?"
    r"|見せ(?:られる|たい)|プレゼントする|選んでほしい"
    r"|お願いします|よろしく|です|ます|[のなをがはでに?。、!\s]"
)


def subject_of(text: str, claims: Iterable[Claim]) -> str:
    """`text` (normalised) without the claims' words and the little words that only bind them; empty where filler is left."""
    pieces, start = [], 0
    spans = sorted((claim.start, claim.end) for claim in claims)
    for begin, end in spans:
        pieces.append(text[start:begin])
        start = max(start, end)
    pieces.append(text[start:])
    if len(pieces) == 1:
        return text if says_something(text) else ""
    left = _ASKS.sub("", " ".join(filter(None, _unbound(pieces))))
    return left if says_something(left) else ""


def says_something(text: str) -> bool:
    """Whether anything is left beside the words that ask."""
    content = without_filler(text)
    return any(word.strip(_PUNCTUATION) not in _BEFORE for word in content.split() if word.strip(_PUNCTUATION))


def is_vague(text: str) -> bool:
    """Whether a normalised text says of a title only that it be a good one."""
    words = " ".join(word for word in text.split() if word.strip(_PUNCTUATION) not in _VAGUE)
    return not _VAGUE_JA.sub("", words).strip(_PUNCTUATION)


_ASKS = re.compile(r"^(?:(?:is|are|was|were|has|does|did) )+")
_TASTE = re.compile(
    r"^[ ,.;]*(?:(?:and|who|that|but|he|she|they|he's|she's|hes|shes|they're|really|just|also|is|are) ){0,4}"
    r"(?:(?:loves?|likes|enjoys?|adores?|plays|(?<=who )like|(?<=they )like|(?<=that )like)"
    r"(?: (?:to read about|reading about|stories about|all things))?"
    r"|into|crazy about|mad about|obsessed with|a fan of|fond of|interested in) "
)
"""What follows somebody for whom a title is, before what they like: "my niece is nine | and loves horses"."""
_TASTE_JA = re.compile(
    r"(?:もの|モノ|系)?[がはも]?(?:大好き|好き|に?(?:夢中|ハマってい?る|はまってい?る))"
    r"(?:です|なので|なの|な子|みたい(?:です)?|だから|だそうです)?[。、]?$"
)


def _unbound(pieces: Sequence[str]) -> Iterable[str]:
    """The pieces between claims, without what bound them to these."""
    last = len(pieces) - 1
    for i, piece in enumerate(pieces):
        words = piece.split()
        while i < last and words and words[-1].strip(_PUNCTUATION) in {*_BEFORE, ""}:
            words.pop()
        while i > 0 and words and words[0].strip(_PUNCTUATION) in {*_AFTER, ""}:
            words.pop(0)
        piece = " ".join(words)
        if i > 0:
            piece = _TASTE_JA.sub("", _TASTE.sub("", f"{piece} ").strip())
        yield _unbound_ja(piece, leads=i < last, follows=i > 0).strip(_PUNCTUATION)


def _unbound_ja(piece: str, *, leads: bool, follows: bool) -> str:
    if follows:
        piece = _JA_AFTER.sub("", _GIFT_JA.sub("", piece))
    return _JA_BEFORE.sub("", piece) if leads else piece
