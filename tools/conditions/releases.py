"""Detects questions about release dates: "what comes out next month?", 来月の新刊.

A search cannot answer such questions: their words would only match unrelated titles."""

from __future__ import annotations

import itertools
import re

from tools.contract import ToolContext
from tools.store.search.query.parser import without_filler
from tools.store.search.text.characters import normalise

_NAMES_SECONDS = 0.1
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|march|april|may|june|july|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?"
    r"|dec(?:ember)?)"
)
_TIME = (
    r"\b(?:(?:in|for|during|on) )?(?:(?:this|next|last|the coming) (?:weekend|week|month|year)(?:'s)?"
    rf"|(?:(?:this|next|last|in|for|during|of) ){_MONTH}(?: 20[0-9][0-9])?)\b"
    r"|\b(?:soon|today|tomorrow|lately|these days)\b|(?:^|(?<=[,.;!?] ))when(?:'s| is| does| do| will| are)\b"
)
_TIME_JA = r"(?:20[0-9][0-9]年)?(?:今月|来月|再来月|先月|今週|来週|先週|1[0-2]月|[1-9]月|もうすぐ|近々|いつ(?![かもの]))"
_VOLUMES = r"(?:volumes?|vols?|releases?|arrivals?)"
_RELEASE = (
    r"\b(?:(?:to )?(?:be )?(?:com(?:e|es|ing)|came) out|(?:(?:going )?to be |being )?released|releas(?:es?|ing)"
    r"|(?:goes |going )?on sale|(?:the )?(?:brand[- ])?(?:new(?:est)?|next|latest|upcoming)"
    rf"(?= (?:[^,.;!?]{{1,60}} )?(?:{_VOLUMES}|books?|ones?)\b)|what(?:'s| is) new|out(?= {_TIME}))\b"
)
_RELEASE_JA = (
    r"(?:最新刊|新刊|新巻|最新巻|次巻|続刊|近刊|次の巻|新作|(?:発売|刊行|出版)(?:予定|日|される|する|された|の)?"
    r"|出(?:版|る|ます|た|ました|そう))"
)
_SENTENCE_END = re.compile(r"[!?]|\.(?! ?[0-9])")
"""Matches the end of a sentence, which the full stop of "vol. 3" is not."""
_TIMES, _COUNTS = re.compile(_TIME), re.compile(rf"\b{_VOLUMES}\b")
_ASKED = (
    re.compile(rf"\A(?=.*(?:{_TIME}))(?=.*{_RELEASE})", re.DOTALL),
    re.compile(rf"{_TIME_JA}[^、。?!]{{0,16}}?{_RELEASE_JA}|{_RELEASE_JA}[^、。?!]{{0,8}}?いつ"),
)
_WORDS = re.compile(rf"{_TIME}|{_RELEASE}|\b{_VOLUMES}\b|\bnew\b|\bout$|\bout(?=[?!.])|{_TIME_JA}|{_RELEASE_JA}")
_EDGES = re.compile(
    r"^(?:(?:is|are|will|does|do|did|has|have|there|any|a|an|the|of|for|in|by|from|with|about|and)\b|'s\b|[\s,.;:!?]"
    r"|[のはがをにもでと、。])+|(?:\b(?:be|is|are|of|for|in|by|from|that|which|the|and)|[\s,.;:!?]|[のはがをにもで、。か])+$"
)
_EMPTY = re.compile(
    r"\b(?:what|which|when|will|does|do|did|has|have|there|know|tell|list|going|manga|happens?|happening|'s|s|all|else)\b"
    r"|[\s,.;:!?'、。]|何|なに|なん|どれ|どの|どんな|なの|予定|知りたい|一覧|リスト|する|され|って|です|ます|ました|[かのはがをにもでとねよ]"
)

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
"""English words that only ask for a good title."""
_VAGUE_JA = re.compile(
    r"何か|なにか|なんか|おもしろい|面白い|いい|良い|よい|おすすめ|オススメ|お勧め|人気|漫画|マンガ|まんが|コミック"
    r"|作品|お?話|やつ|もの|本|シリーズ"
    r"|を?読みたい(?:です)?|を?探して(?:います|いる)?|を?教えて(?:ください)?|を?ください|は?ありますか|は?ない\?"
    r"|(?:誕生日|クリスマス|お?祝い?の?)?(?:に|の|用)?(?:プレゼント|贈り物|ギフト)(?:に?したい|に?ほしい|用)?|贈りたい|あげたい"
    r"|読ませ(?:たい|られる|ても(?:いい|大丈夫|安心))|安全な|安心(?:して読める|できる|な)?|ぴったりな?|ちょうどいい|初めて(?:の|読む)|クリスマス|読み聞かせ(?:できる|用の?)?"
    r"|見せ(?:られる|たい)|プレゼントする|選んでほしい"
    r"|お願いします|よろしく|です|ます|[のなをがはでに?。、!\s]"
)


def is_vague(text: str) -> bool:
    """True if a normalised text only asks for a good title, without naming a subject."""
    words = " ".join(word for word in text.split() if word.strip(_PUNCTUATION) not in _VAGUE)
    return not _VAGUE_JA.sub("", words).strip(_PUNCTUATION)


def beside_releases(text: str) -> str | None:
    """Returns the rest of a normalised question about releases: "one piece" for "new One Piece volume next month", "" if
    nothing is left. Returns None for any other text."""
    if not any(asked.search(text) for asked in _ASKED) and not _asks_of_volumes(text):
        return None
    rest = _EDGES.sub("", " ".join(_WORDS.sub(" ", text).split()))
    return "" if is_vague(_EMPTY.sub(" ", rest)) else rest


def _asks_of_volumes(text: str) -> bool:
    """Returns True if one sentence has both a time and "volumes". Volumes without a time may only state a length."""
    ends = (match.end() for match in _SENTENCE_END.finditer(text))
    sentences = itertools.pairwise((0, *ends, len(text)))
    return any(_TIMES.search(text, start, end) and _COUNTS.search(text, start, end) for start, end in sentences)


async def without_releases(context: ToolContext, query: str) -> str:
    """Returns the query without a question about releases, possibly "". A query that is the name of a title is unchanged."""
    text = normalise(query)
    rest = beside_releases(text)
    if rest is None:
        return query
    called, _ = await context.store.reader.called((text, without_filler(text)), context.deadline.within(_NAMES_SECONDS))
    return query if any(each.title_ids for each in called.values()) else rest
