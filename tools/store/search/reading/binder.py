"""Assigns operators ("not", "need", "hate") to items, which are the facts, amounts and names in a text.

Most operators apply to the items after them in English, before them in Japanese. Adjacent operators form a chain."""

from __future__ import annotations

from dataclasses import replace

from tools.store.search.reading.clauses import DEGREES, PARTICLES, POINTERS
from tools.store.search.reading.items import Binding, Chain, Item, Stance
from tools.store.search.reading.reach import SILENT, Reach
from tools.store.search.reading.tables import words_of
from tools.store.search.reading.tokens import Bound, Entry, Fact, Is, Sense, Token

POLAR = frozenset({Sense.NOT, Sense.REFUSE, Sense.WANT, Sense.TASTE, Sense.REQUIRE, Sense.FREE, Sense.KNOWN})
_MOST_ITEMS = 40
"""Most items read from one text. Items beyond are ignored."""
_NO_ENTRY = Entry(Is.GLUE)
_UNLESS = Entry(Is.OPERATOR, sense=Sense.NOT, side="none", name="unless")
_OUT = Entry(Is.OPERATOR, sense=Sense.REFUSE, side="after", name="after")
_FREED = {"shorter": "length", "longer": "length", "newer": "time", "older": "time", "cheaper": "price"}
_OPENERS = words_of("openers")
"""English words that begin another wish."""
_MILDER = words_of("milder")
_LISTING = ("exclud", "omit", "remov", "filter", "ban", "avoid", "skip")
_NOUNS = ("なし", "無", "じゃ", "では", "でな", "ナシ")
"""Beginnings of Japanese negations of nouns. All other Japanese negations are of verbs."""
_SCANT, _QUANTITIES = words_of("scant"), words_of("much") | words_of("scant")
"""Words that call an amount too small behind "too" or "not", and all that judge one so."""


class Binder(Reach):
    """Takes the tokens of a text in order, and binds operators to items."""

    def bind(self) -> Binding:
        for i, token in enumerate(self._tokens):
            self._segments.append(self._segment)
            self._speaking[self._segment] += token.kind not in SILENT
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
        parted = any(token.text == "、" for token in between) and all(token.kind in SILENT for token in between)
        opens = all(token.kind in SILENT for token in self._tokens[: chain.at])
        silent = opens and all(token.kind is not Is.WORD for token in self._tokens)
        wished = self._tokens[-1].text in ("で", "を", "が")
        if chain.japanese and not chain.objects and chain.stance is Stance.REFUSED and parted and silent and not wished:
            for item in self._items:
                self._bind(chain, item)

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
        elif token.text in PARTICLES and (verb := self._find_parted(i)) is not None:
            self._floor = verb
            self._after(i, _OUT)
            self._floor = 0
        elif fact is not None:
            self._item(i, token, fact)
        elif token.kind is Is.WORD or (token.entry(Is.FACT) and not fact):
            self._word(i, token)

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
        if name == "unless" and not self._items:
            self._before(i, token, _UNLESS)
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
            if self._scope is not None and entry.japanese and not self._scope.lists:
                self._finish(i)
        else:
            self._join = token.text
            self._gap = "join" if self._gap in ("", "comma") else self._gap
            if self._scope is not None:
                self._scope.join = token.text

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
        if self._too_at is not None and (i - self._too_at == 1 or self._tokens[i - 1].text in DEGREES):
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
        if item.segment != self._segment:
            return
        item.stance, item.chain = Stance.REFUSED, None
        item.limited = True
        amount = item.token.amount
        if amount is not None and amount.bound in (None, Bound.EXACT) and amount.most is None:
            item.token.amount = replace(amount, bound=Bound.MOST if small else Bound.LEAST)

    def _judge_amount(self, item: Item, quantity: str) -> None:
        if quantity == "enough" and self._tokens[item.at + 1].operator(Sense.NOT) is None:
            item.limited = True
        else:
            self._refuse_amount(item, small=quantity in _SCANT)

    def _bind(self, chain: Chain, item: Item) -> None:
        unread = chain.negated and self._tokens[chain.to].text == "read" and item.token.kind is Is.NAMED
        if unread:  # "I've never read One Piece"
            return
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

    def _before(self, i: int, token: Token, entry: Entry) -> None:
        scope = self._scope
        labels = token.text.endswith(":") or any(each.text == ":" for each in self._tokens[i + 1 : i + 2])
        if scope is not None and not scope.objects and not scope.words and not scope.comma:
            if token.text != "nor":  # "neither my wife nor I"
                scope.add(entry, i)
                scope.lists = scope.lists or labels
            return
        if scope is not None and not scope.objects and scope.comma and self._is_interjection(scope, i):
            self._chains.remove(scope)
            self._scope = None
        self._finish(i)
        self._scope = Chain(i, i, [entry])
        self._scope.lists = labels or token.text.startswith(_LISTING)
        self._scope.mild = entry.sense is Sense.REFUSE and token.text.split(" ")[0] in _MILDER
        self._chains.append(self._scope)

    def _after(self, i: int, entry: Entry) -> None:
        scope = self._scope
        if entry.sense is Sense.REFUSE and (lacking := self._find_lack(i)) is not None:
            required = Chain(i, i, [entry], japanese=entry.japanese)
            self._require(lacking, required)
            self._chains.append(required)
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
            lacking = self._find_lack(chain.at) if chain.stance is Stance.REFUSED and chain.at < i else None
            if lacking is not None:
                self._require(lacking, chain)
            elif chain.stance in (Stance.REFUSED, Stance.FREE, Stance.REQUIRED, Stance.LIKED):
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
        if entry.sense is Sense.NOT and self._negates_unknown(i):
            self._items[-1].denied = True
            return
        chain = Chain(i, i, [entry], japanese=True, weak=weak)
        chain.words += range(self._items[-1].at + 1, i) if unknown and self._items else ()
        self._chains.append(chain)
        if before is not None and before.text in POINTERS:
            named = next((item for item in reversed(self._items) if item.matter != "person"), None)
            if named is not None:
                self._bind(chain, named)
        self._last, self._since_last_items = chain, 0
        self._bind_back(chain)

    def _require(self, lacking: Chain, chain: Chain) -> None:
        """Requires the objects of a chain that says what is lacking, by the `chain` that refuses the lack."""
        chain.stance = Stance.REQUIRED
        for item in list(lacking.objects):
            item.stance = Stance.WANTED
            self._bind(chain, item)

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
        lacking = self._items[-1].chain if self._forfeits(scope) else None
        if lacking is None and scope.stance is Stance.REFUSED:
            lacking = self._find_lack(scope.at)
        if lacking is not None:
            self._require(lacking, scope)
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
        if self._is_relative(scope) and (following in ("one", "any") or following in POINTERS):
            return  # in "that doesn't have one", "one" is an item named before
        bare = all(each.sense is Sense.NOT for each in scope.operators)
        if bare and not scope.strong:
            return
        if bare and not self._has_only_fillers_between(scope.to, i):
            return
        self._bind_back(scope)
