"""Decides which operator each fact and amount belongs to, by one rule for all of them.

An operator takes the items on its side: before its object in English, after it in Japanese. Operators in a row are one
chain, folded from its inside out: the operator next to the object is innermost, so that "not hate", 嫌いじゃない and
ないと嫌 come out right by the same lines. Items that no operator takes are wanted.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from tools.store.search.reading.tables import words_of
from tools.store.search.reading.tokens import Entry, Fact, Is, Sense, Token

POLAR = frozenset({Sense.NOT, Sense.REFUSE, Sense.WANT, Sense.TASTE, Sense.REQUIRE, Sense.FREE, Sense.KNOWN})
_PREFERRED = (Sense.NOT, Sense.REFUSE, Sense.FREE, Sense.LIKE, Sense.KNOWN, Sense.TASTE, Sense.REQUIRE)
"""Of what an operator may be, the first of these."""
_MOST_OPERATORS, _MOST_ITEMS = 8, 40
"""Operators of a chain and items of a text: nobody says more."""
_NEAR_FREEDOM = 5
"""Tokens between a matter and the word that says that it does not matter."""
_MEASURES = ({"volumes"}, {"year", "years"}, {"money", "ordering"})
_CUES = (":", "=", "magazine", "publisher")
_BUT = ("but", "だけど", "けど")
_NO_ENTRY = Entry(Is.GLUE)
_FREED = {"shorter": "length", "longer": "length", "newer": "time", "older": "time", "cheaper": "price"}
_PRONOUNS, _POINTERS, _RELATIVES, _PARTED = map(words_of, ("subjects", "pointers", "relatives", "parted"))
"""Words before a verb of liking, words for what was named before, words that begin what is said of it, verbs with "out"."""
_MILDER = words_of("milder")
_OUT = Entry(Is.OPERATOR, sense=Sense.REFUSE, side="after", name="after")
_LINKS, _REASONS = words_of("links"), words_of("reasons")
"""Japanese breaks between operators of one chain, and words that end why something is so."""
_NOUNS = ("なし", "無", "じゃ", "では", "でな", "ナシ")
"""Japanese negations of nouns; the others negate verbs."""


class Stance(Enum):
    """The attitude towards an item."""

    WANTED = "wanted"
    REFUSED = "refused"
    REQUIRED = "required"
    FREE = "free"
    LIKED = "liked"
    KNOWN = "known"


@dataclass(slots=True)
class Chain:
    """Operators in a row. `at`: the index of the first, `to` of the last; `japanese`: innermost first."""

    at: int
    to: int
    operators: list[Entry] = field(default_factory=list)
    japanese: bool = False
    objects: list[Item] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    comma: bool = False
    join: str = ""
    lists: bool = False
    mild: bool = False
    weak: bool = False

    @property
    def stance(self) -> Stance:
        inward = self.operators if self.japanese else list(reversed(self.operators))
        state: tuple[Stance, bool] | None = None
        for each in inward:
            state = _outer(each, state)
        return state[0] if state else Stance.WANTED

    @property
    def strong(self) -> bool:
        """True if the chain has a word of refusal, or a negation of its own and not of some verb."""
        return any(each.sense is Sense.REFUSE for each in self.operators) or (
            not self.weak and any(each.sense is Sense.NOT and each.name != "weak" for each in self.operators)
        )


def _outer(operator: Entry, inner: tuple[Stance, bool] | None) -> tuple[Stance, bool]:
    """Applies an operator to the stance inside it. Returns the new stance and whether it is a bare negation."""
    stance, bare = inner or (None, False)
    match operator.sense:
        case Sense.NOT:
            if stance is Stance.REFUSED:
                return (Stance.WANTED, False) if bare else (Stance.FREE, False)
            freed = stance is Stance.REQUIRED and operator.side != "none"  # "need not be", and not "nothing that is"
            return (Stance.FREE, False) if freed else (Stance.REFUSED, stance is None)
        case Sense.REFUSE:
            if stance is Stance.REFUSED:
                return (Stance.WANTED, False) if bare else (Stance.REFUSED, False)
            return (Stance.REFUSED, False)
        case Sense.FREE:
            return (Stance.FREE, False)
        case Sense.REQUIRE | Sense.TASTE | Sense.KNOWN as sense if stance in (None, Stance.WANTED):
            return (_FELT[sense], False)
        case _:
            return (Stance.WANTED, False) if stance is None else (stance, bare)


_FELT = {Sense.REQUIRE: Stance.REQUIRED, Sense.TASTE: Stance.LIKED, Sense.KNOWN: Stance.KNOWN}


@dataclass(slots=True)
class Item:
    """A fact or an amount. `at`: its index among the tokens; `segment`: the clause between strong breaks; `gap`: what parts
    it from the item before it: "", "comma", "join", "soft", "strong"."""

    at: int
    token: Token
    fact: Fact | None
    segment: int
    gap: str = ""
    join: str = ""
    stance: Stance = Stance.WANTED
    chain: Chain | None = None
    limited: bool = False
    freed: str = ""
    hedged: bool = False
    mild: bool = False
    but: bool = False

    @property
    def matter(self) -> str:
        if self.token.kind is Is.NAMED:
            return "title" if self.token.title_ids else "author"
        if self.freed:
            return f"matter:{self.freed}"
        return self.fact.matter if self.fact else (self.token.amount.unit if self.token.amount else "")

    @property
    def unpleasant(self) -> bool:
        return self.fact is not None and self.fact.unpleasant


@dataclass(slots=True)
class Binding:
    """The result of binding: the items, the chains, the tokens of operators and of a story, and the clause of each token.
    `likes`: something like another is asked for, `again`: like what was had before; `roles`: words that call for a name."""

    items: list[Item] = field(default_factory=list)
    chains: list[Chain] = field(default_factory=list)
    used: set[int] = field(default_factory=set)
    story: set[int] = field(default_factory=set)
    segments: list[int] = field(default_factory=list)
    roles: dict[int, str] = field(default_factory=dict)
    likes: bool = False
    again: bool = False


class Binder:
    """Goes through the tokens once."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._bound = Binding()
        self._items = self._bound.items
        self._scope: Chain | None = None
        self._last: Chain | None = None
        self._segment, self._gap, self._join, self._hedged = 0, "", "", False
        self._in_story = self._mild = False
        self._too_at: int | None = None
        self._limit_at: int | None = None
        self._like_at: int | None = None

    def bind(self) -> Binding:
        for i, token in enumerate(self._tokens):
            self._bound.segments.append(self._segment)
            self._take(i, token)
        self._finish()
        return self._bound

    # One token

    def _take(self, i: int, token: Token) -> None:
        fact = self._fact_of(i, token)
        if token.kind is Is.BREAK or (token.entry(Is.BREAK) and fact is None and token.operator() is None):
            self._break(token)
            return
        if self._in_story:
            self._bound.story.add(i)
            return
        freed = _FREED.get((token.entry(Is.RELATIVE) or _NO_ENTRY).name) or (token.entry(Is.MATTER) or _NO_ENTRY).name
        if token.kind is Is.NAMED or token.amount is not None:
            self._item(i, token, None)
        elif freed and self._is_free(i):
            self._item(i, token, None, freed=freed)
        elif (operator := self._operator(i, token)) is not None:
            self._operate(i, token, operator)
        elif token.text == "out" and self._is_parted(i):
            self._after(i, token, _OUT)
        elif fact is not None:
            self._item(i, token, fact)
        elif token.kind is Is.WORD or token.entry(Is.FACT):
            self._word(i)

    def _is_parted(self, i: int) -> bool:
        """True if the token ends a verb whose object stands in its middle: "leave the court politics out"."""
        clause = zip(self._tokens, self._bound.segments, strict=False)
        return self._ends_clause(i) and any(token.text in _PARTED and at == self._segment for token, at in clause)

    def _is_free(self, i: int) -> bool:
        """True if a word near says that something is no requirement."""
        if self._scope is not None and self._scope.stance is Stance.FREE and not self._scope.objects:
            return True
        return any(token.operator(Sense.FREE) for token in self._tokens[i + 1 : i + 1 + _NEAR_FREEDOM])

    def _fact_of(self, i: int, token: Token) -> Fact | None:
        """Returns the fact of a token; None where a particle or a missing cue makes it a mere word."""
        fact, following = token.fact, self._tokens[i + 1] if i + 1 < len(self._tokens) else None
        if fact is None:
            return None
        if token.kind is Is.GLUE and not token.cjk and following is not None and following.kind is not Is.BREAK:
            return None  # a little word states something at the end of a clause alone: "no go", and not "go on"
        if fact.loose and fact.matter in ("volumes", "years"):  # "short cuts", 長い髪
            owned = i and self._tokens[i - 1].text in ("his", "her", "their", "my", "its", "our", "to a", "so")
            if owned or (following is not None and following.kind is Is.WORD and not (following.cjk and following.space)):
                return None
        if fact.bare and fact.matter == "magazines":
            beside = (*self._tokens[max(0, i - 2) : i], *self._tokens[i + 1 : i + 2])
            cued = any(each.operator(Sense.MAGAZINE) or each.text in _CUES for each in beside)
            return fact if cued or len(self._tokens) == 1 else None
        if not fact.bare or following is None or following.space or following.kind in (Is.BREAK, Is.FACT, Is.AMOUNT):
            return fact
        return None

    def _operator(self, i: int, token: Token) -> Entry | None:
        """Returns the one of a token's operators that counts here."""
        found = [each for each in token.entries if each.kind is Is.OPERATOR]
        after = [each for each in found if each.side == "after"]
        if after and len(after) < len(found):
            if self._ends_clause(i):
                return after[0]
            found = [each for each in found if each.side != "after"]
        senses = {each.sense: each for each in found}
        beside = Sense.LIKE in senses and i and self._tokens[i - 1].text in _PRONOUNS  # "i like", and not "like"
        order = (Sense.WANT, Sense.TASTE, *_PREFERRED) if beside else _PREFERRED
        return next((senses[sense] for sense in order if sense in senses), found[0] if found else None)

    def _ends_clause(self, i: int) -> bool:
        for token in self._tokens[i + 1 :]:
            if token.kind is Is.BREAK:
                return token.entries[0].name != "condition"
            if token.kind is not Is.GLUE:
                return False
        return True

    def _break(self, token: Token) -> None:
        entry = token.entry(Is.BREAK) or token.entries[0]
        self._in_story = self._in_story and entry.name in ("condition", "unless")
        match entry.name:
            case "stop" | "strong" | "reason":
                self._finish()
                if self._items and token.text in _BUT:
                    self._items[-1].but = True
                self._segment += 1
                self._gap, self._hedged, self._limit_at, self._like_at = "strong", False, None, None
            case "unless":
                self._finish()
                self._gap, self._hedged = "strong", bool(self._items)
            case "soft" | "condition":
                self._gap = self._gap if entry.japanese and entry.name == "condition" else "soft"
            case "comma":
                self._gap = self._gap or "comma"
                if self._scope is not None and token.text != ":":
                    self._scope.comma = True
            case _:
                self._join = token.text
                self._gap = "join" if self._gap in ("", "comma") else self._gap
                if self._scope is not None:
                    self._scope.join = token.text

    # Facts and amounts

    def _item(self, i: int, token: Token, fact: Fact | None, freed: str = "") -> None:
        if len(self._items) == _MOST_ITEMS:
            return
        item = Item(i, token, fact, self._segment, self._gap, self._join, freed=freed, hedged=self._hedged)
        if token.kind is Is.NAMED and self._like_at is not None:
            item.stance = Stance.LIKED
        item.mild, self._mild = self._mild, False
        if self._too_at == i - 1 or token.text.endswith(("すぎ", "過ぎ")):
            self._refuse(item)
        item.limited = self._limit_at is not None and token.amount is not None and token.amount.unit == "money"
        self._gap, self._join, self._too_at = "", "", None
        if self._scope is not None and not self._accepts(self._scope, item):
            self._finish()
        self._items.append(item)
        if self._scope is not None:
            self._bind(self._scope, item)

    def _refuse(self, item: Item) -> None:
        """Refuses what is too much, and an amount of the same measure: "less than five volumes is too short"."""
        item.stance, item.mild = Stance.REFUSED, True
        for before in [each for each in self._items[-2:] if each is not item and each.segment == item.segment]:
            if before.token.amount is not None and {before.matter, item.matter} in _MEASURES:
                before.stance = Stance.REFUSED

    def _accepts(self, scope: Chain, item: Item) -> bool:
        if not scope.objects:
            return not scope.comma
        last = scope.objects[-1]
        if item.token.kind is Is.NAMED and last.token.kind is Is.NAMED:
            return True
        same = item.matter == last.matter
        if scope.join or scope.comma:
            return same and bool(scope.join or scope.lists or item.unpleasant)
        return item.token.amount is None or last.token.amount is not None or same

    def _bind(self, chain: Chain, item: Item) -> None:
        chain.objects.append(item)
        chain.join, chain.comma = "", False
        item.chain, item.mild = chain, item.mild or chain.mild
        if item.stance not in (Stance.REFUSED, Stance.LIKED) or chain.stance not in (Stance.WANTED, Stance.REQUIRED):
            item.stance = chain.stance
        self._bound.used.update(range(chain.at, chain.to + 1), chain.words)

    def _word(self, i: int) -> None:
        self._too_at = None
        if self._scope is not None and self._scope.objects:
            self._finish()
        elif self._scope is not None:
            self._scope.words.append(i)

    # Operators

    def _operate(self, i: int, token: Token, entry: Entry) -> None:
        match entry.sense:
            case Sense.TOO if entry.side == "after" and self._items:
                self._refuse(self._items[-1])
                self._bound.used.add(i)
            case Sense.TOO:
                self._too_at, self._mild = None if entry.side == "mild" else i, entry.side == "mild" and entry.japanese
                if self._scope is not None and not self._scope.objects:
                    self._scope.mild, self._too_at = True, None
            case Sense.LIMIT:
                self._limit_at = i
                if entry.side == "after" and self._items and self._items[-1].token.amount is not None:
                    self._items[-1].limited = True
            case Sense.STORY:
                somebody = any(each.matter in ("audience", "person", "age") for each in self._items)
                self._in_story = not somebody and self._scope is None and not token.text.startswith(("where", "in which"))
            case Sense.LIKE:
                self._bound.again, self._bound.likes = self._bound.again or entry.side == "again", True
                self._bound.used.add(i)
                for item in self._tail() if entry.side == "after" else ():
                    if item.token.kind is Is.NAMED and item.stance is Stance.WANTED:
                        item.stance = Stance.LIKED
                self._like_at = i if entry.side == "before" else self._like_at
            case Sense.ASKS if i and self._tokens[i - 1].kind is not Is.BREAK and self._tokens[i - 1].text not in "-:,":
                pass
            case Sense.NAME | Sense.MAGAZINE | Sense.ASKS | Sense.WHICH as sense:
                self._bound.roles[i] = f"{sense.value}:{entry.name}"
            case _:
                self._like_at = None
                if entry.side == "after":
                    self._after(i, token, entry)
                else:
                    self._before(i, entry)

    def _before(self, i: int, entry: Entry) -> None:
        scope = self._scope
        if scope is not None and not scope.objects and not scope.words and not scope.comma:
            if len(scope.operators) < _MOST_OPERATORS:
                scope.operators.append(entry)
            scope.to = i
            return
        self._finish()
        lists = [token.text for token in self._tokens[i + 1 : i + 2]] == [":"]
        mild = entry.sense is Sense.REFUSE and self._tokens[i].text.split(" ")[0] in _MILDER
        self._scope = Chain(i, i, [entry], lists=lists, mild=mild)
        self._bound.chains.append(self._scope)

    def _after(self, i: int, token: Token, entry: Entry) -> None:
        chain = Chain(i, i, [entry], japanese=entry.japanese)
        if not entry.japanese:
            if entry.sense in (Sense.REFUSE, Sense.FREE) and self._begins_with_operator(i):
                self._before(i, entry)
                return
            self._finish()
            self._bound.chains.append(chain)
            if chain.stance in (Stance.REFUSED, Stance.FREE, Stance.REQUIRED, Stance.LIKED):
                self._bind_back(chain)
            return
        last = self._last
        if last is not None and self._is_linked(last.to, i):
            if len(last.operators) < _MOST_OPERATORS:
                last.operators.append(entry)
            last.to = i
            for item in last.objects:
                item.stance = last.stance
            if last.objects:
                self._bound.used.update(range(last.at, i + 1))
            return
        chain.weak = entry.sense is Sense.NOT and not token.text.startswith(_NOUNS)
        self._bound.chains.append(chain)
        if i and self._tokens[i - 1].text in _POINTERS:
            named = next((item for item in reversed(self._items) if item.matter != "person"), None)
            if named is not None:
                self._bind(chain, named)
        self._last = chain
        self._bind_back(chain)

    def _begins_with_operator(self, i: int) -> bool:
        """True if the clause has items after a place and none before it."""
        following = itertools.takewhile(lambda token: token.kind is not Is.BREAK, self._tokens[i + 1 :])
        before = any(item.segment == self._segment for item in self._items)
        return not before and any(token.fact or token.amount or token.kind is Is.NAMED for token in following)

    def _is_linked(self, start: int, end: int) -> bool:
        """True if two Japanese operators are one chain: only little words stand between them."""
        between = self._tokens[start + 1 : end]
        return not any(
            token.kind in (Is.FACT, Is.AMOUNT, Is.NAMED)
            or (token.kind is Is.BREAK and token.text not in _LINKS)
            or token.text in _REASONS
            for token in between
        )

    def _tail(self) -> list[Item]:
        """Returns the items that an operator after them takes, the last first."""
        found: list[Item] = []
        for item in reversed(self._items):
            nearer = found[-1] if found else None
            if item.segment != self._segment or (item.chain is not None and item.chain.stance is not Stance.WANTED):
                break
            if nearer is not None and not self._goes_with(item, nearer):
                break
            found.append(item)
        return found

    def _goes_with(self, item: Item, nearer: Item) -> bool:
        """True if what is said after two items is said of both: 10巻以上の長編, "gore and torture"."""
        match nearer.gap:
            case "strong" | "soft":
                return False
            case "comma":
                return item.unpleasant and item.matter == nearer.matter
            case "join":
                return True
        if nearer.token.space and (nearer.token.cjk or nearer.matter != item.matter):
            return False
        between = [token.text for token in self._tokens[item.at + 1 : nearer.at]]
        return all(text in ("の", "な", "of", "", "系", "もの") for text in between) and (
            item.matter == nearer.matter or not between
        )

    def _bind_back(self, chain: Chain) -> None:
        """Binds the items before a chain, as far as no other chain says anything of them."""
        for item in self._tail():
            if item.chain is None or item.chain.stance is Stance.WANTED:
                self._bind(chain, item)

    def _finish(self) -> None:
        """Ends the English scope. One that took nothing takes the items before it: "mecha, hard pass"."""
        scope, self._scope = self._scope, None
        if scope is None or scope.objects or scope.words or scope.stance not in (Stance.REFUSED, Stance.FREE):
            return
        before, following = self._tokens[max(0, scope.at - 1) : scope.at], self._tokens[scope.to + 1 : scope.to + 2]
        if any(token.text in _RELATIVES for token in before) and any(token.text in _POINTERS for token in following):
            return  # "that doesn't have one": of what was named before, not of what has none
        self._bind_back(scope)
