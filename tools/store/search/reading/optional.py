"""What is said to be no requirement: "need not be finished", "ongoing is fine too", 完結していなくてもいい.

Words that state a condition state none where they are said to be optional. Two ways of saying so differ in what they take
back of what was asked for before: "it need not be finished" (`unneeded`), "unfinished is fine" (`allowed`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tools.store.models import Conditions, Range
from tools.store.search.reading.claim import Claim, Find
from tools.store.search.reading.freedom import Freedom
from tools.store.search.reading.permission import CHANGED

_REACH = 64
_GOES_ON = r"(?: (?:with|by|for) (?:me|us|them)| too| as well| also| actually| though| either| after all| now| honestly)*"
OK_JA = (
    r"(?:、?(?:別に|全然|全く|特に|それは|それで))?(?:(?:いい|良い)(?!ところ|とこ|人|子|匂い|感じ|男|女)|ok"
    r"|オッケー|オーケー"
    r"|大丈夫|平気|(?:構|かま)(?:わない|いません|わず|わん)|問題(?:ない|なし|ありません)|結構|可(?![能愛])"
    r"|あり(?!ま)|歓迎)"
    r"(?:です|だ|や|よ|かな|かも|けど|から|ので?|し|ん?だけど){0,3}"
)
"""Says in Japanese that something may be so; follows ても or でも."""
NO_MATTER_JA = (
    r"(?:(?:特に|あまり|全く|別に|一切|そんなに|もう))?(?:問いません|問わ(?:ない|ず)|不問|気に(?:しない|しません"
    r"|せず|しなくて(?:も)?(?:いい|大丈夫)"
    r"|ならない)|こだわ(?:らない|りません|らず|りはない)|関係(?:ない|なく|ありません)|どうでも(?:いい|良い)"
    r"|重要(?:では|じゃ)(?:ない|ありません))"
    r"(?:です|ので?|から|けど|よ){0,2}"
)
"""Says that something does not matter."""
_NOUN_JA = r"(?:の|な)?(?:もの|やつ|漫画|マンガ|まんが|作品|シリーズ|本)?"
_EITHER_JA = r"(?:どちら|どっち|いずれ)(?:でも|も)"
_UNNEEDED_JA = re.compile(
    rf"{_NOUN_JA}(?:し|され|揃っ)?(?:て|で|に|じゃ|が|く|は|も){{0,3}}(?:い|る|限ら)?(?:な|無)く(?:て|たって"
    rf"|っても)も?{OK_JA}"
    rf"|{_NOUN_JA}(?:して(?:い)?る|した|である|なの)?(?:かどうか|か否か|か)?(?:に|は|を|も|には){{0,2}}{NO_MATTER_JA}"
    rf"|{_NOUN_JA}(?:で(?:ある)?|する|して(?:い)?る)?[はがも]?(?:必要|必須|条件|マスト)(?:は|も|が|では|じゃ)?"
    r"(?:ない|なし|なく(?:ても?)?|ありません)(?:です|ので?|から|けど){0,2}"
    rf"|(?:でも|か|や|・)[^、。,.!?]{{1,12}}?(?:でも|か(?:どうか)?|、)?(?:は|には)?、?(?:{_EITHER_JA}{OK_JA}"
    rf"|{NO_MATTER_JA})"
)
_ALLOWED_JA = re.compile(
    rf"{_NOUN_JA}(?:し|され)?(?:で(?:あっ)?|て(?:い)?)?(?:(?<!何)(?<!なん)で|て|たっ|だっ)(?:も|て){OK_JA}"
    rf"|(?<=で)も{OK_JA}|{_NOUN_JA}もok"
)
_WORK = r"(?: (?:mangas?|comics?|series|titles?|books?|ones?|works?|stuff|stories|editions?))?"
_FINE = (
    r"(?:(?:actually |also |totally |perfectly |absolutely |just |equally |completely )?"
    r"(?:fine|ok(?:ay)?|alright|all right|cool|no problem|not? (?:a |an )?(?:problem|issue|deal ?breaker)"
    r"|acceptable|welcome|allowed))\b"
)
_NEEDLESS = (
    r"(?:(?:not|isn't|aren't)(?: really| strictly| absolutely)? (?:an? )?(?:must|requirement|necessity|necessary"
    r"|needed|required"
    r"|mandatory|essential|important)|optional|unnecessary)\b"
)
_ANYWAY = (
    r"(?:(?:either|both|any|all)(?: of (?:them|these))?(?: way)?(?: (?:is|are|works?|would be|will do))?(?: (?:fine"
    r"|ok(?:ay)?|good))?"
    r"|i (?:really )?(?:don't|do not) (?:mind|care)(?: (?:which|either way))?|(?:it )?(?:doesn't"
    r"|does not) matter(?: to me)?|whichever)\b"
)
_UNNEEDED_AFTER = re.compile(
    rf"{_WORK}(?:,? (?:is |are )?(?:preferred|nice|preferably))?,?(?: but)?(?: it's| that's| is| are"
    rf"|'s)? {_NEEDLESS}{_GOES_ON}"
    rf"|{_WORK} (?:doesn't|does not|don't|do not) matter\b{_GOES_ON}"
    rf"|{_WORK},? or (?:not\b|(?:still )?[a-z-]+{_WORK}(?=,? {_ANYWAY}))(?: (?:finished|completed?))?(?:,? {_ANYWAY})?"
)
_ALLOWED_AFTER = re.compile(
    rf"{_WORK}(?:,? (?:too|also|as well))?(?:'s| is| are| would be| will be) {_FINE}{_GOES_ON}"
    rf"|{_WORK} (?:fine|ok(?:ay)?)\b{_GOES_ON}(?=$|[,.;!?)]| (?:but|and)\b)"
    rf"|{_WORK},? (?:too|as well) (?:is|are) {_FINE}"
    rf"|{_WORK} (?:works?|will do|would do|would work)(?: too| as well| also| for me)+"
)
_BE = r"(?: (?:necessarily|all|even|already|really|still|always|strictly))?(?: (?:to )?(?:be|have been|have|come|cost|get))*"
_A = r"(?: (?:an?|the|in|by|from|for|on|only|just|all|any|some|currently|being))*"
_IT = r"(?:it(?:'s| is| has)?|they(?:'re| are| have)?|that(?:'s| is)?|the (?:series|manga|story|whole thing)(?: is| has)?)"
_UNNEEDED_BEFORE = re.compile(
    r"(?:(?:\b(?:it|they|that|this|which|the (?:series|manga|story|title|book)|and|but|actually|well|no)\b,? )*"
    r"\b(?:(?:doesn't|does not|don't|do not|doesnt|dont|didn't|won't)(?: (?:really|actually|necessarily|even|always"
    r"|all))? "
    rf"(?:have to|need(?: to)?|require)|needn't|need not|no need (?:for (?:it|them|an?|the [a-z]+))?"
    rf"|not necessarily|not strictly){_BE}"
    r"|\b(?:(?:i|we) )?(?:(?:don't|do not|dont) (?:really )?(?:care|mind)(?: about)?|(?:it )?(?:doesn't"
    r"|does not) matter) (?:if|whether)"
    rf"(?: or not)?(?: {_IT})?{_BE}"
    rf"|\b(?:no matter (?:if|whether)|regardless of (?:if|whether)|whether)(?: or not)?(?: {_IT})?{_BE}"
    rf"|\b(?:i |we )?(?:don't|do not) care about){_A} ?$"
)
_ALLOWED_BEFORE = re.compile(
    r"(?:(?:\b(?:i'm|i am|we're|we are|am|and|but|actually|well|also|totally|perfectly|completely) )*"
    rf"\b(?:(?:fine|ok|okay|cool|alright|happy|comfortable) with|open to|can live with|(?:don't|do not"
    rf"|won't) (?:really )?mind"
    rf"|(?:even|(?:it's )?(?:fine|ok|okay|alright)) if(?: {_IT})?|(?:it|they|this|that|the series) (?:can|could|may"
    rf"|might)(?: also| even| well)?)"
    rf"(?: (?:reading|buying|getting|having))?{_BE}){_A} ?$"
)
_OR_ELSE = re.compile(rf"{_WORK},? or (?:(?:an?|in|not|still) )?(?!i\b|we\b|you\b)[a-z-]+{_WORK}")
"""After what need not be: the other of the two is no wish either ("I don't care if it's finished or ongoing")."""
_AFTERWARDS = re.compile(_GOES_ON)
_CHANGED = re.compile(rf"{CHANGED}$")
_ANYTHING = re.compile(
    r"\b(?:any(?:thing|one)?|something|whatever|all)(?: that(?:'s| is)?| which is)? $|\bwhat(?:ever)? is $"
)
"""Before it, what is fine is what is asked for: "anything short is fine"."""


def optional(find: Find, *, allows: bool = True) -> Find:
    """A finder of the same, and of a freedom where its words are said to be optional: only where they need not hold unless
    `allows`."""

    def finds(text: str) -> Iterator[Claim]:
        for claim in find(text):
            yield freed(text, claim, allows=allows) or claim

    return finds


def only_optional(find: Find) -> Find:
    """Of words that state nothing else."""

    def finds(text: str) -> Iterator[Claim]:
        return (free for claim in find(text) if (free := freed(text, claim)) is not None)

    return finds


def freed(text: str, claim: Claim, *, allows: bool = True) -> Claim | None:
    """The claim as a freedom, over all the words that make it one. None where it states what has to hold."""
    if span := unneeded(text, claim.start, claim.end):
        return _free(claim, span, f"not necessarily {claim.says}", Freedom(unneeded=claim.conditions))
    span = _span(text, claim.start, claim.end, _ALLOWED_BEFORE, (_ALLOWED_AFTER, _ALLOWED_JA)) if allows else None
    if span is None or _ANYTHING.search(text, max(0, claim.start - _REACH), claim.start):
        return None
    freedom = Freedom(allowed=claim.conditions)
    if _is_a_bound(claim):
        return replace(claim, start=span[0], end=span[1], freedom=freedom)
    return _free(claim, span, f"{claim.says} is fine", freedom)


def unneeded(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Where the words `text[start:end]` and those that say that they need not hold stand; None where nothing does."""
    return _span(text, start, end, _UNNEEDED_BEFORE, (_UNNEEDED_AFTER, _UNNEEDED_JA))


def _span(
    text: str, start: int, end: int, before: re.Pattern[str], after: tuple[re.Pattern[str], ...]
) -> tuple[int, int] | None:
    led = before.search(text, max(0, start - _REACH), start)
    followed = next((match for each in after if (match := each.match(text, end))), None)
    if led is None and followed is None:
        return None
    if led and followed is None and before is _UNNEEDED_BEFORE:
        followed = _OR_ELSE.match(text, end)
    start = led.start() if led else start
    changed = _CHANGED.search(text, max(0, start - _REACH), start)
    end = followed.end() if followed else end
    rest = _AFTERWARDS.match(text, end)
    return changed.start() if changed else start, rest.end() if rest else end


def _free(claim: Claim, span: tuple[int, int], says: str, freedom: Freedom) -> Claim:
    start, end = span
    return replace(
        claim,
        start=start,
        end=end,
        says=says if claim.says else "",
        conditions=Conditions(),
        ordering=None,
        names=(),
        about=None,
        relative=None,
        adult=False,
        obeyed=True,
        freedom=freedom,
    )


def _is_a_bound(claim: Claim) -> bool:
    """Whether it is a most: "up to ten volumes is fine" allows no eleven, and asks for no more than
    that. A single one is none."""
    ranges = (getattr(claim.conditions, name) for name in claim.conditions.stated)
    return not claim.loose and any(
        isinstance(each, Range) and each.least is None and (each.most or 0) > 1 for each in ranges
    )
