"""Tells what a token says in its place: the words around it, its clause, and what was read of the text before it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tools.store.models import Conditions, Range
from tools.store.search.reading.items import Chain, Item, Stance
from tools.store.search.reading.tables import fold_japanese, words_of
from tools.store.search.reading.tokens import Bound, Entry, Fact, Is, Sense, Token
from tools.store.search.text.tokens import stem

PRONOUNS = words_of("subjects")
MOST_BETWEEN = 4
"""Most unknown words between an English operator and its object."""
_CUES = (":", "=", "magazine", "publisher")
_PARTED, PARTICLES, _RELATIVES = words_of("parted"), words_of("particles"), words_of("relatives")
PREFIXES, _JUDGING, _LINKS = words_of("prefixes"), words_of("judging"), words_of("links")
"""English beginnings of words that negate the next item alone, Japanese words before an adjective that judges an amount, and
breaks within a chain of Japanese operators."""
_STILL, _LIKED_ONCE = words_of("still"), tuple(words_of("liked_once"))
_EXIST = tuple(words_of("exists"))
_ASKS, _ASKING = words_of("asks"), words_of("asks") | words_of("asking")
"""Japanese particles of which one makes a question, and those that may stand beside it."""
_TALES, _READERS = words_of("tales"), words_of("readers")
_SUBJECTS, _THINGS = ("が", "の", "も", "に"), words_of("things")
_OBJECTS, SUMS = words_of("objects"), words_of("sums")
_REASONS, POINTERS, DEGREES = words_of("reasons"), words_of("pointers"), words_of("degrees")
"""Words that end a reason, words that point back to a named item, and words between "too" and its fact."""


class Clauses:
    """The tokens of a text, and what was read of them so far."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._items: list[Item] = []
        self._chains: list[Chain] = []
        self._scope: Chain | None = None
        self._last: Chain | None = None
        self._since_last_items = 0
        self._used: set[int] = set()
        self._story: set[int] = set()
        self._likes: list[tuple[int, str]] = []
        self._again = False
        self._roles: dict[int, str] = {}
        self._segment = 0
        self._reasons: set[int] = set()
        self._segments: list[int] = []
        self._speaking: Counter[int] = Counter()
        self._gap, self._join = "", ""
        self._too_at: int | None = None
        self._too: list[int] = []
        self._limit_at: int | None = None
        self._mild = False
        self._condition: int | None = None
        self._in_story = ""
        self._contrast, self._spoken, self._hedged = False, False, False
        self._like_at: int | None = None
        self._signs_lead = False
        self._floor = 0

    def _is_particle(self, i: int) -> bool:
        """Returns True for "no" as the Japanese particle after a name. Before a fact, "no" refuses: "One Piece no gore"."""
        following = self._tokens[i + 1] if i + 1 < len(self._tokens) else None
        behind_name = self._tokens[i].text == "no" and i > 0 and self._tokens[i - 1].kind is Is.NAMED
        return behind_name and (following is None or following.fact is None)

    def _find_parted(self, i: int) -> int | None:
        """Returns the index of the verb that the particle at `i` belongs to: "leave" in "leave the court politics out"."""
        verbs = (k for k in range(i - 1, -1, -1) if self._segments[k] == self._segment and self._tokens[k].text in _PARTED)
        return next(verbs, None) if self._ends_clause(i) else None

    def _freed_at(self, i: int) -> bool:
        if self._scope is not None and self._scope.stance is Stance.FREE and not self._scope.objects:
            return True
        for token in self._tokens[i + 1 : i + 6]:
            if token.kind is Is.BREAK and token.text not in ("も", "で", "と", "か", "or", "and"):
                return False
            if token.operator(Sense.FREE):
                return True
        return False

    def _breaks(self, i: int, token: Token) -> bool:
        name = (token.entry(Is.BREAK) or token.entries[0]).name
        if token.text == "でも":
            return i == 0 or self._tokens[i - 1].kind is Is.BREAK
        return name in ("strong", "reason", "soft", "join", "condition", "comma", "stop", "unless")

    def _is_fact(self, i: int, token: Token) -> Fact | None:
        """Returns the fact that the token states; None if a neighbour rules it out or a word that it needs is missing."""
        fact = token.fact
        if fact is None or token.amount is not None:
            return None
        following = self._tokens[i + 1] if i + 1 < len(self._tokens) else None
        ends = following is None or following.kind is Is.BREAK or any(each.name == "now" for each in following.entries)
        if token.kind is Is.GLUE and not token.cjk and not ends:
            return None  # a function word is a fact only at the end of a clause: "no go", not "go on"
        if fact.matter == "audience" and self._is_about(i):
            return None
        if fact.matter == "statuses" and following is not None and following.kind is Is.NAMED and not token.cjk:
            return None  # "never finished One Piece"
        if fact.loose and fact.matter in ("volumes", "years"):
            beside = following is not None and following.kind is Is.WORD and not (following.cjk and following.space)
            if beside or (i and self._tokens[i - 1].text in ("his", "her", "their", "my", "its", "our", "to a", "so")):
                return None
        if fact.mood and not fact.tags and token.cjk and i and self._tokens[i - 1].fact and not token.space:
            return None  # 恋愛漫画を読んだことがない does not say that manga is new to somebody
        if fact.bare and fact.matter == "genres":
            following = self._tokens[i + 1] if i + 1 < len(self._tokens) else None
            if following is None or following.space or following.amount or following.fact or following.kind is Is.NUMBER:
                return fact
            return (
                fact
                if (following.kind is Is.BREAK and following.text not in ("と", "で", "や", "も"))
                or fold_japanese(following.text) in ("漫画", "まんが", "誌", "系", "向け", "以外", "ng")
                else None
            )
        if fact.bare and fact.matter == "magazines":
            return fact if self._magazine_cue(i) else None
        return fact

    def _is_about(self, i: int) -> bool:
        """Returns True if the words for readers at `i` tell of characters: 高校生の話, "stories about high schoolers"."""
        following = [token.text for token in self._tokens[i + 1 : i + 3]]
        if self._tokens[i].cjk:
            return following[:1] == ["が主人公"] or (following[:1] == ["の"] and following[-1] in _TALES)
        return bool(i) and self._tokens[i - 1].text == "about"

    def _magazine_cue(self, i: int) -> bool:
        last = self._items[-1] if self._items else None
        if all(token.fact or token.amount for token in self._tokens):
            return True  # keywords: "ribon finished"
        if last is not None and last.matter == "magazines" and last.segment == self._segment:
            return True
        for k in (i - 1, i - 2):
            if k >= 0 and (self._tokens[k].operator(Sense.MAGAZINE) or self._tokens[k].text in _CUES):
                return True
        following = self._tokens[i + 1] if i + 1 < len(self._tokens) else None
        return following is not None and any(
            each.sense is Sense.MAGAZINE and each.side == "after" for each in following.entries
        )

    def _asks_for_one(self, i: int, token: Token) -> bool:
        """Returns True for a negation that only asks whether there is one: 野球漫画はないのか, ミステリーないすか."""
        if not token.text.endswith(_EXIST):
            return False
        following = self._tokens[i + 1 : i + 5]
        rest = list(itertools.takewhile(lambda each: each.text in _ASKING, following))
        end = following[len(rest)] if len(rest) < len(following) else None
        ends = end is None or (end.kind is Is.BREAK and end.entries[0].name == "stop")
        return ends and any(each.text in _ASKS for each in (*rest, *([end] if end else [])))

    def _is_correction(self, i: int, token: Token) -> bool:
        """Returns True for a refusal that opens a clause and takes back what was said before: 千円、いや八百円で."""
        opens = bool(self._items) and self._tokens[i - 1].kind is Is.BREAK
        return opens and any(each.name == "correction" for each in token.entries) and self._item_follows(i)

    def _preferred(self, i: int, found: list[Entry]) -> Entry:
        senses = {each.sense: each for each in found}
        if Sense.LIKE in senses and (Sense.WANT in senses or Sense.TASTE in senses):
            if self._is_spoken(i) or (self._scope is not None and self._scope.to == i - 1):
                return senses.get(Sense.WANT) or senses[Sense.TASTE]
            return senses[Sense.LIKE]
        for sense in (Sense.NOT, Sense.REFUSE, Sense.FREE, Sense.LIKE, Sense.KNOWN, Sense.TASTE, Sense.REQUIRE):
            if sense in senses:
                return senses[sense]
        return found[0]

    def _prefers_operator(self, i: int, token: Token, operator: Entry) -> bool:
        """Returns True if a token that may be a fact or an operator is the operator: an English refusal, inflected verb or
        verb after a pronoun or a negation; a Japanese word after an item."""
        if operator.sense in (Sense.NAME, Sense.MAGAZINE, Sense.ASKS, Sense.WHICH):
            return False
        if token.cjk or operator.sense in (Sense.NOT, Sense.REFUSE):
            return bool(self._items) or not token.cjk
        if " " not in token.text and token.text != stem(token.text):
            return True  # "loves", not "love"
        return self._is_spoken(i)

    def _is_spoken(self, i: int) -> bool:
        """Returns True if a pronoun or a negation precedes the token at `i`, so that it is a verb: "I like"."""
        last = self._tokens[i - 1] if i else None
        return last is not None and (last.text in PRONOUNS or last.operator(Sense.NOT) is not None)

    def _ends_clause(self, i: int) -> bool:
        for token in self._tokens[i + 1 :]:
            if token.kind is Is.BREAK:
                return token.entries[0].name != "condition"
            if token.kind is not Is.GLUE:
                return False
        return True

    def _bounded_era(self, i: int, fact: Fact) -> Fact:
        """Returns the fact of an era with the bound that follows it: 平成以降 begins with the era and has no end."""
        bound = self._tokens[i + 1].entry(Is.BOUND) if i + 1 < len(self._tokens) else None
        years = fact.conditions.years
        if bound is None or bound.side != "after":
            return fact
        if bound.bound in (Bound.LEAST, Bound.OVER) and years.least is not None:
            made, other = Range(years.least), Range(None, years.least - 1)
        elif bound.bound in (Bound.MOST, Bound.UNDER) and years.most is not None:
            made, other = Range(None, years.most), Range(years.most + 1)
        else:
            return fact
        return replace(fact, conditions=Conditions(years=made), opposite=Conditions(years=other))

    def _measures(self, i: int) -> bool:
        """Returns True if the word of quantity at `i` judges the amount before it: "is too many", "isn't enough"."""
        if self._tokens[i].text.endswith("enough"):
            return self._items[-1].segment == self._segment
        return self._tokens[i - 1].operator(Sense.TOO) is not None

    def _is_measured(self, i: int) -> bool:
        """Returns True if a Japanese adjective at `i` judges the amount before it: 5巻は短い, 2015年は古い."""
        between = self._tokens[self._items[-1].at + 1 : i] if self._items else []
        said = [token.text for token in between]
        return bool(said) and self._items[-1].token.amount is not None and all(each in _JUDGING for each in said)

    def _list_closes(self, scope: Chain, i: int) -> bool:
        """Returns True if "or" or "and" joins a last item to the list: "I hate horror, comedy and drama". In a list after
        "no" only "or" does, since "and" begins a wish: "no horror, comedy and drama please"."""
        closing = ("or", "nor") if scope.operators[-1].side == "none" else ("or", "nor", "and")
        for k in range(i + 1, min(i + 8, len(self._tokens))):
            token = self._tokens[k]
            if token.text in closing:
                return True
            if (
                (token.kind is Is.BREAK and token.entries[0].name in ("stop", "strong", "reason"))
                or token.operator() is not None
                or token.kind is Is.WORD
            ):
                return False
        return False

    def _is_past(self, i: int) -> bool:
        """Returns True if words near the fact say that it was liked once, and no word says that it still is."""
        for token in reversed(self._tokens[max(0, i - MOST_BETWEEN) : i]):
            if token.kind is Is.BREAK:
                return False
            if any(each.name == "past" for each in token.entries):
                liked = not token.cjk or any(each.text.startswith(_LIKED_ONCE) for each in self._tokens[i + 1 : i + 6])
                liked = liked or any(each.operator(Sense.REFUSE) for each in self._tokens[i + 1 : i + 4])
                return liked and not any(each.text in _STILL for each in self._tokens)  # 昔は探偵だった主人公
        return False

    def _is_relative(self, chain: Chain) -> bool:
        return any(at and self._tokens[at - 1].text in _RELATIVES for at in (chain.at, chain.to))

    def _is_in_list(self, i: int) -> bool:
        """Returns True if the unknown word at `i` stands in a list of refused things: "no cats, ferrets or dogs"."""
        if self._scope is None or self._scope.stance is not Stance.REFUSED or i + 1 >= len(self._tokens):
            return False
        sides = self._tokens[i - 1], self._tokens[i + 1]
        parted = [side.kind is Is.BREAK and side.entries[0].name in ("comma", "join") for side in sides]
        return any(parted) and all(apart or side.fact is not None for apart, side in zip(parted, sides, strict=True))

    def _is_character(self, i: int, token: Token) -> bool:
        """Returns True if a clause with "who" is about a character: "about a girl who hates sports"."""
        item = self._items[-1] if self._items else None
        themed = item is not None and item.at == i - 1 and item.matter == "themes" and token.text != "who"
        return themed or any(each.text == "about" for each in self._tokens[max(0, i - MOST_BETWEEN) : i])

    def _tells_of_character(self, i: int) -> bool:
        """Returns True if a Japanese feeling is a character's: スポーツが嫌いな女の子の話, not 嫌いな子に."""
        following = [token.text for token in self._tokens[i + 1 : i + 9]]
        end = next((k for k, text in enumerate(following) if text in _TALES), 0)
        return end > 1 and following[0] == "な" and following[end - 1] == "の" and _READERS.isdisjoint(following[:end])

    def _is_interjection(self, scope: Chain, i: int) -> bool:
        """Returns True for the first of two negations that answers no question: "romance. And no, not Fruits Basket"."""
        opens = scope.at == 0 or self._tokens[scope.at - 1].kind is Is.BREAK
        answers = self._condition == self._segment - 1
        return opens and not answers and scope.negated and scope.at == scope.to and self._item_follows(i)

    def _qualifies(self, i: int) -> bool:
        """Returns True if a negated Japanese verb says of the noun after it what it is without: 幽霊が出ない話."""
        start = next((k for k in range(i - 1, -1, -1) if self._tokens[k].kind is not Is.WORD), 0)
        following = self._tokens[i + 1] if i + 1 < len(self._tokens) else None
        noun = following is not None and (following.fact is not None or following.text in _THINGS)
        item = self._items[-1] if self._items else None
        return noun and item is not None and item.at == start - 1 and self._tokens[start].text in _SUBJECTS

    def _leads_on(self, i: int) -> bool:
        """Returns True if the operator applies to what follows it: a label ("dislikes: gore"), a word before "to" ("isn't
        allowed to read", not "appealing to me"), or a sign if the first sign precedes an item ("❌ gore ✅ romance")."""
        following = [token.text for token in self._tokens[i + 1 : i + 3]]
        spoken = next((k for k in range(i + 1, len(self._tokens)) if self._tokens[k].kind is not Is.GLUE), None)
        if not self._tokens[i].text.isalnum() and len(self._tokens[i].text) == 1:
            self._signs_lead = self._signs_lead or (self._speaking[self._segment] == 1 and self._item_follows(i))
            return self._signs_lead
        if spoken is not None and self._tokens[spoken].text == ":":
            return self._item_follows(spoken)
        return following[:1] == ["to"] and len(following) > 1 and following[1] not in _OBJECTS

    def _negates_unknown(self, i: int) -> bool:
        """Returns True if a comma and an unknown word part the Japanese negation at `i` from the item before: in
        ミステリー、難しくないの the adjective is negated."""
        between = self._tokens[self._items[-1].at + 1 : i] if self._items else []
        at = next((k for k, token in enumerate(between) if token.text == "、"), None)
        return at is not None and any(token.kind is Is.WORD for token in between[at:])

    def _item_follows(self, i: int) -> bool:
        for token in self._tokens[i + 1 :]:
            if token.kind is Is.BREAK:
                return False
            if token.fact is not None or token.amount is not None or token.kind is Is.NAMED:
                return True
        return False

    def _only_glue(self, start: int, end: int) -> bool:
        for k in range(start + 1, end):
            token = self._tokens[k]
            if token.kind is Is.BREAK and token.text not in _LINKS:
                return False
            if token.text in _REASONS or token.text in POINTERS:
                return False
            if token.kind is Is.WORD and len(token.text) > 2:
                return False
        return True

    def _has_only_fillers_between(self, start: int, end: int) -> bool:
        return all(self._tokens[k].kind in (Is.GLUE, Is.OPERATOR) for k in range(start + 1, min(end, len(self._tokens))))
