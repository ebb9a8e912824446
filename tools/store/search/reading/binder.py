"""Assigns operators ("not", "need", "hate") to items, which are the facts, amounts and names in a text.

Most operators apply to the items after them in English, before them in Japanese. Adjacent operators form a chain."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tools.store.models import Conditions, Range
from tools.store.search.reading.items import Binding, Chain, Item, Stance
from tools.store.search.reading.tables import fold_japanese, words_of
from tools.store.search.reading.tokens import Bound, Entry, Fact, Is, Sense, Token
from tools.store.search.text.tokens import stem

POLAR = frozenset({Sense.NOT, Sense.REFUSE, Sense.WANT, Sense.TASTE, Sense.REQUIRE, Sense.FREE, Sense.KNOWN})
_PRONOUNS = words_of("subjects")
_MOST_BETWEEN = 4
"""Most unknown words between an English operator and its object."""
_SILENT = (Is.BREAK, Is.GLUE)
"""Kinds of tokens that say nothing by themselves."""
_MOST_ITEMS = 40
"""Most items read from one text. Items beyond are ignored."""
_NO_ENTRY = Entry(Is.GLUE)
_OUT = Entry(Is.OPERATOR, sense=Sense.REFUSE, side="after", name="after")
_AFTER_THEMES = ("statuses", "format", "rating", "stock")
"""Matters of words that, after a refused theme, are a wish of their own: "no isekai finished"."""
_TASTED, _TASTED_IT = ("like it", "likes it", "liked it"), Entry(Is.OPERATOR, sense=Sense.TASTE, side="after")
_READ, _DROPPED = Entry(Is.OPERATOR, sense=Sense.KNOWN), Entry(Is.OPERATOR, sense=Sense.REFUSE)
_READ_AS = {"finished": _READ, "completed": _READ, "never finished": _DROPPED, "dropped": _DROPPED}
"""Words of a status that, before a title, tell how far it was read."""
_ASKED_FOR = Entry(Is.OPERATOR, sense=Sense.WANT, side="after", japanese=True)
_FREED = {"shorter": "length", "longer": "length", "newer": "time", "older": "time", "cheaper": "price"}
_BRACKETS = frozenset("()[]「」『』:;")
_CUES = (":", "=", "magazine", "publisher")
_OPENERS = words_of("openers")
"""English words that begin another wish."""
_MILDER = words_of("milder")
_PARTED, _PARTICLES, _RELATIVES = words_of("parted"), words_of("particles"), words_of("relatives")
_PREFIXES, _JUDGING = ("non", "anti"), ("は", "じゃ", "では", "だと")
"""English beginnings of words that negate the next item alone, and words before an adjective that judges an amount."""
_LINKS = ("も", "と", "か", "なら", "とか", "のは", "なんて", "で", "だと")
"""Breaks within a chain of Japanese operators."""
_VERBS, _LACKING, _FORFEITS = words_of("verbs"), words_of("lacking"), words_of("forfeits")
_STILL, _LIKED_ONCE = words_of("still"), tuple(words_of("liked_once"))
_LISTING = ("exclud", "omit", "remov", "filter", "ban", "avoid", "skip")
_NOUNS = ("なし", "無", "じゃ", "では", "でな", "ナシ")
"""Beginnings of Japanese negations of nouns. All other Japanese negations are of verbs."""
_EXIST = tuple(words_of("exists"))
_ASKS, _ASKING = words_of("asks"), words_of("asks") | words_of("asking")
"""Japanese particles of which one makes a question, and those that may stand beside it."""
_TALES, _READERS = words_of("tales"), words_of("readers")
_SUBJECTS, _THINGS = ("が", "の", "も", "に"), words_of("things")
_JOINS_ALL = words_of("joins")
_OBJECTS, _SUMS = words_of("objects"), words_of("sums")
_POINTED = {each: words_of(f"pointed_{each}") for each in ("themes", "title", "author", "magazines", "genres", "format")}
"""By the matter of an item, the words that point back to it, or that follow a word that does: "him", "that author"."""
_REASONS, _POINTERS, _DEGREES = words_of("reasons"), words_of("pointers"), words_of("degrees")
"""Words that end a reason, words that point back to a named item, and words between "too" and its fact."""


_QUANTITIES = {"many": False, "much": False, "few": True, "little": True, "not enough": True, "enough": False}
"""Words of quantity; True for those that call an amount too small."""


class Binder:
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

    def bind(self) -> Binding:
        for i, token in enumerate(self._tokens):
            self._segments.append(self._segment)
            self._speaking[self._segment] += token.kind not in _SILENT
            self._take(i, token)
        self._finish(len(self._tokens))
        self._bind_postposed()
        return Binding(
            self._items,
            self._chains,
            self._used,
            self._story,
            self._likes,
            self._again,
            self._roles,
            self._segments,
            self._too,
            self._reasons,
        )

    def _bind_postposed(self) -> None:
        """Binds all items to a Japanese refusal at the start of the text: 無しで、ホラーは. Does so only if 、 separates
        the refusal from the first item, the refusal has no item yet, the text has no other operator and no unknown word,
        and it does not end in で, を or が."""
        if len(self._chains) != 1 or not self._items:
            return
        chain, first = self._chains[0], self._items[0].at
        between = self._tokens[chain.to + 1 : first]
        parted = any(token.text == "、" for token in between) and all(token.kind in _SILENT for token in between)
        opens = all(token.kind in _SILENT for token in self._tokens[: chain.at])
        silent = opens and all(token.kind is not Is.WORD for token in self._tokens)
        wished = self._tokens[-1].text in ("で", "を", "が")
        if chain.japanese and not chain.objects and chain.stance is Stance.REFUSED and parted and silent and not wished:
            for item in self._items:
                self._bind(chain, item)

    # One token

    def _take(self, i: int, token: Token) -> None:
        if token.kind is Is.BREAK or (
            token.entry(Is.BREAK) and not self._is_fact(i, token) and token.operator() is None and self._breaks(i, token)
        ):
            self._break(i, token)
            return
        if self._in_story == "story":
            self._story.add(i)
            return
        if token.kind is Is.NAMED:
            self._item(i, token, None)
            return
        freed = _FREED.get((token.entry(Is.RELATIVE) or _NO_ENTRY).name) or (token.entry(Is.MATTER) or _NO_ENTRY).name
        if freed and self._freed_at(i):
            self._item(i, token, None, freed=freed)
            return
        if token.text in _QUANTITIES and self._items and self._items[-1].token.amount is not None and self._measures(i):
            self._judge_amount(self._items[-1], token.text)
            return
        if token.text in _OPENERS and self._scope is not None and self._scope.objects:
            self._finish(i)
        fact = self._is_fact(i, token)
        operator = self._operator(i, token)
        if operator is not None and self._is_particle(i):
            return
        if fact is not None and operator is not None:
            if self._prefers_operator(i, token, operator):
                fact = None
            else:
                operator = None
        if token.amount is not None:
            self._item(i, token, None)
        elif operator is not None:
            self._operate(i, token, operator)
        elif token.text in _PARTICLES and (verb := self._find_parted(i)) is not None:
            self._floor = verb
            self._after(i, _OUT)
            self._floor = 0
        elif fact is not None:
            self._item(i, token, fact)
        elif token.kind is Is.WORD or (token.entry(Is.FACT) and not fact):
            self._word(i, token)

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

    def _operator(self, i: int, token: Token) -> Entry | None:
        if token.text in _READ_AS and i + 1 < len(self._tokens) and self._tokens[i + 1].kind is Is.NAMED:
            return _READ_AS[token.text]
        before = self._tokens[i - 1] if i else None
        told = before is not None and (before.text in _PRONOUNS or before.operator(Sense.NOT) is not None)
        if told and token.text in _TASTED:
            return _TASTED_IT
        found = [each for each in token.entries if each.kind is Is.OPERATOR]
        if not found or self._is_correction(i, token):
            return None
        if self._asks_for_one(i, token):
            return _ASKED_FOR
        after = [each for each in found if each.side == "after"]
        before = [each for each in found if each.side != "after"]
        if after and before:
            return (
                after[0]
                if self._ends_clause(i) and not self._leads_on(i) and next(self._tail(), None)
                else self._preferred(i, before)
            )
        return self._preferred(i, found)

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
            if i and (
                self._tokens[i - 1].text in _PRONOUNS
                or self._tokens[i - 1].operator(Sense.NOT)
                or (self._scope is not None and self._scope.to == i - 1)
            ):
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
        return bool(i) and (self._tokens[i - 1].text in _PRONOUNS or self._tokens[i - 1].operator(Sense.NOT) is not None)

    def _ends_clause(self, i: int) -> bool:
        for token in self._tokens[i + 1 :]:
            if token.kind is Is.BREAK:
                return token.entries[0].name != "condition"
            if token.kind is not Is.GLUE:
                return False
        return True

    # Breaks

    def _break(self, i: int, token: Token) -> None:
        entry = token.entry(Is.BREAK) or token.entries[0]
        name = entry.name
        if name in ("stop", "strong", "reason"):
            self._finish(i)
            contrasts = name == "strong" and not token.text.startswith(("please", "pls", "thx", "thanks"))
            if name == "reason":
                self._reasons.add(self._segment if entry.japanese else self._segment + 1)
                name = "strong"
            self._segment += 1
            self._hedged = False
            self._gap, self._in_story, self._limit_at, self._like_at = "strong", "", None, None
            if (
                name == "strong"
                and self._items
                and self._items[-1].token.title_ids
                and self._items[-1].stance is Stance.WANTED
            ):
                self._items[-1].but = token.text in ("but", "だけど", "けど")
            self._contrast, self._spoken = contrasts, False
            if name == "stop":
                self._condition = self._condition if token.text[-1] in "?？" else None
                if token.text[-1] in "?？":
                    self._condition = self._segment - 1
            return
        if name == "unless":
            self._finish(i)
            self._gap, self._hedged = "strong", bool(self._items)
            return
        if name == "condition":
            self._condition = self._segment
            if not entry.japanese:
                self._gap = "soft"
            if self._scope is None:
                return
            self._scope.conditional = True
            return
        self._in_story = ""
        if name == "comma":
            self._gap = self._gap or "comma"
            if self._scope is not None and token.text != ":":
                self._scope.comma = True
        elif name == "soft":
            self._gap = "soft"
            if self._scope is not None and entry.japanese:
                self._finish(i)
        else:
            self._join = token.text
            self._gap = "join" if self._gap in ("", "comma") else self._gap
            if self._scope is not None:
                self._scope.join = token.text

    # Facts and amounts

    def _item(self, i: int, token: Token, fact: Fact | None, freed: str = "") -> None:
        if len(self._items) == _MOST_ITEMS:
            return
        fact = self._bounded_era(i, fact) if fact is not None and fact.matter == "years" else fact
        item = Item(i, token, fact, self._segment, self._gap, self._join, freed=freed, hedged=self._hedged)
        if token.kind is Is.NAMED and self._like_at is not None:
            item.stance = Stance.LIKED
        self._gap, self._join = "", ""
        item.mild, self._mild = self._mild and token.cjk, False
        item.past = fact is not None and self._is_past(i)
        if token.cjk and fact is not None and token.text.endswith(("すぎ", "過ぎ")):
            item.stance, item.mild = Stance.REFUSED, True
            self._too.append(i)
        if token.cjk and fact is not None and self._is_measured(i):
            item.stance, item.mild = Stance.REFUSED, True
            self._refuse_measure(item)
        excess = self._tokens[self._too_at].operator(Sense.TOO) if self._too_at is not None else None
        if excess is not None and excess.name == "unpleasant" and item.matter == "themes" and not item.unpleasant:
            self._too_at = None  # "so funny"
        if self._too_at is not None and (i - self._too_at == 1 or self._tokens[i - 1].text in _DEGREES):
            item.stance, item.mild = Stance.REFUSED, True
            self._refuse_measure(item)
            self._used.add(self._too_at)
            self._too.append(i)
        self._too_at = None
        if self._limit_at is not None and token.amount is not None and token.amount.unit == "money":
            item.limited = True
        if self._scope is not None and not self._accepts(self._scope, item):
            self._finish(i)
        self._items.append(item)
        self._since_last_items += 1
        if self._scope is not None and not (item.matter == "person" and self._scope.negated):
            self._bind(self._scope, item)  # "nobody in my family likes sports" refuses no family

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

    def _refuse_measure(self, item: Item) -> None:
        """Refuses the amount before `item` if both measure the same: "less than five volumes is too short"."""
        before = next((each for each in reversed(self._items) if each is not item), None)
        measures = ({"volumes"}, {"year", "years"}, {"money", "ordering"})
        if before is not None and {before.matter, item.matter} in measures and item.fact is not None:
            made = item.fact.conditions
            self._refuse_amount(before, small=made.volumes.most is not None or made.years.most is not None)

    def _refuse_amount(self, item: Item, *, small: bool) -> None:
        """Refuses an amount of the current clause. A plain one becomes a bound: `small` refuses all up to it, else all from
        it."""
        amount = item.token.amount
        if amount is None or item.segment != self._segment:
            return
        item.stance, item.chain = Stance.REFUSED, None
        item.limited = True
        if amount.bound in (None, Bound.EXACT) and amount.most is None:
            item.token.amount = replace(amount, bound=Bound.MOST if small else Bound.LEAST)

    def _measures(self, i: int) -> bool:
        """Returns True if the word of quantity at `i` judges the amount before it: "is too many", "isn't enough"."""
        if self._tokens[i].text in ("enough", "not enough"):
            return self._items[-1].segment == self._segment
        return self._tokens[i - 1].operator(Sense.TOO) is not None

    def _judge_amount(self, item: Item, quantity: str) -> None:
        if quantity == "enough" and self._tokens[item.at + 1].operator(Sense.NOT) is None:
            item.limited = True
        else:
            self._refuse_amount(item, small=quantity == "enough" or _QUANTITIES[quantity])

    def _is_measured(self, i: int) -> bool:
        """Returns True if a Japanese adjective at `i` judges the amount before it: 5巻は短い, 2015年は古い."""
        between = self._tokens[self._items[-1].at + 1 : i] if self._items else []
        said = [token.text for token in between]
        return bool(said) and self._items[-1].token.amount is not None and all(each in _JUDGING for each in said)

    def _accepts(self, scope: Chain, item: Item) -> bool:
        if not scope.objects:
            said = [token.text for token in self._tokens[scope.to + 1 : scope.to + 3]]
            return len(scope.words) <= _MOST_BETWEEN and (not scope.comma or said == [",", "ever"])
        last = scope.objects[-1]
        if scope.operators[-1].name == "sign" or self._tokens[scope.to].text in _PREFIXES:
            return False  # "-isekai fantasy", "non-isekai fantasy"
        join, comma = scope.join, scope.comma
        same = item.matter == last.matter
        if item.token.kind is Is.NAMED and last.token.kind is Is.NAMED:
            return True
        if join in _JOINS_ALL:
            return same or join in ("or", "nor")
        if join or comma:
            if not same or self._freed_at(item.at):
                return False
            return (
                (item.unpleasant and scope.stance is Stance.REFUSED)
                or scope.lists
                or self._list_closes(scope, item.at)
                or bool(join)
            )
        if item.token.amount is not None:
            return last.token.amount is not None or same
        if same and item.fact and last.fact and item.matter == "themes":
            return item.unpleasant or not last.unpleasant
        return last.matter != "themes" or item.matter not in _AFTER_THEMES or scope.operators[-1].side != "none"

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
        for token in reversed(self._tokens[max(0, i - _MOST_BETWEEN) : i]):
            if token.kind is Is.BREAK:
                return False
            if any(each.name == "past" for each in token.entries):
                liked = not token.cjk or any(each.text.startswith(_LIKED_ONCE) for each in self._tokens[i + 1 : i + 6])
                liked = liked or any(each.operator(Sense.REFUSE) for each in self._tokens[i + 1 : i + 4])
                return liked and not any(each.text in _STILL for each in self._tokens)  # 昔は探偵だった主人公
        return False

    def _bind(self, chain: Chain, item: Item) -> None:
        if item.past and chain.stance in (Stance.WANTED, Stance.LIKED, Stance.KNOWN):
            return
        chain.objects.append(item)
        chain.join, chain.comma = "", False
        item.chain = chain
        item.mild = item.mild or chain.mild
        kept = (Stance.REFUSED, Stance.LIKED) if item.token.kind is Is.NAMED else (Stance.REFUSED,)
        if item.stance not in kept or chain.stance not in (Stance.WANTED, Stance.REQUIRED):
            item.stance = chain.stance
        self._used.update(range(chain.at, chain.to + 1), chain.words)

    def _word(self, i: int, token: Token) -> None:
        self._too_at, self._spoken = None, True
        if self._scope is None:
            return
        listed = self._scope.stance in (Stance.LIKED, Stance.KNOWN) or self._is_in_list(i)
        ends = not listed if self._scope.objects else self._scope.comma and self._points_back(self._scope) is not None
        self._finish(i) if ends else self._scope.words.append(i)

    def _points_back(self, chain: Chain) -> int | None:
        """Returns the index of the word that points back to an item, if it follows the English chain: "without them"."""
        for k in range(chain.to + 1, min(chain.to + _MOST_BETWEEN, len(self._tokens))):
            if self._tokens[k].text in _POINTERS:
                return k
            if self._tokens[k].kind is not Is.GLUE and self._tokens[k].text not in ("of", "from", "by"):
                return None
        return None

    def _find_pointed(self, chain: Chain) -> list[Item]:
        """Returns the items that a word after the chain points back to: "none of those", "nothing from that author"."""
        at = self._points_back(chain)
        if at is None or chain.stance not in (Stance.REFUSED, Stance.KNOWN):
            return []
        following = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        noun = "" if following is None or following.kind is Is.BREAK else following.text
        meant = next((matter for matter, words in _POINTED.items() if noun in words or self._tokens[at].text in words), "")
        items = [item for item in self._items if item.matter in ((meant,) if meant else _POINTED)]
        if noun and not meant and noun not in _PARTICLES and (self._tokens[at].text == "that" or noun in _VERBS):
            return []  # "nothing that drags on"
        last = chain.operators[-1]
        follows = bool(items) and all(token.kind is not Is.BREAK for token in self._tokens[items[-1].at + 1 : chain.at])
        if follows and (last.side == "none" or last.name == "except" or self._is_relative(chain)):
            while items and items.pop().gap in ("", "join"):  # "ghosts scare me. A mystery without them"
                pass
        if items:
            self._roles.pop(at, None)
        return [item for item in items if item.segment == items[-1].segment and item.matter == items[-1].matter]

    def _is_relative(self, chain: Chain) -> bool:
        return any(at and self._tokens[at - 1].text in _RELATIVES for at in (chain.at, chain.to))

    def _find_fronted(self, chain: Chain) -> list[Item]:
        """Returns the items before the subject of a chain without objects: "horror I won't have", "Naruto I own"."""
        before = self._tokens[max(0, chain.at - 2) : chain.at]
        told = chain.stance in (Stance.REFUSED, Stance.KNOWN) and len(before) == 2 and before[1].text in _PRONOUNS
        item = self._items[-1] if told and self._items else None
        if item is None or item.token is not before[0] or item.chain is not None:
            return []
        return list(self._tail())

    def _is_in_list(self, i: int) -> bool:
        """Returns True if the unknown word at `i` stands in a list of refused things: "no cats, ferrets or dogs"."""
        if self._scope is None or self._scope.stance is not Stance.REFUSED or i + 1 >= len(self._tokens):
            return False
        sides = self._tokens[i - 1], self._tokens[i + 1]
        parted = [side.kind is Is.BREAK and side.entries[0].name in ("comma", "join") for side in sides]
        return any(parted) and all(apart or side.fact is not None for apart, side in zip(parted, sides, strict=True))

    # Operators

    def _operate(self, i: int, token: Token, entry: Entry) -> None:
        sense = entry.sense
        if sense is Sense.TOO:
            if entry.side == "after" and self._items:
                item = self._items[-1]
                item.stance, item.mild = Stance.REFUSED, True
                self._refuse_measure(item)
                self._too.append(i)
                self._used.add(i)
                return
            if entry.side == "mild" and entry.japanese:
                self._mild = True
                return
            if entry.side == "mild":
                if self._scope is not None and not self._scope.objects:
                    self._scope.mild = True
                return
            if self._scope is not None and not self._scope.objects:
                self._scope.mild = True
            else:
                self._too_at = i
            return
        if sense is Sense.LIMIT:
            self._limit_at = i
            if entry.side == "after" and self._items and self._items[-1].token.amount is not None:
                self._items[-1].limited = True
            return
        if sense is Sense.STORY and not (i and self._tokens[i - 1].text == "for"):  # "for a girl" tells a reader
            if not any(each.matter in ("audience", "person", "age") for each in self._items) and self._scope is None:
                self._in_story = "where" if token.text.startswith(("where", "in which")) else "story"
            return
        if sense is Sense.LIKE:
            self._again = self._again or entry.side == "again"
            self._likes.append((i, entry.side))
            self._used.add(i)
            if entry.side == "after":
                for item in self._tail():
                    if item.token.kind is not Is.NAMED:
                        break
                    item.stance = Stance.LIKED if item.stance is Stance.WANTED else item.stance
            elif entry.side == "before":
                self._like_at = i
            if self._scope is not None and self._scope.objects:
                self._finish(i)
            return
        if token.text.startswith("who") and i and self._is_character(i, token):
            self._in_story = "story"
            return
        if sense is Sense.ASKS and i and self._tokens[i - 1].kind is not Is.BREAK and self._tokens[i - 1].text not in "-:,":
            return
        if sense in (Sense.NAME, Sense.MAGAZINE, Sense.ASKS, Sense.WHICH):
            self._roles[i] = f"{sense.value}:{entry.name}"
            return
        fits = sense is Sense.FREE and self._tokens[i + 1 : i + 2] and self._tokens[i + 1].text == "for"
        if sense not in POLAR or fits:  # "ok for his age" frees nothing
            return
        self._like_at = None
        if entry.side == "after" and not self._leads_on(i):
            self._after(i, entry)
        else:
            self._before(i, token, entry)

    def _is_character(self, i: int, token: Token) -> bool:
        """Returns True if a clause with "who" is about a character: "about a girl who hates sports"."""
        item = self._items[-1] if self._items else None
        themed = item is not None and item.at == i - 1 and item.matter == "themes" and token.text != "who"
        return themed or any(each.text == "about" for each in self._tokens[max(0, i - _MOST_BETWEEN) : i])

    def _tells_of_character(self, i: int) -> bool:
        """Returns True if a Japanese feeling is a character's: スポーツが嫌いな女の子の話, not 嫌いな子に."""
        following = [token.text for token in self._tokens[i + 1 : i + 9]]
        end = next((k for k, text in enumerate(following) if text in _TALES), 0)
        return end > 1 and following[0] == "な" and following[end - 1] == "の" and _READERS.isdisjoint(following[:end])

    def _before(self, i: int, token: Token, entry: Entry) -> None:
        scope = self._scope
        if scope is not None and not scope.objects and not scope.words and not scope.comma:
            if token.text != "nor":  # "neither my wife nor I"
                scope.add(entry, i)
            return
        if scope is not None and not scope.objects and scope.comma and self._is_interjection(scope, i):
            self._chains.remove(scope)
            self._scope = None
        self._finish(i)
        self._scope = Chain(i, i, [entry])
        following = self._tokens[i + 1].text if i + 1 < len(self._tokens) else ""
        self._scope.lists = following == ":" or token.text.startswith(_LISTING)
        self._scope.mild = entry.sense is Sense.REFUSE and token.text.split(" ")[0] in _MILDER
        self._chains.append(self._scope)

    def _is_interjection(self, scope: Chain, i: int) -> bool:
        """Returns True for the first of two negations that answers no question: "romance. And no, not Fruits Basket"."""
        opens = scope.at == 0 or self._tokens[scope.at - 1].kind is Is.BREAK
        answers = self._condition == self._segment - 1
        return opens and not answers and scope.negated and scope.at == scope.to and self._item_follows(i)

    def _after(self, i: int, entry: Entry) -> None:
        scope = self._scope
        if entry.sense is Sense.REFUSE and (lacking := self._find_lack(i)) is not None:
            self._require(lacking, Chain(i, i, [entry], japanese=entry.japanese))
            self._chains.append(lacking.objects[0].chain or lacking)
            self._scope = None
            return
        if not entry.japanese:
            if (
                not self._has_items(self._segment)
                and self._item_follows(i)
                and entry.sense in (Sense.REFUSE, Sense.FREE, Sense.KNOWN)
            ):
                self._before(i, self._tokens[i], entry)
                return
            chain = Chain(i, i, [entry])
            if scope is not None and not scope.objects and not scope.words:
                chain = scope
                chain.add(entry, i)
                self._scope = None
            else:
                self._finish(i)
                self._chains.append(chain)
            if chain.stance in (Stance.REFUSED, Stance.FREE, Stance.REQUIRED, Stance.LIKED):
                self._bind_back(chain)
            return
        if scope is not None and not scope.objects and not scope.japanese:
            self._finish(i)
        last = self._last
        if last is not None and last.japanese and self._since_last_items == 0 and self._only_glue(last.to, i):
            was = last.stance
            last.add(entry, i)
            if was is Stance.WANTED and last.stance is Stance.REFUSED:
                for item in last.objects:
                    item.chain = None
                last.objects = []
                self._bind_back(last)
                return
            for item in last.objects:
                item.stance = last.stance
            if last.objects:
                self._used.update(range(last.at, i + 1))
            if last.objects or last.stance in (Stance.WANTED, Stance.LIKED, Stance.KNOWN):
                return
            self._bind_back(last)
            return
        if entry.sense is Sense.REFUSE and self._tells_of_character(i):
            return
        token = self._tokens[i]
        weak = entry.sense is Sense.NOT and not token.text.startswith((*_NOUNS, "たく"))
        before = self._tokens[i - 1] if i else None
        unknown = weak and before is not None and before.kind is Is.WORD and before.end == token.start
        if unknown and self._condition != self._segment and not self._qualifies(i):
            return
        chain = Chain(i, i, [entry], japanese=True, weak=weak)
        chain.words += range(self._items[-1].at + 1, i) if unknown and self._items else ()
        self._chains.append(chain)
        if before is not None and before.text in _POINTERS:
            named = next((item for item in reversed(self._items) if item.matter != "person"), None)
            if named is not None:
                self._bind(chain, named)
        self._last, self._since_last_items = chain, 0
        self._bind_back(chain)

    def _qualifies(self, i: int) -> bool:
        """Returns True if a negated Japanese verb says of the noun after it what it is without: 幽霊が出ない話."""
        start = next((k for k in range(i - 1, -1, -1) if self._tokens[k].kind is not Is.WORD), 0)
        following = self._tokens[i + 1] if i + 1 < len(self._tokens) else None
        noun = following is not None and (following.fact is not None or following.text in _THINGS)
        item = self._items[-1] if self._items else None
        return noun and item is not None and item.at == start - 1 and self._tokens[start].text in _SUBJECTS

    def _require(self, lacking: Chain, chain: Chain) -> None:
        """Requires the objects of a chain that says what is lacking, by the `chain` that refuses the lack."""
        chain.stance = Stance.REQUIRED
        for item in list(lacking.objects):
            item.stance = Stance.WANTED
            self._bind(chain, item)

    def _forfeits(self, scope: Chain) -> bool:
        """Returns True if a "no" behind "no" and an item says what is lost without the item: "no action, no fun"."""
        item = self._items[-1] if self._items else None
        following = self._tokens[scope.to + 1].text if scope.to + 1 < len(self._tokens) else ""
        lacking = item is not None and item.chain is not None and item.chain.negated and item.at == scope.at - 2
        return following in _FORFEITS and lacking and scope.negated

    def _find_lack(self, i: int) -> Chain | None:
        """Returns the chain of a lack that the refusal at `i` denies: "a story without romance bores me", "no romance? No
        thanks", 魔法のないファンタジーはつまらない."""
        item = self._items[-1] if self._items else None
        if item is None:
            return None
        between = self._tokens[item.at + 1 : i]
        whole = self._items[-2].chain if len(self._items) > 1 and item.chain is None and item.token.cjk else None
        if whole is not None and whole.japanese and whole.negated and whole.to == item.at - 1:
            return whole if all(token.kind is Is.GLUE for token in between) else None
        chain = item.chain
        if chain is None or not chain.negated or chain.japanese or len(chain.operators) > 1:
            return None
        asked = [token.text for token in between] == ["?"] and item.segment == self._condition
        states = self._tokens[chain.at].text in _LACKING and all(token.kind is Is.GLUE for token in between)
        return chain if states or (asked and chain.operators[0].side == "none") else None

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
            if token.text in _REASONS or token.text in _POINTERS:
                return False
            if token.kind is Is.WORD and len(token.text) > 2:
                return False
        return True

    def _tail(self) -> Iterator[Item]:
        """Yields the items that an operator after them applies to, the last item first."""
        nearer: Item | None = None
        for item in reversed(self._items):
            if item.at < self._floor:
                return
            if item.fact is not None and item.fact.matter == "person":
                continue  # a refusal never applies to a person: 残酷なのは妻が嫌がる
            if item.fact is not None and item.fact.matter == "audience" and item.token.text[-1] in "はがもに":
                continue  # 娘は恋愛に興味がない
            if item.chain is not None and item.chain.stance is not Stance.WANTED:
                return
            if nearer is None:
                applies = item.segment == self._segment or self._reaches(item.segment)
            else:
                applies = self._shares_operator(item, nearer)
            if not applies:
                return
            yield item
            nearer = item

    def _shares_operator(self, item: Item, nearer: Item) -> bool:
        """Returns True if a later operator that applies to `nearer` applies to `item`, the item before `nearer`, too."""
        alike = item.matter == nearer.matter
        between = self._tokens[item.at + 1].text if nearer.at == item.at + 2 else ""
        following = self._tokens[nearer.at + 1].text if nearer.at + 1 < len(self._tokens) else ""
        if alike and (between == "でも" == following[:2] or (between.startswith("だけ") and between != "だけど")):
            return True  # ナルトでもブリーチでもない, グロだけじゃなくホラーも無理
        beside = all(token.kind is Is.BREAK for token in self._tokens[item.at + 1 : nearer.at])
        if alike and beside and self._is_alone(item) and self._is_alone(nearer):
            return True  # "Sleuths? Whodunnits? No thanks."
        if nearer.gap == "strong" or item.segment != nearer.segment:
            return False
        if alike and nearer.gap and self._is_listed(item, nearer):
            return True
        if nearer.gap == "soft":  # ホラー、グロは苦手 refuses both, ホラー、恋愛なし the last
            both = alike and item.unpleasant and nearer.unpleasant
            return both and between == "、" and following in ("は", "が", "も", "って")
        if item.token.kind is Is.NAMED and nearer.token.kind is Is.NAMED and nearer.gap in ("comma", "join"):
            return True
        if nearer.gap == "comma":
            return alike and item.unpleasant
        if nearer.gap == "join":
            return nearer.join in _JOINS_ALL or nearer.join == "and"
        return nearer.gap != "" or self._modifies(item, nearer)

    def _is_alone(self, item: Item) -> bool:
        """Returns True if every other token of the item's clause is silent."""
        return self._speaking[item.segment] == int(item.token.kind not in _SILENT)

    def _is_listed(self, item: Item, nearer: Item) -> bool:
        """Returns True if an operator after the list that holds both items applies to the whole list: a Japanese list of
        three or more, or a list that a word such as "both" sums up."""
        last = self._items[-1]
        if any(token.text in _BRACKETS for token in self._tokens[item.at + 1 : last.at]):
            return False
        if any(token.text in _SUMS for token in self._tokens[last.at + 1 : last.at + 6]):
            return True
        row = [each for each in self._items if each.segment == item.segment and each.matter == item.matter]
        if not nearer.token.cjk or len(row) < 3:
            return False
        between = [self._tokens[before.at + 1 : each.at] for before, each in itertools.pairwise(row)]
        if all([token.text for token in each] == ["、"] for each in between):  # "恋愛、学園、ホラーなし" refuses the last
            return last.at + 1 < len(self._tokens) and self._tokens[last.at + 1].operator() is None
        return all(each.gap in ("comma", "join") for each in row[1:])

    def _reaches(self, segment: int) -> bool:
        """Returns True if an operator in the current clause may refer to the items of clause `segment`: "mecha? No way"."""
        if self._has_items(self._segment) or self._contrast:
            return False
        return self._condition == segment or (segment == self._segment - 1 and not self._spoken)

    def _has_items(self, segment: int) -> bool:
        return any(item.segment == segment for item in self._items)

    def _modifies(self, item: Item, nearer: Item) -> bool:
        """Returns True if two neighbours without a joining word describe one thing: 10巻以上の長編, "sad endings"."""
        if nearer.token.space and (nearer.token.cjk or item.token.cjk or nearer.matter != item.matter):
            return False
        between = [token.text for token in self._tokens[item.at + 1 : nearer.at]]
        return all(text in ("の", "な", "of", "", "系", "もの", "・") for text in between) and (
            item.matter == nearer.matter or not between
        )

    def _bind_back(self, chain: Chain) -> None:
        stance = chain.stance
        if stance == Stance.WANTED and chain.operators[-1].sense is Sense.WANT:
            if any(each.name == "others" for each in self._tokens[chain.at - 1].entries):
                return  # 別のがいい
            if (item := next(self._tail(), None)) is not None:
                item.chain = chain
                chain.objects.append(item)
            return
        for item in list(self._tail()):
            if item.chain is None or not item.chain.objects or item.chain.stance is Stance.WANTED:
                self._bind(chain, item)

    def _finish(self, i: int) -> None:
        """Ends the current English chain. A refusal without items applies to the items before it: "mecha? Hard pass"."""
        scope, self._scope = self._scope, None
        if scope is None or scope.objects:
            return
        if self._forfeits(scope):
            self._require(self._items[-1].chain or scope, scope)
            return
        if pointed := self._find_pointed(scope) or self._find_fronted(scope):
            for item in pointed:
                if item.stance in (Stance.WANTED, Stance.KNOWN) or item.matter == "author":
                    self._bind(scope, item)
            return
        if scope.stance not in (Stance.REFUSED, Stance.FREE):
            return
        subject = self._items[-1] if self._items and scope.negated else None
        if subject is not None and subject.at == scope.at - 1 and subject.chain is None:
            subject.denied = True
        if scope.words or any(each.sense is Sense.KNOWN for each in scope.operators):
            return  # "haven't seen any" refuses nothing
        following = self._tokens[scope.to + 1].text if scope.to + 1 < len(self._tokens) else ""
        if self._is_relative(scope) and (following in ("one", "any") or following in _POINTERS):
            return  # in "that doesn't have one", "one" is an item named before
        bare = all(each.sense is Sense.NOT for each in scope.operators)
        if bare and not scope.strong:
            return
        if bare and not self._has_only_fillers_between(scope.to, i):
            return
        self._bind_back(scope)

    def _has_only_fillers_between(self, start: int, end: int) -> bool:
        return all(self._tokens[k].kind in (Is.GLUE, Is.OPERATOR) for k in range(start + 1, min(end, len(self._tokens))))
