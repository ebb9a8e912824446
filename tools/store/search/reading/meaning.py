"""Reads conditions, an ordering, and a subject to search for from the items of a text: its facts, amounts and names. A
`Claim` is the condition that one item states."""

from __future__ import annotations

import itertools
import re
from bisect import bisect
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tools.store.currency import YEN, Currency
from tools.store.models import Audience, CatalogTerms, Conditions, NameMatches, Ordering, Range, Title
from tools.store.search.conditions.wording import describe_condition
from tools.store.search.query.parser import without_filler
from tools.store.search.query.themes import ThemeTable
from tools.store.search.reading.binder import POLAR, Binder, Binding, Chain, Item, Stance
from tools.store.search.reading.reading import Freedom, Reading, Understood
from tools.store.search.reading.stances import Stances, Surroundings, of_name, settled
from tools.store.search.reading.tables import words_of
from tools.store.search.reading.tokens import CORRECTS, NOTHING, Amount, Bound, Is, Sense, Token

DOUBT = "Part of what was said could not be read for sure and was not obeyed ({}): ask the customer what is meant."
BOTH = "Nothing can be both {} and {}: ask the customer which of the two is meant."
WHOM = "It is for somebody else, and nothing says what they like: ask that{}."
UNTAGGED = "No title here is tagged {}, so that nothing tells which have none of it. Say so; promise nothing."
UNSOLD = "No title here is recorded as {}. Say so; promise nothing of it."
ABSENT = "No title here is tagged with {}: what is shown was found by words alone. Say so."
_ASKED = (Stance.WANTED, Stance.REQUIRED)
_FIRST_TEEN, _FIRST_OLDER_TEEN, _FIRST_ADULT = 13, 16, 18
_EDGES = " ,.;:!?。、！？・/-()[]#\"'"
_NEAR = 5
"""Most tokens between a correction ("no sorry") and the item that it takes back, or the item said instead."""
_MOST_PIECES = 6
"""Most pieces of a text that are searched for, and most unknown words whose stance is judged."""
_HEARD = 0.85
"""Least share of "refused" in the model's answer for an unknown word to count as refused."""
_FREED = {
    "price": ("price", "series_price"), "length": ("volumes",), "status": ("statuses",), "time": ("years",),
    "rating": ("min_rating",),
    "stock": ("in_stock", "all_volumes"), "format": ("format",), "audience": ("audience",),
    "themes": ("tags", "without_tags"), "publisher": ("magazines", "without_magazines"),
}  # fmt: skip
_JA_EDGE = re.compile(r"^[のがはをにでともなへ]+|(?<!も)(?:[のがはをにでとなへ])+$")


@dataclass(slots=True)
class Claim:
    """The condition that one item states. `says` is its English description, `start` and `end` the span of its words. A
    `loose` claim gives way to others about the same fields. If `obeyed` is False, the claim is only reported."""

    start: int
    end: int
    says: str
    conditions: Conditions = NOTHING
    obeyed: bool = True
    loose: bool = False
    stance: Stance = Stance.WANTED
    asked: tuple[str, ...] = ()


@dataclass(slots=True)
class Meaning:
    """Makes the `Reading` of a text whose items are bound to operators. With `heard`, for a customer's own words, the model
    of `stances` judges each stance too."""

    text: str
    tokens: Sequence[Token]
    bound: Binding
    terms: CatalogTerms
    year: int = 0
    titles: Mapping[str, Title] = field(default_factory=dict)
    heard: bool = True
    currency: Currency = YEN
    claims: list[Claim] = field(default_factory=list)
    freedoms: list[tuple[int, Freedom]] = field(default_factory=list)
    like: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    ordering: Ordering | None = None
    adult: bool = False
    again: bool = False
    gone: set[int] = field(default_factory=set)
    sure: set[int] = field(default_factory=set)
    absent: list[str] = field(default_factory=list)
    untagged: list[str] = field(default_factory=list)
    unsold: dict[str, str] = field(default_factory=dict)
    welcome: set[str] = field(default_factory=set)
    endorsed: set[str] = field(default_factory=set)
    welcome_genres: set[str] = field(default_factory=set)
    along: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    around: Surroundings | None = None

    def read(self) -> Reading:
        self._resolve_ellipses()
        self._leave_past(self.bound.items)
        aside = self._judge() if self.heard else set[int]()
        items = self.bound.items = [item for item in self.bound.items if item.at not in aside]
        self._dislikes(items)
        self._correct(items)
        self._overrule(items)
        self._supersede(items)
        wanted = [item.fact for item in items if item.fact and self._is_asked(item)]
        asked = {tag for fact in wanted for tag in fact.tags}
        plain = {tag for fact in wanted if not fact.mood for tag in fact.tags}
        aged = [item for item in items if item.token.amount is not None and item.token.amount.unit == "age"]
        for item in items:
            if item.hedged or item.matter == "unheld" or self._is_surpassed(item):
                self._doubt(item)
            elif item.token.kind is Is.NAMED:
                self._name(item)
            elif item.token.amount is not None:
                self._amount(item)
            elif item.freed:
                if item.stance is Stance.FREE:
                    self._free(item, Freedom(matters=_FREED[item.freed]))
            elif item.fact is not None and item.fact.matter == "themes":
                self._claim_theme(item, asked, plain)
            elif item.fact is not None and not (item.fact.matter == "audience" and aged):
                self._fact(item)
            elif item.fact is not None:
                self.gone.add(item.at)
        self._relative()
        self._unknown()
        if self._asks_of_a_title():
            return Reading(self.text, self._title_names()[0], known=tuple(self.known), named=self._named())
        if self.known and not self.like and not any(item.token.amount or self._is_asked(item) for item in items):
            self.like = [item.token.title_ids[0] for item in items if item.stance is Stance.KNOWN and item.token.title_ids]
        return self._reading()

    def _judge(self) -> set[int]:
        """Sets the stance of each item by its operators and the model. Returns the token indexes of items left in doubt."""
        if not any(_says(token) for token in self.tokens):
            return set()  # no word beside the facts can express a stance
        doubted, model = set[int](), Stances.load()
        around = self.around = Surroundings(self.tokens, self.bound.items)
        freed = {item.segment for item in self.bound.items if item.chain is not None and item.stance is Stance.FREE}
        lone = [chain for chain in self.bound.chains if not chain.objects and chain.stance is Stance.REFUSED]
        for item in self.bound.items:
            if not self._may_be_judged(item):
                continue
            name = item.token.kind is Is.NAMED
            judged = model.judge(around, item.at, "name" if name else "fact")
            if name:
                item.stance = of_name(item, judged)
                continue
            stance = settled(item, judged, supposed=self._is_supposed(item))
            if stance is Stance.FREE and item.chain is None and item.segment in freed:
                stance = Stance.WANTED  # the words that free another item free no more
            if stance is None or (lone and stance is Stance.REFUSED and self._is_denied_twice(item, lone)):
                doubted.add(item.at)
                self._doubt(item)
            elif stance is not item.stance:
                item.stance, item.chain = stance, None
                self._set_aside(item)
        self._agree_on_names()
        self._leave_talk(doubted)
        return doubted

    def _is_denied_twice(self, item: Item, lone: Sequence[Chain]) -> bool:
        """Returns True if a negation without items shares the item's clause: "there is no horror I wouldn't read"."""
        if item.chain is None:
            return False
        for each in lone:
            inner = item.chain.japanese and (each.at < item.chain.to or not each.negated)  # 語れないから嫌
            if self.bound.segments[each.at] != item.segment or inner:
                continue
            if not any(map(_ends_clause, self.tokens[min(each.at, item.at) : max(each.at, item.at)])):
                return True
        return False

    def _agree_on_names(self) -> None:
        """Gives the names of a list the stance of its last name ("I have read Bleach, Naruto and Monster"), unless an
        operator between them begins something else: "by Urasawa, not Monster"."""
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
        spoken = {self.bound.segments[i] for i, token in enumerate(self.tokens) if token.text in _TALKERS}
        for i, token in enumerate(self.tokens):
            if token.kind is Is.WORD and self.bound.segments[i] in refused & spoken:
                self.gone.add(i)

    def _is_supposed(self, item: Item) -> bool:
        beside = self.tokens[item.at + 1 : item.at + 4] if item.token.cjk else self.tokens[max(0, item.at - 4) : item.at]
        if item.token.amount is not None and any(token.text == "と" for token in beside[:1]):
            return True
        return any((entry := token.entry(Is.BREAK)) is not None and entry.name == "condition" for token in beside)

    def _set_aside(self, item: Item) -> None:
        for step in (-1, 1):
            k = item.at + step
            while 0 <= k < len(self.tokens) and self.tokens[k].kind not in (Is.BREAK, Is.FACT, Is.AMOUNT, Is.NAMED):
                self.gone.add(k)
                k += step

    def _may_be_judged(self, item: Item) -> bool:
        fact, amount = item.fact, item.token.amount
        if item.freed or item.limited or item.at in self.sure:
            return False
        if fact is not None and (fact.alone or fact.mood or fact.matter in ("audience", "person", "adult", "ordering")):
            return False
        return amount is None or amount.unit not in ("age", "grade")

    def _title_names(self) -> list[str]:
        return [item.token.names[0] for item in self.bound.items if item.token.title_ids and item.stance in _ASKED]

    def _named(self) -> tuple[str, ...]:
        return tuple(item.token.title_ids[0] for item in self.bound.items if item.token.title_ids and item.stance in _ASKED)

    def _asks_of_a_title(self) -> bool:
        if self.like or not self._title_names():
            return False
        asks = any(
            (role.startswith(("asks", "name:before", "name:after")) and not self._is_than(i))
            or (i == 0 and role == "name:hand")
            for i, role in self.bound.roles.items()
        )
        if any(self._is_than(i) for i in self.bound.roles) or any(
            item.fact and item.fact.matter == "themes" for item in self.bound.items
        ):
            return False
        return asks or self.text.endswith(("?", "か"))

    def _is_than(self, i: int) -> bool:
        return any(word in self.tokens[i].text for word in ("than", "then", "より"))

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
            if not (before and after and before[-1].matter == after[0].matter):
                continue
            switched = self._has_cue("switch", range(i, min(after[0].at + 3, len(self.tokens))))
            if name == "correction" or switched or _is_said_anew(before[-1], after[0]):
                if name == "correction":
                    _hand_over(before[-1], after[0])
                self.gone.update(range(before[-1].at, i + 1))
                items.remove(before[-1])

    def _is_said_otherwise(self, i: int) -> bool:
        """Returns True if an unknown word follows the correction at `i` in its clause: "demons. Sorry, I meant angels"."""
        following = itertools.takewhile(lambda token: token.kind is not Is.BREAK, self.tokens[i + 1 :])
        return any(token.kind is Is.WORD for token in following)

    def _has_cue(self, name: str, span: range) -> bool:
        return any(each.name == name for k in span for each in self.tokens[k].entries)

    def _leave_past(self, items: list[Item]) -> None:
        """Removes an item that was wished or liked once if a later one of its matter is asked for: "I loved robots as a kid,
        now I like cats", 最初はロボットと思ったけどアイドルがいい."""
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

    def _resolve_ellipses(self) -> None:
        """Binds the operators of a clause without items to the items before it: "he likes mecha but I don't", "I rarely read
        romance but today I want some"."""
        breaks = [-1, *(i for i, token in enumerate(self.tokens) if token.kind is Is.BREAK), len(self.tokens)]
        lone = [each for each in self.bound.chains if not each.objects and self.bound.items]
        clauses = [bisect(breaks, each.at) for each in lone]
        for chain, at in zip(lone, clauses, strict=True):
            if clauses.count(at) > 1:
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
                        self.sure.add(item.at)
            self.bound.used.update(clause)

    def _elliptical(self, chain: Chain, item: Item, clause: range) -> Stance | None:
        """Returns the stance that a clause without items gives to the item before it; None if it says nothing of it."""
        said = self.tokens[chain.to]
        plain = all(self.tokens[k].kind is Is.GLUE for k in range(chain.to + 1, clause.stop))
        if not plain or chain.mild or item.token.amount is not None or item.matter in ("person", "audience"):
            return None
        if chain.stance is Stance.REFUSED:
            strong = any(each.sense is Sense.REFUSE for each in chain.operators)
            felt = strong or said.text in _TASTES or (chain.to + 1 == clause.stop and chain.at == chain.to and not said.cjk)
            return Stance.REFUSED if felt and item.stance in (*_ASKED, Stance.LIKED, Stance.KNOWN) else None
        now = self._has_cue("now", clause) or self._has_cue("second_thought", clause)
        usual = self._has_cue("usual", range(self.bound.segments.index(item.segment), clause.start))
        if chain.stance is Stance.FREE:
            return Stance.FREE if now and item.stance is Stance.REFUSED else None
        if chain.stance not in (Stance.WANTED, Stance.LIKED) or item.stance not in (Stance.FREE, Stance.REFUSED):
            return None
        turned = item.stance is Stance.FREE or now or usual or item.past or self._is_another_mind(item, clause)
        return Stance.WANTED if turned else None

    def _is_another_mind(self, item: Item, clause: range) -> bool:
        """Returns True if the speaker's clause follows somebody else's view of the item: "my wife hates gore, I love it"."""
        speaks = any(self.tokens[k].text in _TALKERS for k in clause)
        return speaks and any(each.matter == "person" and each.segment == item.segment for each in self.bound.items)

    def _overrule(self, items: list[Item]) -> None:
        """Removes a wanted item that only mentions what an operator refuses: "no e-books, I stare at screens all day".
        Doubts a refused kind of a wanted theme: "mecha, but I'm tired of Gundam"."""
        refused = [item for item in items if item.chain is not None and item.stance is Stance.REFUSED and item.fact]
        wished = [each for each in items if each.stance is Stance.WANTED and each.fact] if refused else []
        own = {e.fact.tags[0]: e.segment for e in wished if e.fact and e.fact.tags and self._is_known(e.token)}
        kinds = [item for item in refused if self._is_kind_of_a_wish(item, own)]
        rest = [item for item in refused if item not in kinds]
        general = {item.matter for item in rest if not _is_excepted(item)}  # "no sports except tennis"
        for item in (*kinds, *(item for item in rest if _is_excepted(item) and item.matter in general)):
            self._doubt(item)
            items.remove(item)
        for item in wished:
            if any((item.matter != "themes" or item.at > other.at) and _is_same(item, other) for other in refused):
                self.gone.add(item.at)
                items.remove(item)

    def _is_kind_of_a_wish(self, item: Item, own: Mapping[str, int]) -> bool:
        wished_in = own.get(item.fact.tags[0]) if item.fact and item.fact.tags and not item.mild else None
        return wished_in is not None and wished_in < item.segment and not self._is_known(item.token)

    def _is_known(self, token: Token) -> bool:
        return bool(ThemeTable.load().themes(self.text[token.start : token.end]))

    def _supersede(self, items: list[Item]) -> None:
        """Removes an amount without a bound if another of the same unit has one: "a five-volume thing is a snack, I want
        more than five"; and a bound if a later one replaces it: "within five volumes, eight at most". Refuses an author
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

    # Names

    def _is_surpassed(self, item: Item) -> bool:
        """Returns True if only a negated comparison speaks of the item, which may be praise or the opposite: "couldn't be
        happier than with cats", ゾンビほど怖いものはない."""
        chain = item.chain
        if chain is None or item.fact is None or not chain.negated:
            return False
        if item.token.cjk:
            return any(token.text in _SURPASSES for token in self.tokens[item.at + 1 : item.at + 3])
        return any(token.text.split(" ")[-1] in _SURPASSES for token in self.tokens[chain.to + 1 : item.at])

    def _dislikes(self, items: Sequence[Item]) -> None:
        """Marks a title that the shopper calls "too" something as known. If the text asks for something like an earlier
        title, marks the last title as liked."""
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
        if not self.bound.likes or any(item.stance is Stance.LIKED and item.token.title_ids for item in items):
            return
        if self.bound.again:
            named = [item for item in items if item.token.title_ids]
            for item in reversed(named):
                item.stance = Stance.LIKED
                if item.gap not in ("comma", "join"):
                    break

    def _name(self, item: Item) -> None:
        token = item.token
        ids, name = token.title_ids, token.names[0]
        person = any(
            self.bound.roles.get(k, "").startswith("name:person") or self.bound.roles.get(k, "").startswith("name:hand")
            for k in range(item.at - 2, item.at + 3)
        )
        if not ids and person and self._is_its_author(item):
            self.gone.add(item.at)
            return
        if item.stance is Stance.REFUSED:
            if ids:
                self._claim(item, Conditions(without_titles=ids), f"without {name}")
                if any(each.operator(Sense.LIKE) for each in self.tokens[max(0, item.at - 1) : item.at + 2]):
                    self._doubt(item)  # "nothing like Naruto"
            else:
                self._claim(item, Conditions(without_authors=(name,)), f"not by {name}")
            return
        title = self.titles.get(ids[0]) if ids else None
        if ids and person and title is not None and title.authors and item.stance is Stance.WANTED:
            author = title.authors[0].name
            self._claim(item, Conditions(author=author, without_titles=ids), f"by {author}")
            return
        if not ids:
            if item.stance is Stance.KNOWN:
                self._claim(item, Conditions(without_authors=(name,)), f"not by {name}")
            else:
                self._claim(item, Conditions(author=name), f"by {name}")
            return
        if item.but and any(each.at > item.at and each.token.kind is not Is.NAMED for each in self.bound.items):
            item.stance = Stance.LIKED
        if item.stance is Stance.LIKED:
            self.like.append(ids[0])
            self.known.extend(ids)
            self._claim(item, Conditions(without_titles=ids), f"like {name}")
        elif item.stance is Stance.KNOWN:
            self.known.extend(ids)
            self._claim(item, Conditions(without_titles=ids), f"without {name}")

    def _is_its_author(self, item: Item) -> bool:
        """Returns True if the author only identifies the title before: "without Monster by Naoki Urasawa"."""
        before = self.tokens[max(0, item.at - 2) : item.at]
        held = next((each for each in self.bound.items if before and each.token is before[0]), None)
        told = (Stance.REFUSED, Stance.KNOWN, Stance.LIKED)
        return held is not None and bool(held.token.title_ids) and held.stance in told

    # Amounts

    def _amount(self, item: Item) -> None:
        amount = item.token.amount
        if amount is None:
            return None
        if amount.unit == "foreign":
            return self._doubt(item)
        if item.limited and amount.bound in (None, Bound.EXACT, Bound.ABOUT) and item.stance is not Stance.REFUSED:
            amount = Amount(amount.unit, Bound.MOST, amount.least, None, amount.series, amount.step)
        if item.stance is Stance.REFUSED:
            few = amount.unit == "volumes" and amount.bound is None and amount.least <= _VERY_FEW
            turned = Amount(amount.unit, Bound.OVER, amount.least) if few else amount.turned()
            if turned is None:
                return self._doubt(item)
            amount = turned
        conditions = self._of_amount(item, amount)
        if conditions is None:
            return None
        if item.stance is Stance.FREE and amount.bound is None:
            return self._free(item, Freedom(allowed=conditions))
        self._claim(item, conditions)
        return None

    def _of_amount(self, item: Item, amount: Amount) -> Conditions | None:
        match amount.unit:
            case "volumes":
                if amount.bound is None and amount.most is None and not self._is_length(item):
                    return None
                return Conditions(volumes=amount.range)
            case "money":
                unit = self.currency.unit
                amount = replace(amount, least=amount.least * unit, most=None if amount.most is None else amount.most * unit)
                if amount.bound in (None, Bound.EXACT) and amount.most is None:
                    amount = replace(amount, bound=Bound.MOST)
                if amount.bound is Bound.BAND:
                    width = 10 ** (len(f"{amount.least / unit:.0f}") - 1) * unit
                    amount = replace(amount, bound=None, most=amount.least + width - 1)
                return Conditions(series_price=amount.range) if amount.series else Conditions(price=amount.range)
            case "year":
                return Conditions(years=amount.range)
            case "ago":
                return Conditions(years=Range(self.year - amount.least, None))
            case "stars":
                least = (
                    amount.range.least
                    if amount.bound not in (None, Bound.ABOUT, Bound.BAND, Bound.MOST, Bound.UNDER)
                    else amount.least
                )
                return Conditions(min_rating=least) if amount.bound not in (Bound.MOST, Bound.UNDER) else None
            case "age":
                audience = audience_for(amount.least)
                return Conditions(audience=audience) if audience else Conditions()
        return None

    def _is_length(self, item: Item) -> bool:
        """Returns True if a bare number of volumes is a length. After a title's name, 3巻 is the third volume instead."""
        if not item.token.cjk:
            return True
        return not any(token.kind in (Is.WORD, Is.NAMED) for token in self.tokens[max(0, item.at - 2) : item.at])

    # Facts

    def _is_asked(self, item: Item) -> bool:
        alone = bool(item.fact and item.fact.alone)
        return item.fact is not None and (item.stance is Stance.REFUSED) == alone and item.stance is not Stance.FREE

    def _fact(self, item: Item) -> None:
        fact = item.fact
        if fact is None:
            return None
        refused = (item.stance is Stance.REFUSED) != fact.alone
        if fact.matter == "person":
            self.gone.add(item.at)
            return None
        if item.stance is Stance.FREE:
            if not fact.conditions.stated and fact.opposite is not None:
                return self._free(item, Freedom(unneeded=fact.opposite))
            return self._free(item, self._freedom(item, fact.conditions))
        if fact.matter == "magazines" and not fact.conditions.stated:
            self._doubt(item)
            self.unsold[self.claims[-1].says] = UNSOLD.format(fact.says)
            return None
        if refused:
            if fact.opposite_ordering is not None:
                self.ordering = self.ordering or fact.opposite_ordering
                return self._claim(item, NOTHING, "cheapest first")
            if fact.opposite is None:
                return self._doubt(item)
            return self._claim(item, fact.opposite, loose=fact.loose)
        if fact.adult:
            self.adult = True
        if fact.ordering is not None:
            self.ordering = self.ordering or fact.ordering
        self.welcome_genres.update(fact.conditions.genres)
        return self._claim(item, fact.conditions, fact.says, loose=fact.loose)

    def _freedom(self, item: Item, conditions: Conditions) -> Freedom:
        chain = item.chain
        said = "" if chain is None else self.text[self.tokens[chain.at].start : self.tokens[chain.to].end]
        need_not = chain is not None and any(each.sense in (Sense.NOT, Sense.REQUIRE) for each in chain.operators)
        need_not = need_not or any(word in said for word in ("need", "required", "necessary", "optional", "なくて"))
        return Freedom(unneeded=conditions) if need_not else Freedom(allowed=conditions)

    def _claim_theme(self, item: Item, asked: set[str], plain: set[str]) -> None:
        """Adds the claim of a theme by its stance. `asked` are the tags of all wanted facts, `plain` those of wanted facts
        other than moods. A refused theme never excludes a wanted tag; a mood does not protect the tag that the theme
        names."""
        fact = item.fact
        if fact is None:
            return None
        if item.stance is Stance.FREE:
            self.along.append((fact.against[0] if fact.against else "", frozenset((*fact.against, *fact.also))))
            self.welcome.update(fact.against)
            self.endorsed.update(fact.against[:1])
            facts = [each.fact for each in self.bound.items if each.stance is Stance.REFUSED]
            refused = {tag for other in facts if other for tag in other.against}
            freed = tuple(tag for tag in (*fact.against, *fact.also) if tag in fact.against[:1] or tag not in refused)
            return self._free(item, Freedom(unneeded=Conditions(without_tags=freed)))
        if not self._is_asked(item):
            called = "" if fact.mood else next((tag for tag in fact.against if tag in self.terms.tags), "")
            tags = tuple(tag for tag in fact.against if tag not in (plain if tag == called else asked)) or (
                () if fact.also and item.mild else fact.against
            )
            also = () if item.mild else tuple(tag for tag in fact.also if tag not in asked)
            here = tuple(dict.fromkeys(tag for tag in (*tags, *also) if tag in self.terms.tags or not self.terms.tags))
            if not fact.against:
                return self._doubt(item)
            held = self.terms.tags.keys() & {*fact.against, *fact.also} if self.terms.tags else not self.terms.titles
            if not held:
                self.untagged.append(fact.against[0])
            elif not here:  # "horror, but not too scary"
                return self.gone.add(item.at)
            says = f"without {' or '.join(here or fact.against[:1])}"
            return self._claim(item, Conditions(without_tags=here), says)
        if fact.alone:
            return None
        if fact.mood and not fact.tags:  # "new to manga": no tags to ask for, only tags to exclude
            left_out = tuple(tag for tag in fact.also if tag in self.terms.tags)
            return self._claim(item, Conditions(without_tags=left_out), f"{fact.says}: without {' or '.join(left_out)}")
        tags = tuple(tag for tag in fact.tags if tag in self.terms.tags or not self.terms.tags)
        named = (*fact.against[:1], *fact.tags[:1])
        self.welcome.update(named)
        if item.chain is not None:
            self.endorsed.update(named)
        self.along.append((fact.against[0] if fact.against else "", frozenset((*fact.against, *fact.also))))
        if fact.tags and not tags and not fact.mood:
            self.absent.append(self._words(item))
            return None
        if tags and not fact.mood:
            start, end = item.token.start, item.token.end
            merged = item.join in _OR and self.claims and self.claims[-1].asked
            if merged:
                tags = tuple(dict.fromkeys((*self.claims[-1].asked, *tags)))
                start = self.claims.pop().start
            for group in fact.groups or (tags,):
                says = " or ".join(group[:3])
                self.claims.append(Claim(start, end, says, Conditions(tags=(group,)), stance=item.stance, asked=group))
        return None

    # Claims of all items

    def _words(self, item: Item) -> str:
        return self.text[item.token.start : item.token.end]

    def _span(self, item: Item) -> tuple[int, int]:
        start, end = item.token.start, item.token.end
        if item.chain is not None and item.chain.objects and item.stance is not Stance.WANTED:
            first, last = self.tokens[item.chain.at], self.tokens[item.chain.to]
            if len(item.chain.objects) == 1 and abs(first.start - start) < 60:
                return min(start, first.start), max(end, last.end)
        return start, end

    def _claim(self, item: Item, conditions: Conditions, says: str = "", *, loose: bool = False) -> None:
        self.gone.add(item.at)
        start, end = self._span(item)
        said = says or ", ".join(describe_condition(name, conditions, self.currency) for name in conditions.stated)
        name = conditions.stated[0] if len(conditions.stated) == 1 else ""
        own = getattr(conditions, name, None)
        either = isinstance(own, Range) and item.join in _OR and item.stance is not Stance.REFUSED
        if either and self.claims and self.claims[-1].conditions.stated == (name,):
            before = self.claims.pop()  # "the sixties or seventies"
            other = getattr(before.conditions, name)
            joined = other.joined(own)
            if not joined or (other.narrowed(own).empty and name != "years"):  # no range holds both and nothing else
                self.claims.append(Claim(before.start, end, self.text[before.start : end], obeyed=False))
                return
            start, conditions = before.start, replace(NOTHING, **{name: joined})
            said = describe_condition(name, conditions, self.currency)
        if said or conditions.stated:
            self.claims.append(Claim(start, end, said, conditions, loose=loose, stance=item.stance))

    def _free(self, item: Item, freedom: Freedom) -> None:
        self.gone.add(item.at)
        self.freedoms.append((item.token.start, freedom))

    def _doubt(self, item: Item) -> None:
        self.gone.add(item.at)
        start, end = self._span(item)
        self.claims.append(Claim(start, end, self.text[start:end], obeyed=False))

    def _unknown(self) -> None:
        which = [i for i, role in self.bound.roles.items() if role.startswith("which")]
        vain = [chain.at for chain in self.bound.chains if chain.strong and chain.stance is Stance.REFUSED]
        silent = not self.bound.items and not self.claims
        if (which and not any(item.token.kind is Is.NAMED for item in self.bound.items)) or (vain and silent):
            at = (which or vain)[0]
            unsaid = not any(chain.words for chain in self.bound.chains if chain.strong)
            if which or unsaid:
                self.gone.update(range(len(self.tokens)))
                self.claims.append(Claim(self.tokens[at].start, self.tokens[at].end, "which is meant", obeyed=False))
                return
        for chain in self.bound.chains:
            felt = self.tokens[chain.to].fact
            if (
                chain.stance is Stance.REFUSED
                and felt is not None
                and felt.against
                and any(o.token.kind is Is.NAMED for o in chain.objects)
            ):
                token = self.tokens[chain.to]
                made = Conditions(without_tags=tuple(tag for tag in felt.against if tag in self.terms.tags))
                self.claims.append(Claim(token.start, token.end, f"without {' or '.join(felt.against)}", made))
        for chain in self.bound.chains:
            if chain.objects or chain.stance is not Stance.REFUSED or not chain.strong or not chain.words:
                continue
            words = [k for k in chain.words if self.tokens[k].kind is Is.WORD and k not in self.bound.story]
            if not words or words[0] - chain.to > 4:
                continue
            last = words[0]
            for k in words[1:]:
                if k - last > 2:
                    break
                last = k
            start, end = self.tokens[chain.at].start, self.tokens[last].end
            self.gone.update(range(chain.at, last + 1))
            said = self.text[self.tokens[words[0]].start : end]
            self.claims.append(Claim(start, end, f"without {said}", obeyed=False))
        for chain in self.bound.chains:
            if chain.strong and chain.japanese and not chain.objects and chain.stance is Stance.REFUSED:
                run = self._before(chain.at)
                if run:
                    self.gone.update(run)
                    said = self.text[self.tokens[run[0]].start : self.tokens[run[-1]].end]
                    self.claims.append(
                        Claim(self.tokens[run[0]].start, self.tokens[chain.to].end, f"without {said}", obeyed=False)
                    )

        if self.around is not None:
            self._leave_refused_words(self.around, Stances.load())

    def _leave_refused_words(self, around: Surroundings, model: Stances) -> None:
        left = self.bound.story | self.gone
        unknown = [i for i, token in enumerate(self.tokens) if token.kind is Is.WORD and i not in left]
        for i in unknown[:_MOST_PIECES]:
            if model.judge(around, i, "fact").shares["refused"] >= _HEARD:
                token = self.tokens[i]
                self.gone.add(i)
                self.claims.append(Claim(token.start, token.end, f"without {token.text}", obeyed=False))

    def _before(self, at: int) -> list[int]:
        run: list[int] = []
        for k in range(at - 1, -1, -1):
            token = self.tokens[k]
            if (
                token.kind is Is.BREAK
                or token.kind in (Is.OPERATOR, Is.AMOUNT, Is.FACT)
                or (run and token.kind is not Is.WORD)
            ):
                break
            if token.kind is Is.WORD:
                run.append(k)
        return sorted(run)

    def _relative(self) -> None:
        """Adds the claims of comparisons with a title: "shorter than GTO", ナルトより短い, "like Berserk but tamer"."""
        if not any(item.token.title_ids for item in self.bound.items):
            return
        for i, token in enumerate(self.tokens):
            named = self._compared(i)
            entry = token.entry(Is.RELATIVE)
            if named is not None:
                way, title = named[0], self.titles.get(named[1].token.title_ids[0])
                self.gone.update((i, named[1].at))
                if title is None:
                    continue
                self.like = [
                    each for each in self.like if each not in named[1].token.title_ids or named[1].stance is Stance.LIKED
                ]
                made = _beside(title, way, than=True, own=named[2])
                start, end = min(token.start, named[1].token.start), max(token.end, named[1].token.end)
                if made is not None:
                    made = made.and_also(Conditions(without_titles=named[1].token.title_ids))
                self.claims.append(
                    Claim(start, end, f"{way} than {title.display}", made or NOTHING, obeyed=made is not None)
                )
            elif (
                entry is not None
                and self.like
                and not any(item.at == i for item in self.bound.items if item.stance is Stance.REFUSED)
            ):
                title = self.titles.get(self.like[0])
                made = _beside(title, entry.name, than=False) if title else None
                self.gone.add(i)
                self.claims = [each for each in self.claims if not (each.start == token.start and each.loose)]
                if made is not None and title is not None:
                    self.claims.append(Claim(token.start, token.end, f"{entry.name} than {title.display}", made))

    def _compared(self, i: int) -> tuple[str, Item, bool] | None:
        """Returns the way, the title, and whether its own value is allowed, of the comparison at token index `i`."""
        token = self.tokens[i]
        if token.text == "ほど":
            return self._compared_by_degree(i)
        if not token.entry(Is.BOUND) or not ("than" in token.text or "then" in token.text or "より" in token.text):
            return None
        near = [
            item
            for item in self.bound.items
            if item.token.title_ids and (0 < item.at - i <= 2 if "より" not in token.text else 0 < i - item.at <= 2)
        ]
        way = _way_of(token.text)
        if not near or way is None:
            return None
        least = any(each.bound in (Bound.LEAST, Bound.OVER) for each in token.entries)
        denied = least is not (way in ("longer", "newer", "better rated", "more expensive"))  # "not longer than Naruto"
        denied = denied is not self._is_refused_by_comparison(near[0], i)
        return _TURNED[way] if denied else way, near[0], denied

    def _compared_by_degree(self, i: int) -> tuple[str, Item, bool] | None:
        """Returns the same of a comparison by ほど: ナルトほど長くない."""
        title = next((each for each in self.bound.items if each.at == i - 1 and each.token.title_ids), None)
        measure = next((each for each in self.bound.items if each.at == i + 1 and each.stance is Stance.REFUSED), None)
        if title is None or measure is None:
            return None
        way = _way_of(measure.token.text)
        return None if way is None else (_TURNED[way], title, False)

    def _is_refused_by_comparison(self, item: Item, i: int) -> bool:
        """Returns True if the refusal of a title refuses the comparison at `i`: "nothing longer than Naruto"."""
        if item.stance is not Stance.REFUSED or item.chain is None:
            return False
        first, last = (i, item.chain.at) if item.chain.japanese else (item.chain.to, i)
        return first < last and not any(first < each.at < last for each in self.bound.items)

    # The whole

    def _reading(self) -> Reading:
        bound = [each for each in self.claims if each.conditions.stated and not each.asked]
        stated = {name for each in bound if not each.loose for name in each.conditions.stated}
        kept = [each for each in self.claims if not (each.loose and not stated.isdisjoint(each.conditions.stated))]
        subject = self._subject()
        conditions, understood, themes = Conditions(), list[Understood](), list[Understood]()
        stated_before = set[str]()
        for each in sorted(kept, key=lambda each: each.start):
            made = self._left(each)
            if not (made.stated or not each.obeyed or (each.says and not each.conditions.stated)):
                continue
            if not each.says or each.says not in stated_before:
                conditions = conditions.and_also(made)
                stated_before.add(each.says)
            words = self.text[each.start : each.end]
            if each.asked and each.stance is not Stance.REQUIRED:
                themes.append(Understood(each.says, words))
            else:
                understood.append(Understood(each.says, words, each.obeyed, made.stated))
        remarks = tuple(self._remarks(kept, understood))
        spoken = bool(themes) and any(token.text in _TALKERS for token in self.tokens)
        if not (self.like or spoken or understood or self.freedoms or self.absent or self.gone):
            subject = self._subject() if self._is_unknown_to_search() else self.text
        return Reading(
            text=self.text,
            subject=subject,
            conditions=conditions,
            ordering=self.ordering,
            like=tuple(dict.fromkeys(self.like)),
            known=tuple(dict.fromkeys(self.known)),
            understood=(*understood, *themes),
            vague=not without_filler(subject).strip(_EDGES)
            or not any(token.kind is Is.WORD or token.fact or token.kind is Is.NAMED for token in self.tokens),
            adult=self.adult,
            freedoms=tuple(each for _, each in self.freedoms),
            remarks=remarks,
            again=self.bound.again and not self.like,
            named=self._named(),
            another=any(self._is_of_another(item) for item in self.bound.items),
            absent=tuple(self.absent),
            welcome=frozenset(self.welcome),
            endorsed=frozenset(self.endorsed),
            welcome_genres=frozenset(self.welcome_genres),
            along=tuple(self.along),
        )

    def _is_of_another(self, item: Item) -> bool:
        """Returns True if the item says that somebody else will read the manga: "for my sister", not "friends to lovers"."""
        if item.token.amount is not None:
            return item.token.amount.unit == "age"
        if item.fact is None or item.fact.matter not in ("audience", "person"):
            return False
        if item.fact.matter == "audience" or item.token.cjk or item.token.text in _GIFTS:
            return True
        following = self.tokens[item.at + 1] if item.at + 1 < len(self.tokens) else None
        before = [token.text for token in self.tokens[max(0, item.at - 2) : item.at]]
        return any(word in _OWN for word in before) and not (following is not None and following.kind is Is.WORD)

    def _left(self, claim: Claim) -> Conditions:
        conditions = claim.conditions
        for at, freedom in self.freedoms:
            if at > claim.start and not conditions.audience:
                conditions = freedom.leaves(conditions)
        return conditions

    def _remarks(self, kept: Sequence[Claim], understood: Sequence[Understood]) -> Iterator[str]:
        if doubts := [each.words for each in understood if not each.obeyed and each.words not in self.unsold]:
            yield DOUBT.format("; ".join(f'"{each}"' for each in doubts[:3]))
        states = [each for each in kept if each.conditions.statuses]
        for one, other in itertools.pairwise(states):
            between = self.text[one.end : other.start]
            if set(one.conditions.statuses).isdisjoint(other.conditions.statuses) and not _EITHER.search(between):
                yield BOTH.format(one.says, other.says)
        bare = all(set(each.conditions.stated) <= {"audience"} for each in kept)
        told = any(token.kind in (Is.WORD, Is.NAMED) for token in self.tokens) or any(
            item.fact and item.fact.mood for item in self.bound.items
        )
        if bare and not told and any(self._is_of_another(item) for item in self.bound.items):
            aged = any(item.matter == "age" for item in self.bound.items)
            yield WHOM.format("" if aged else ", and how old they are")
        if self.adult and any(each.conditions.audience for each in kept):
            yield BOTH.format("for adults alone", "fit for the young")
        yield from self.unsold.values()
        for each in self.untagged[:1]:
            yield UNTAGGED.format(each)
        for each in self.absent[:1]:
            yield ABSENT.format(f'"{each}"')

    def _subject(self) -> str:
        """Returns the words to search for: unknown words, wanted themes and titles, and function words between them."""
        items = {item.at: item for item in self.bound.items}
        keep = [self._is_kept(i, items) for i in range(len(self.tokens))]
        if not any(keep):
            return ""
        if not self.claims and not self.freedoms and not self.gone:
            return self.text
        segments = self._worth(keep)
        pieces: list[str] = []
        start: int | None = None
        last = 0
        for i, token in enumerate(self.tokens):
            plain = (
                token.kind == Is.GLUE
                or (token.kind is Is.OPERATOR and i not in self.bound.used and i not in self.gone)
                or (token.kind is Is.BREAK and token.entries[0].name in ("join", "soft"))
            )
            if keep[i] and self.bound.segments[i] in segments:
                start = i if start is None else start
                last = i
            elif start is not None and not plain:
                pieces.append(self._piece(start, last))
                start = None
        if start is not None:
            pieces.append(self._piece(start, last))
        cleaned = [
            _JA_EDGE.sub("", piece.strip(_EDGES)) if any(ord(c) > 0x3000 for c in piece) else piece.strip(_EDGES)
            for piece in pieces
        ]
        return " ".join(list(filter(None, cleaned))[:_MOST_PIECES])

    def _is_unknown_to_search(self) -> bool:
        """Returns True if the text holds themes alone and the search knows none by its words: "romanse"."""
        facts = [token for token in self.tokens if token.kind is Is.FACT and token.fact and token.fact.tags]
        known = any(map(self._is_known, facts))
        return bool(facts) and not known and all(token.kind is not Is.WORD for token in self.tokens)

    def _piece(self, start: int, last: int) -> str:
        """Returns the text of tokens `start` to `last`. A theme in words that the search does not know becomes its tag."""
        made, end = "", self.tokens[start].start
        for i in range(start, last + 1):
            token = self.tokens[i]
            said = self.text[token.start : token.end]
            fact = token.fact
            here = fact is not None and (not self.terms.tags or any(tag in self.terms.tags for tag in fact.tags))
            if fact is not None and fact.tags and not fact.mood and not (here and ThemeTable.load().themes(said)):
                said = fact.tags[0].lower()
            made += self.text[end : token.start] + said
            end = token.end
        return made

    def _is_kept(self, i: int, items: Mapping[int, Item]) -> bool:
        token = self.tokens[i]
        if i in self.gone or i in self.bound.used:
            return False
        if i in self.bound.story:
            return token.kind is not Is.BREAK
        item = items.get(i)
        if item is not None:
            if item.fact is not None and item.fact.matter == "themes":
                return self._is_asked(item) and not item.fact.alone
            return item.token.kind is Is.NAMED or (item.token.amount is not None)
        return token.kind is Is.WORD

    def _worth(self, keep: Sequence[bool]) -> set[int]:
        rich, poor = set[int](), set[int]()
        for i, kept in enumerate(keep):
            if kept:
                token = self.tokens[i]
                is_rich = token.kind is Is.NAMED or token.fact is not None or i in self.bound.story
                (rich if is_rich else poor).add(self.bound.segments[i])
        return rich or (poor if not self._is_talk(poor) else set())

    def _is_talk(self, segments: set[int]) -> bool:
        stated = {self.bound.segments[item.at] for item in self.bound.items if item.matter != "person"}
        if not stated or not segments.isdisjoint(stated):
            return False
        spoken = {self.bound.segments[i] for i, token in enumerate(self.tokens) if token.text in _SPEAKERS}
        return segments <= spoken


_SPEAKERS = words_of("tellers")
_TALKERS = _SPEAKERS | words_of("speaker")
_OR = words_of("either")
_TASTES = words_of("tastes")
_GIFTS = words_of("gifts")
_OWN = words_of("whose")
_SURPASSES = words_of("surpasses")
_EITHER = re.compile(r"\b(?:n?or|either)\b|/|か|または|もしくは|や|・")
_WAYS: Mapping[str, tuple[str, ...]] = {
    "better rated": ("rated",),
    "cheaper": ("cheaper", "less expensive", "安"), "more expensive": ("expensive", "dearer", "pricier", "高"),
    "newer": ("newer", "later", "recent", "新し"),
    "shorter": ("shorter", "fewer", "less", "短", "みじか", "少な"), "longer": ("longer", "more", "bigger", "長", "多"),
    "older": ("older", "earlier", "古", "昔"),
}  # fmt: skip
_TURNED = {"shorter": "longer", "newer": "older", "cheaper": "more expensive", "better rated": "worse rated"}
_TURNED |= {other: way for way, other in _TURNED.items()}
_FEW, _VERY_FEW, _LEAST_BETTER = 10, 2, 0.01
"""Most volumes of a title "shorter" than one of unknown length; most volumes whose refusal ("not 2 volumes") means more;
least difference to a worse rating."""


def _way_of(text: str) -> str | None:
    return next((way for way, words in _WAYS.items() if any(word in text for word in words)), None)


def _says(token: Token) -> bool:
    """Returns True if the token can tell a stance towards facts beside it. Numbers and most function words cannot."""
    if token.kind is Is.GLUE:
        return token.cjk or token.text in _TALKERS
    operator = token.operator(*POLAR)
    return (operator is not None and operator.name != "sign") or (token.kind is Is.WORD and not token.text.isdigit())


def _ends_clause(token: Token) -> bool:
    return token.kind is Is.BREAK and token.entries[0].name != "condition"


def _is_excepted(item: Item) -> bool:
    return item.chain is not None and any(each.name == "except" for each in item.chain.operators)


def _is_same(mentioned: Item, refused: Item) -> bool:
    """Returns True if a mentioned item is the refused one in other words; False for a theme called by its own name."""
    one, other = mentioned.fact, refused.fact
    if one is None or other is None or one.matter != other.matter or one.mood or mentioned.token.text == refused.token.text:
        return False
    if one.matter != "themes":  # a mention of the refused format or status is no wish for it
        return one.matter in ("format", "statuses") and one.conditions == other.conditions
    mere = mentioned.chain is None and mentioned.token.text != "".join(one.tags[:1]).casefold()
    return mere and one.tags[:1] == other.against[:1]


def _hand_over(before: Item, after: Item) -> None:
    """Gives a corrected number the bound and the stance of the number that it corrects: "nothing over 10, I mean 12"."""
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
        return both.empty and {before.stance, after.stance} <= {*_ASKED}
    one, other = before.fact, after.fact
    if one is None or other is None:
        return False
    if before.stance is not after.stance:
        tags = {*one.tags, *one.against} & {*other.tags, *other.against}
        return bool(tags) if one.matter == "themes" else one.conditions == other.conditions
    return one.matter != "themes" and one.conditions != other.conditions and before.stance in _ASKED


def _replaces(after: Item, before: Item) -> bool:
    """True if both bound the same measure on the same side, both are wanted or required, and `after` is not hedged."""
    one, other = before.token.amount, after.token.amount
    if one is None or other is None or (one.unit, one.series) != (other.unit, other.series):
        return False
    sides = [each.bound in (Bound.MOST, Bound.UNDER) for each in (one, other)]
    limits = (Bound.MOST, Bound.UNDER, Bound.LEAST, Bound.OVER)
    asked = before.stance in _ASKED and after.stance in _ASKED and not after.hedged
    return asked and one.bound in limits and other.bound in limits and sides[0] == sides[1]


def _beside(title: Title, way: str, *, than: bool, own: bool = False) -> Conditions | None:
    """Returns the conditions of a comparison with a title; None if its own value is unknown. "Shorter" is at most half its
    volumes, with `than` at least one less; at most `_FEW` if the title's length is unknown. `own`: the title's own value is
    allowed too."""
    made: Any = None
    step = 0 if own else 1
    match way:
        case "shorter" if title.volumes:
            made = Conditions(volumes=Range(None, max(1, title.volumes - step if than else title.volumes // 2)))
        case "shorter":
            made = Conditions(volumes=Range(None, _FEW))
        case "longer" if title.volumes:
            made = Conditions(volumes=Range(title.volumes + step))
        case "newer" if title.start_year:
            made = Conditions(years=Range(title.start_year + step))
        case "older" if title.start_year:
            made = Conditions(years=Range(None, title.start_year - step))
        case "better rated" if title.rating:
            made = Conditions(min_rating=title.rating + (0 if own else _LEAST_BETTER))
        case "another" if title.authors:
            made = Conditions(without_authors=tuple(author.name for author in title.authors))
        case "tamer":
            made = Conditions(without_tags=("Gore", "Horror", "Ecchi"))
    return made if isinstance(made, Conditions) else None


def audience_for(age: float) -> Audience | None:
    """Returns the audience for an age in years; None for an adult."""
    if age >= _FIRST_ADULT:
        return None
    if age >= _FIRST_OLDER_TEEN:
        return Audience.OLDER_TEEN
    return Audience.TEEN if age >= _FIRST_TEEN else Audience.ALL_AGES


def refusal_of(name: str, tokens: Sequence[Token], terms: CatalogTerms, called: NameMatches) -> Conditions:
    """Returns the conditions that exclude a normalised name: as a tag, facts, a title or an author; empty if unknown."""
    if exact := tuple(tag for tag in terms.tags if tag.casefold() == name):
        return Conditions(without_tags=exact, without_titles=called.title_ids)
    bound = Binder(tokens).bind()
    plain = all(token.kind in (Is.FACT, Is.GLUE, Is.AMOUNT, Is.BREAK) for token in tokens)
    if bound.items and plain and not (called.title_ids and " " in name):
        for item in bound.items:
            item.stance, item.chain = Stance.REFUSED, None
        found = Meaning(name, tokens, bound, terms, heard=False).read().conditions
        if found.stated:
            return found.and_also(Conditions(without_titles=called.title_ids))
    if called.title_ids:
        return Conditions(without_titles=called.title_ids)
    return Conditions(without_authors=(name,)) if called.works_by_author else Conditions()
