"""Decides the stance towards each item of a text, by its operators, by other clauses, and by the model of `stances`."""

from __future__ import annotations

import itertools
from bisect import bisect
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tools.store.search.reading.binder import POLAR
from tools.store.search.reading.items import Binding, Chain, Item, Stance
from tools.store.search.reading.stances import Stances, Surroundings, of_name, settled, share_of_wish
from tools.store.search.reading.subject import SPEAKERS, is_searched
from tools.store.search.reading.tables import words_of
from tools.store.search.reading.tokens import CORRECTS, Bound, Is, Sense, Token

TALKERS = SPEAKERS | words_of("speaker")
_REPORTED, _UNTIL, _TASTES = words_of("reported"), words_of("until"), words_of("tastes") | words_of("tasted")
_EXAMPLES, _NEUTRAL, _OVER = words_of("examples"), words_of("neutral"), words_of("preferred")
_POINTERS, _REASONS = words_of("pointers"), words_of("reasons")
ASKED = (Stance.WANTED, Stance.REQUIRED)
_DESPITE_DENIAL = 0.93
"""Least share of a wish in the model's answer for a wish beside a negation without an object."""
_LIKENED = 2
"""Tokens from a title to a fact that only "like" separates."""
_NEAR = 5
"""Most tokens between a correction ("no sorry") and the item that it takes back, or the item said instead."""


@dataclass(slots=True)
class Resolver:
    """Sets the stance of each item of `bound`. With `heard`, for a customer's own words, the model judges each stance too.
    `doubted` are the items whose stance is in doubt, and `gone` the indexes of tokens that are not searched for. `around`
    holds the features of the text, if the model judged any."""

    text: str
    tokens: Sequence[Token]
    bound: Binding
    heard: bool = True
    doubted: list[Item] = field(default_factory=list)
    gone: set[int] = field(default_factory=set)
    around: Surroundings | None = None
    _sure: set[int] = field(default_factory=set)
    _guessed: set[int] = field(default_factory=set)

    def resolve(self) -> list[Item]:
        """Sets the stances. Returns, in order, the items that count: not those in doubt or taken back by other words."""
        self._resolve_ellipses()
        self._leave_past(self.bound.items)
        aside = self._judge() if self.heard else set[int]()
        items = self.bound.items = [item for item in self.bound.items if item.at not in aside]
        self._turn_until(items)
        self._leave_lesser(items)
        self._dislikes(items)
        self._correct(items)
        self._overrule(items)
        self._supersede(items)
        return items

    def _resolve_ellipses(self) -> None:
        """Binds the operators of a clause without items to the items before it: "he likes mecha but I don't", "I rarely read
        romance but today I want some"."""
        breaks = [-1, *(i for i, token in enumerate(self.tokens) if token.kind is Is.BREAK), len(self.tokens)]
        lone = [each for each in self.bound.chains if not each.objects and self.bound.items]
        clauses = [bisect(breaks, each.at) for each in lone]
        for chain, at in zip(lone, clauses, strict=True):
            if clauses.count(at) > 1 or self._has_cue("others", range(chain.at - 1, chain.at)):
                continue
            clause = range(breaks[at - 1] + 1, breaks[at])
            asks = clause.stop < len(self.tokens) and self.tokens[clause.stop].text in "?？"
            if asks or any(self.tokens[k].kind is Is.WORD for k in clause):
                continue
            before = [item for item in self.bound.items if item.at < clause.stop]
            if not before or before[-1].at in clause:
                continue
            last = before[-1]
            stance = self._elliptical(chain, last, clause)
            if stance is None:
                continue
            unlike = last.stance is Stance.REFUSED is not stance and self._is_another_mind(last, clause)
            for item in before:
                if item.segment == last.segment and item.matter == last.matter and item.stance is last.stance:
                    item.hedged = item.hedged or unlike
                    item.stance, item.chain, item.past = stance, chain, False
                    chain.objects.append(item)
                    if stance is Stance.WANTED:
                        self._sure.add(item.at)
            self.bound.used.update(clause)

    def _elliptical(self, chain: Chain, item: Item, clause: range) -> Stance | None:
        """Returns the stance that a clause without items gives to the item before; None if it says nothing of that item."""
        said = self.tokens[chain.to]
        plain = all(self.tokens[k].kind is Is.GLUE for k in range(chain.to + 1, clause.stop))
        if not plain or chain.mild or item.token.amount is not None or item.matter in ("person", "audience"):
            return None
        if chain.stance is Stance.REFUSED:
            strong = any(each.sense is Sense.REFUSE for each in chain.operators)
            felt = strong or said.text in _TASTES or (chain.to + 1 == clause.stop and chain.at == chain.to and not said.cjk)
            return Stance.REFUSED if felt and item.stance in (*ASKED, Stance.LIKED, Stance.KNOWN) else None
        now = any(self._has_cue(name, clause) for name in ("now", "second_thought", "attempt"))
        usual = self._has_cue("usual", range(self.bound.segments.index(item.segment), clause.start))
        if chain.stance is Stance.FREE:
            return Stance.FREE if now and item.stance is Stance.REFUSED else None
        if chain.stance is Stance.KNOWN:
            return Stance.KNOWN if item.token.title_ids and item.stance in (*ASKED, Stance.LIKED) else None
        if chain.stance is Stance.WANTED and item.stance is Stance.WANTED and item.chain is None:
            return Stance.WANTED  # 野球はわからないけど読みたい
        if chain.stance not in (Stance.WANTED, Stance.LIKED) or item.stance not in (Stance.FREE, Stance.REFUSED):
            return None
        turned = item.stance is Stance.FREE or now or usual or item.past or self._is_another_mind(item, clause)
        return Stance.WANTED if turned else None

    def _is_another_mind(self, item: Item, clause: range) -> bool:
        """Returns True if the speaker's clause follows somebody else's view of the item: "my wife hates gore, I love it"."""
        speaks = any(self.tokens[k].text in TALKERS for k in clause)
        told = (self.tokens[k].text for k, at in enumerate(self.bound.segments) if at == item.segment)
        person = any(each.matter == "person" and each.segment == item.segment for each in self.bound.items)
        return speaks and (person or not _REPORTED.isdisjoint(told))

    def _leave_past(self, items: list[Item]) -> None:
        """Removes an item that was wanted or liked once if a later item of the same matter is not refused: "I loved robots
        as a kid, now I like cats", 最初はロボットと思ったけどアイドルがいい."""
        told = self._has_cue("once", range(len(self.tokens)))
        for item in [each for each in items if each.fact is not None and each.stance is not Stance.REFUSED]:
            if not (told or item.past):
                continue
            around = range(max(0, item.at - 4), min(item.at + 1 + 3 * item.token.cjk, len(self.tokens)))
            if not (item.past or self._has_cue("once", around)):
                continue
            later = [each for each in items if each.at > item.at and each.matter == item.matter and not each.past]
            between = range(item.at, later[0].at) if later else range(0)
            apart = any(self.tokens[k].kind is Is.BREAK for k in between) or self._has_cue("once", between)
            if apart and later[0].stance is not Stance.REFUSED:
                self.gone.add(item.at)
                items.remove(item)

    def _judge(self) -> set[int]:
        """Sets the stance of each item by its operators and the model. Returns the token indexes of items left in doubt."""
        if not any(_says(token) for token in self.tokens):
            return set()  # no word beside the facts can express a stance
        doubted, model = set[int](), Stances.load()
        around = self.around = Surroundings(self.tokens, self.bound.items)
        freed = {item.segment for item in self.bound.items if item.chain is not None and item.stance is Stance.FREE}
        lone = [chain for chain in self.bound.chains if not chain.objects and chain.stance is Stance.REFUSED]
        others = self._find_others()
        for item in self.bound.items:
            if not self._may_be_judged(item):
                continue
            name = item.token.kind is Is.NAMED
            judged = model.judge(around, item.at, "name" if name else "fact")
            if name:
                item.stance = of_name(item, judged)
                asked = item.chain is not None and item.chain.stance is not Stance.WANTED
                if item.stance is Stance.WANTED and not asked and self._is_left_for_another(item, others):
                    item.stance = Stance.KNOWN
                continue
            stance = settled(item, judged, supposed=self._is_supposed(item))
            if item.chain is None and item.token.cjk and stance in (None, Stance.REFUSED) and self._is_plain(item):
                stance = self._of_example(item)
            if stance is Stance.WANTED and self._is_habit(item) and self._is_left_for_another(item, others):
                stance = None
            if stance is Stance.FREE and item.chain is None and item.segment in freed and not self._is_freed_too(item):
                stance = Stance.WANTED  # the words that free another item free no more
            unsure = stance is Stance.REFUSED or share_of_wish(judged.shares) < _DESPITE_DENIAL
            if item.denied and item.chain is None and unsure:
                stance = None
            if stance in (None, Stance.FREE) and self._is_left_for_another(item, others):
                item.stance, item.chain = Stance.REFUSED, None
            elif stance is None or (lone and stance is Stance.REFUSED and self._is_denied_twice(item, lone)):
                doubted.add(item.at)
                self._doubt(item)
            elif stance is not item.stance:
                item.stance, item.chain = stance, None
                self._guessed.add(item.at)
                self._set_aside(item)
        self._agree_on_names()
        self._leave_talk(doubted)
        return doubted

    def _may_be_judged(self, item: Item) -> bool:
        fact, amount = item.fact, item.token.amount
        if item.freed or item.limited or item.at in self._sure:
            return False
        if fact is not None and (fact.alone or fact.mood or fact.matter in ("audience", "person", "adult", "ordering")):
            return False
        return amount is None or amount.unit not in ("age", "grade")

    def _is_plain(self, item: Item) -> bool:
        """Returns True if a Japanese text says nothing of the item: 刀とか侍とか出てくるやつ."""
        told = {each.at for each in self.bound.items}
        rest = itertools.takewhile(lambda k: self.tokens[k].text not in "。!?", range(item.at + 1, len(self.tokens)))
        return all(k in told or self.tokens[k].text in _NEUTRAL for k in rest)

    def _of_example(self, item: Item) -> Stance:
        """Returns the stance of an item that nothing is said of: that of the item before if it is an example of it."""
        if any(token.text in _EXAMPLES for token in self.tokens[item.at + 1 : item.at + 2]):
            before = next((each for each in reversed(self.bound.items) if each.at < item.at), item)
            if before.matter == item.matter and before is not item and before.stance is Stance.REFUSED:
                return Stance.REFUSED
        return Stance.WANTED

    def _is_habit(self, item: Item) -> bool:
        """Returns True if the item is told as usual: "I usually read shonen"."""
        return self._has_cue("usual", range(self.bound.segments.index(item.segment), item.at))

    def _is_supposed(self, item: Item) -> bool:
        beside = list(self.tokens[max(0, item.at - 4) : item.at])
        if item.token.cjk:
            following = self.tokens[item.at + 1 : item.at + 4]
            beside = list(itertools.takewhile(lambda token: token.text not in ("、", "で"), following))
        if item.token.amount is not None and any(token.text == "と" for token in beside[:1]):
            return True
        return any((entry := token.entry(Is.BREAK)) is not None and entry.name == "condition" for token in beside)

    def _set_aside(self, item: Item) -> None:
        for step in (-1, 1):
            k = item.at + step
            while 0 <= k < len(self.tokens) and self.tokens[k].kind not in (Is.BREAK, Is.FACT, Is.AMOUNT, Is.NAMED):
                self.gone.add(k)
                k += step

    def _is_denied_twice(self, item: Item, lone: Sequence[Chain]) -> bool:
        """Returns True if an operator applies to the item, and a negation of the same clause, one of `lone`, applies to
        no item: "there is no horror I wouldn't read". In Japanese the negation has to follow the operator."""
        if item.chain is None:
            return False
        for each in lone:
            outer = each.negated and (not item.chain.japanese or each.at > item.chain.to)  # not 語れないから嫌
            if not outer or self.bound.segments[each.at] != item.segment:
                continue
            if not any(map(_ends_clause, self.tokens[min(each.at, item.at) : max(each.at, item.at)])):
                return True
        return False

    def _is_left_for_another(self, item: Item, others: Sequence[int]) -> bool:
        """Returns True if later words, at the token indexes `others`, ask for something else: "they tell me to read Naruto.
        What else is there?"."""
        at = next((i for i in others if i > item.at), 0)
        between = [token for token in self.tokens[item.at + 1 : at] if token.kind is Is.BREAK or token.text in _REASONS]
        apart = any(token.entries[0].name != "join" for token in between)
        return apart and all(each.matter == item.matter for each in self.bound.items if item.at < each.at < at)

    def _find_others(self) -> list[int]:
        named = [(i, each.name) for i, token in enumerate(self.tokens) for each in token.entries]
        excepts = [i for i, name in named if name == "except" and self.tokens[i - 1].text in _POINTERS]  # それ以外
        return sorted({*excepts, *(i for i, name in named if name == "others")})

    def _is_freed_too(self, item: Item) -> bool:
        """Returns True if a particle puts the item beside the next one: 古くても、80年代でも気にしない."""
        following = self.tokens[item.at + 1 : item.at + _NEAR]
        particles = itertools.takewhile(lambda token: token.kind in (Is.GLUE, Is.BREAK) and token.text != "、", following)
        return any(token.text.endswith("も") for token in particles)

    def _agree_on_names(self) -> None:
        """Gives the wanted names of a list the stance of the name at its end if that is known or refused ("I have read
        Bleach, Naruto and Monster"), unless an operator between them begins something else: "by Urasawa, not Monster"."""
        for item, later in reversed(list(itertools.pairwise(self.bound.items))):
            apart = later.chain is not None and item.at < later.chain.at < later.at
            listed = later.gap in ("comma", "join") and item.segment == later.segment and not apart
            if listed and item.token.kind is later.token.kind is Is.NAMED and item.chain is None:
                told = later.stance in (Stance.KNOWN, Stance.REFUSED) and item.stance is Stance.WANTED
                item.stance = later.stance if told else item.stance

    def _leave_talk(self, doubted: Container[int]) -> None:
        items = [item for item in self.bound.items if item.at not in doubted]
        asked = {item.segment for item in items if item.stance is not Stance.REFUSED}
        refused = {item.segment for item in items if item.stance is Stance.REFUSED} - asked
        spoken = {self.bound.segments[i] for i, token in enumerate(self.tokens) if token.text in TALKERS}
        for i, token in enumerate(self.tokens):
            if token.kind is Is.WORD and self.bound.segments[i] in refused & spoken:
                self.gone.add(i)

    def _leave_lesser(self, items: list[Item]) -> None:
        """Removes the second of two themes that are compared: "comedy over horror", "more action than romance"."""
        for item, lesser in list(itertools.pairwise(items)):
            between = [token.text for token in self.tokens[item.at + 1 : lesser.at]]
            alike = item.matter == lesser.matter == "themes" and item.stance in ASKED and lesser.stance in ASKED
            if alike and between and between[0] in _OVER and len(between) <= 2:
                self.gone.add(lesser.at)
                items.remove(lesser)

    def _turn_until(self, items: list[Item]) -> None:
        """Takes a name after "until" as liked, and removes the refusal before it: "I hated sports manga until Haikyu"."""
        for item, name in list(itertools.pairwise(items)):
            between = [token.text for token in self.tokens[item.at + 1 : name.at]]
            turned = item.stance is Stance.REFUSED and name.token.kind is Is.NAMED and item.segment == name.segment
            if turned and not _UNTIL.isdisjoint(between):
                name.stance = Stance.LIKED
                self.gone.add(item.at)
                items.remove(item)

    def _dislikes(self, items: Sequence[Item]) -> None:
        """Marks a title that the shopper calls "too" something as known. If the text asks for something like an earlier
        title, marks the last title, or the last list of titles, as liked."""
        for at in self.bound.too:
            item = next((each for each in items if each.at == at or each.at == at - 1), None)
            if item is None:
                continue
            before = [
                each
                for each in items
                if each.token.kind is Is.NAMED and each.token.title_ids and each.at < at and each.segment == item.segment
            ]
            for each in before[-1:]:
                if each.stance in (Stance.WANTED, Stance.REFUSED):
                    each.stance = Stance.KNOWN
        for item, measured in itertools.pairwise(items):
            likened = any(item.at < at < measured.at for at, _ in self.bound.likes) and measured.at - item.at == _LIKENED
            if likened and item.stance is Stance.LIKED and measured.stance is Stance.REFUSED and item.token.cjk:
                item.stance = Stance.KNOWN  # ナルトみたいに長いのは嫌
        if not self.bound.likes or any(item.stance is Stance.LIKED and item.token.title_ids for item in items):
            return
        if self.bound.again:
            named = [item for item in items if item.token.title_ids]
            for item in reversed(named):
                item.stance = Stance.LIKED
                if item.gap not in ("comma", "join"):
                    break

    def _correct(self, items: list[Item]) -> None:
        """Removes an item that the text corrects: "20, no sorry, 15 volumes", 少年…じゃなかった少女漫画. A second thought
        ("actually", やっぱり) only takes back what it says anew: "zombies. Actually, no zombies"."""
        said = [(i, each.name) for i, token in enumerate(self.tokens) for each in token.entries if each.name in CORRECTS]
        for i, name in said:
            if self.tokens[i].operator() and self.tokens[i - 1].kind is not Is.BREAK:
                continue  # a refusal: ホラーがイヤ。恋愛がいい
            before = [item for item in items if i - _NEAR <= item.at < i]
            after = [item for item in items if i < item.at <= i + _NEAR]
            if name == "correction" and before and not after and self._is_said_otherwise(i):
                self.gone.add(before[-1].at)
                items.remove(before[-1])
            held = next((item for item in reversed(before) if after and item.matter == after[0].matter), None)
            if held is None:
                continue
            switched = self._has_cue("switch", range(i, min(after[0].at + 3, len(self.tokens))))
            if name == "correction" or switched or _is_said_anew(held, after[0]):
                if name == "correction":
                    _hand_over(held, after[0])
                self.gone.update(range(held.at, i + 1) if held is before[-1] else (held.at, i))
                items.remove(held)

    def _is_said_otherwise(self, i: int) -> bool:
        """Returns True if an unknown word follows the correction at `i` in its clause: "demons. Sorry, I meant angels"."""
        following = itertools.takewhile(lambda token: token.kind is not Is.BREAK, self.tokens[i + 1 :])
        return any(token.kind is Is.WORD for token in following)

    def _overrule(self, items: list[Item]) -> None:
        """Removes a wanted item that only mentions what an operator refuses: "no e-books, I stare at screens all day".
        Doubts a refused kind of a wanted theme: "mecha, but I'm tired of Gundam"."""
        refused = [item for item in items if item.chain is not None and item.stance is Stance.REFUSED and _states(item)]
        wished = [each for each in items if each.stance is Stance.WANTED]
        own = {e.fact.tags[0]: e.segment for e in wished if e.fact and e.fact.tags and is_searched(self.text, e.token)}
        kinds = [item for item in refused if self._is_kind_of_a_wish(item, own)]
        rest = [item for item in refused if item not in kinds]
        general = {item.matter for item in rest if not _is_excepted(item)}  # "no sports except tennis"
        for item in (*kinds, *(item for item in rest if _is_excepted(item) and item.matter in general)):
            self._doubt(item)
            items.remove(item)
        for item in [each for each in refused if each in items and self._is_refused_as_qualified(each, wished)]:
            items.remove(item)
        told = {self.bound.segments[k] for k, token in enumerate(self.tokens) if token.kind is Is.WORD}
        named = {each.fact.tags[0] for each in wished if each.fact and each.fact.tags}
        for item in [each for each in items if each.at in self._guessed and each.stance is Stance.REFUSED]:
            if item.fact and not named.isdisjoint(item.fact.tags[:1]):
                items.remove(item)  # サッカー漫画ってある？弟がサッカー始めたから
        for item in wished:
            if any(_is_same(item, other) or (item.segment in told and _is_told_again(item, other)) for other in refused):
                self.gone.add(item.at)
                items.remove(item)

    def _is_refused_as_qualified(self, item: Item, wished: Sequence[Item]) -> bool:
        """Returns True for a refused theme that is wished with another qualifier: "no school romance, an office romance"."""
        chain = item.chain
        if chain is None or len(chain.objects) < 2 or all(item.token.text != each.token.text for each in wished):
            return False
        beside = (self.tokens[each.at + 1 : item.at] for each in chain.objects if each.at < item.at)
        return any(all(token.text in ("の", "な") for token in between) for between in beside)

    def _is_kind_of_a_wish(self, item: Item, own: Mapping[str, int]) -> bool:
        wished_in = own.get(item.fact.tags[0]) if item.fact and item.fact.tags and not item.mild else None
        return wished_in is not None and wished_in < item.segment and not is_searched(self.text, item.token)

    def _supersede(self, items: list[Item]) -> None:
        """Removes an amount without a bound if another of the same unit has one: "a five-volume thing is a snack, I want
        more than five". Removes a bound that a later one replaces: "within five volumes, eight at most". Refuses an author
        named before "another author"."""
        amounts = [(item, item.token.amount) for item in items if item.token.amount is not None]
        bounded = {amount.unit for _, amount in amounts if amount.bound is not None}
        for k, (item, amount) in enumerate(amounts):
            bare = amount.unit in bounded and amount.bound is None and amount.most is None
            later = (each for each, _ in amounts[k + 1 :] if not each.join)
            if bare or any(_replaces(each, item) for each in later):
                self.gone.add(item.at)
                items.remove(item)
        for item in [each for each in items if each.matter == "author" and each.stance is Stance.WANTED]:
            relative = (token.entry(Is.RELATIVE) for token in self.tokens[item.at + 1 :])
            if any(entry is not None and entry.name == "another" for entry in relative):
                item.stance = Stance.REFUSED

    def _has_cue(self, name: str, span: range) -> bool:
        return any(each.name == name for k in span for each in self.tokens[k].entries)

    def _doubt(self, item: Item) -> None:
        self.doubted.append(item)


def _says(token: Token) -> bool:
    """Returns True if the token can tell a stance towards facts beside it. Numbers and most function words cannot."""
    if token.kind is Is.GLUE:
        return token.cjk or token.text in TALKERS
    operator = token.operator(*POLAR)
    return (operator is not None and operator.name != "sign") or (token.kind is Is.WORD and not token.text.isdigit())


def _ends_clause(token: Token) -> bool:
    return token.kind is Is.BREAK and token.entries[0].name != "condition"


def _is_told_again(item: Item, refused: Item) -> bool:
    """Returns True if a later clause mentions what is refused: "just not baseball. My ex played baseball"."""
    return item.chain is None and refused.segment < item.segment and item.token.text == refused.token.text


def _states(item: Item) -> bool:
    return item.fact is not None or item.token.kind is Is.NAMED


def _is_excepted(item: Item) -> bool:
    return item.chain is not None and any(each.name == "except" for each in item.chain.operators)


def _is_same(mentioned: Item, refused: Item) -> bool:
    """Returns True if both items mean the same in different words: the same format or status, or the same theme. A
    mentioned theme counts only if it has no operator, is not called by its own name, and is not what the refusal's own
    clause begins with."""
    one, other = mentioned.fact, refused.fact
    if one is None or other is None or one.matter != other.matter or one.mood or mentioned.token.text == refused.token.text:
        return False
    if one.matter != "themes":  # a mention of the refused format or status is no wish for it
        return one.matter in ("format", "statuses") and one.conditions == other.conditions
    mere = mentioned.chain is None and mentioned.token.text != "".join(one.tags[:1]).casefold()
    aside = mentioned.at > refused.at or mentioned.segment < refused.segment
    return mere and aside and one.tags[:1] == other.against[:1]


def _hand_over(before: Item, after: Item) -> None:
    """Copies the bound and the stance of the number in `before` to `after`, whose number corrects it: "nothing over 10, I
    mean 12". Does nothing if `after` has an operator or a range, or a different bound of its own."""
    one, other = before.token.amount, after.token.amount
    if one is None or other is None or after.chain is not None or other.most is not None:
        return
    if other.bound in (None, one.bound):
        after.token.amount, after.stance = replace(other, bound=one.bound), before.stance


def _is_said_anew(before: Item, after: Item) -> bool:
    """Returns True if a second thought `after` takes back the item `before` of the same matter: an amount that no title can
    have beside the other, another status or format that is asked for, or another stance towards the same fact."""
    if before.token.amount is not None and after.token.amount is not None:
        both = before.token.amount.range.narrowed(after.token.amount.range)
        return both.empty and {before.stance, after.stance} <= {*ASKED}
    one, other = before.fact, after.fact
    if one is None or other is None:
        return False
    if before.stance is not after.stance:
        tags = {*one.tags, *one.against} & {*other.tags, *other.against}
        return bool(tags) if one.matter == "themes" else one.conditions == other.conditions
    return one.matter != "themes" and one.conditions != other.conditions and before.stance in ASKED


def _replaces(after: Item, before: Item) -> bool:
    """Returns True if both limit the same measure on the same side and are wanted or required, and `after` is not hedged."""
    one, other = before.token.amount, after.token.amount
    if one is None or other is None or (one.unit, one.series) != (other.unit, other.series):
        return False
    sides = [each.bound in (Bound.MOST, Bound.UNDER) for each in (one, other)]
    limits = (Bound.MOST, Bound.UNDER, Bound.LEAST, Bound.OVER)
    asked = before.stance in ASKED and after.stance in ASKED and not after.hedged
    return asked and one.bound in limits and other.bound in limits and sides[0] == sides[1]
