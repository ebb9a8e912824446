"""States what each item of a text asks for: a condition, a freedom, an ordering, or a title to resemble or to leave out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tools.store.currency import YEN, Currency
from tools.store.models import Audience, CatalogTerms, Conditions, Ordering, Range, Title
from tools.store.search.conditions.wording import describe_condition
from tools.store.search.reading.comparisons import compare_with, find_comparison
from tools.store.search.reading.items import Binding, Item, Stance
from tools.store.search.reading.reading import Freedom
from tools.store.search.reading.tables import words_of
from tools.store.search.reading.tokens import NOTHING, Amount, Bound, Is, Sense, Token

UNSOLD = "No title here is recorded as {}. Say so; promise nothing of it."
_OR, _SURPASSES = words_of("either"), words_of("surpasses")
_FIRST_TEEN, _FIRST_OLDER_TEEN, _FIRST_ADULT = 13, 16, 18
_VERY_FEW = 2
"""A refusal of at most this many volumes ("not 2 volumes") asks for more volumes."""
_FREED = {
    "price": ("price", "series_price"), "length": ("volumes",), "status": ("statuses",), "time": ("years",),
    "rating": ("min_rating",),
    "stock": ("in_stock", "all_volumes"), "format": ("format",), "audience": ("audience",),
    "themes": ("tags", "without_tags"), "publisher": ("magazines", "without_magazines"),
}  # fmt: skip


@dataclass(slots=True)
class Claim:
    """The condition that one item states. `says` is its English description, `start` and `end` the span of its words. A
    `loose` claim gives way to others about the same fields. A claim not `obeyed` is only reported. `asked`: tags of a wanted
    theme."""

    start: int
    end: int
    says: str
    conditions: Conditions = NOTHING
    obeyed: bool = True
    loose: bool = False
    stance: Stance = Stance.WANTED
    asked: tuple[str, ...] = ()


@dataclass(slots=True)
class Claims:
    """Everything that the items of a text state. `gone` are the indexes of tokens that are not searched for."""

    text: str
    tokens: Sequence[Token]
    bound: Binding
    terms: CatalogTerms
    year: int
    titles: Mapping[str, Title]
    currency: Currency = YEN
    gone: set[int] = field(default_factory=set)
    claims: list[Claim] = field(default_factory=list)
    freedoms: list[tuple[int, Freedom]] = field(default_factory=list)
    like: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    ordering: Ordering | None = None
    adult: bool = False
    absent: list[str] = field(default_factory=list)
    untagged: list[str] = field(default_factory=list)
    unsold: dict[str, str] = field(default_factory=dict)
    welcome: set[str] = field(default_factory=set)
    endorsed: set[str] = field(default_factory=set)
    welcome_genres: set[str] = field(default_factory=set)
    along: list[tuple[str, frozenset[str]]] = field(default_factory=list)

    def state(self, items: Sequence[Item]) -> None:
        """Adds what the items state, and then the comparisons with their titles."""
        wanted = [item.fact for item in items if item.fact and item.asked]
        asked = {tag for fact in wanted for tag in fact.tags}
        plain = {tag for fact in wanted if not fact.mood for tag in fact.tags}
        aged = [item for item in items if item.token.amount is not None and item.token.amount.unit == "age"]
        for item in items:
            if item.hedged or item.matter == "unheld" or self._is_surpassed(item):
                self.doubt(item)
            elif item.token.kind is Is.NAMED:
                self._add_name(item)
            elif item.token.amount is not None:
                self._add_amount(item)
            elif item.freed:
                if item.stance is Stance.FREE:
                    self._free(item, Freedom(matters=_FREED[item.freed]))
            elif item.fact is not None and item.fact.matter == "themes":
                self._add_theme(item, asked, plain)
            elif item.fact is not None and not (item.fact.matter == "audience" and aged):
                self._add_fact(item)
            elif item.fact is not None:
                self.gone.add(item.at)
        self._part_groups()
        self._add_comparisons()

    def _part_groups(self) -> None:
        """Leaves out of a wanted group of tags those that another claim asks for itself: "war military" is War and Military,
        although "war" alone is War or Military."""
        for i, claim in enumerate(self.claims):
            others = {tag for each in self.claims if set(each.asked) < set(claim.asked) for tag in each.asked}
            if others and claim.asked[0] not in others:
                group = tuple(tag for tag in claim.asked if tag not in others)
                says, made = " or ".join(group[:3]), Conditions(tags=(group,))
                self.claims[i] = replace(claim, says=says, conditions=made, asked=group)

    def _is_surpassed(self, item: Item) -> bool:
        """Returns True if the item stands in a negated comparison, which may be praise or the opposite: "couldn't be happier
        than with cats", ゾンビほど怖いものはない."""
        chain = item.chain
        if chain is None or item.fact is None or not chain.negated:
            return False
        if item.token.cjk:
            return any(token.text in _SURPASSES for token in self.tokens[item.at + 1 : item.at + 3])
        return any(token.text.split(" ")[-1] in _SURPASSES for token in self.tokens[chain.to + 1 : item.at])

    def _add_name(self, item: Item) -> None:
        token = item.token
        ids, name = token.title_ids, token.names[0]
        person = any(
            self.bound.roles.get(k, "").startswith("name:person") or self.bound.roles.get(k, "").startswith("name:hand")
            for k in range(item.at - 2, item.at + 3)
        )
        if not ids and person and self._is_its_author(item):
            self.gone.add(item.at)
            return
        unwanted = Conditions(without_titles=ids) if ids else Conditions(without_authors=(name,))
        if item.stance is Stance.FREE and any(
            each.token.names == token.names and each.stance is Stance.REFUSED for each in self.bound.items
        ):
            self._free(item, Freedom(unneeded=unwanted))  # "not by Urasawa. Actually, Urasawa is fine"
            return
        if item.stance is Stance.REFUSED:
            if ids:
                self._add(item, unwanted, f"without {name}")
                if any(each.operator(Sense.LIKE) for each in self.tokens[max(0, item.at - 1) : item.at + 2]):
                    self.doubt(item)  # "nothing like Naruto"
            else:
                self._add(item, unwanted, f"not by {name}")
            return
        title = self.titles.get(ids[0]) if ids else None
        if ids and person and title is not None and title.authors and item.stance is Stance.WANTED:
            author = title.authors[0].name
            self._add(item, Conditions(author=author, without_titles=ids), f"by {author}")
            return
        if not ids:
            if item.stance is Stance.KNOWN:
                self._add(item, unwanted, f"not by {name}")
            else:
                self._add(item, Conditions(author=name), f"by {name}")
            return
        if item.but and any(each.at > item.at and each.token.kind is not Is.NAMED for each in self.bound.items):
            item.stance = Stance.LIKED
        if item.stance is Stance.LIKED:
            self.like.append(ids[0])
            self.known.extend(ids)
            self._add(item, unwanted, f"like {name}")
        elif item.stance is Stance.KNOWN:
            self.known.extend(ids)
            self._add(item, unwanted, f"without {name}")

    def _is_its_author(self, item: Item) -> bool:
        """Returns True if the author only identifies the title before it, which is refused, liked or known: "without
        Monster by Naoki Urasawa"."""
        before = self.tokens[max(0, item.at - 2) : item.at]
        held = next((each for each in self.bound.items if before and each.token is before[0]), None)
        told = (Stance.REFUSED, Stance.KNOWN, Stance.LIKED)
        return held is not None and bool(held.token.title_ids) and held.stance in told

    def _add_amount(self, item: Item) -> None:
        amount = item.token.amount
        if amount is None:
            return None
        if amount.unit == "foreign":
            return self.doubt(item)
        if item.limited and amount.bound in (None, Bound.EXACT, Bound.ABOUT) and item.stance is not Stance.REFUSED:
            amount = Amount(amount.unit, Bound.MOST, amount.least, None, amount.series, amount.step)
        unless = item.chain is not None and any(each.name == "unless" for each in item.chain.operators)
        if unless and amount.bound in (None, Bound.EXACT, Bound.ABOUT):  # 10巻ないと嫌
            amount = replace(amount, bound=Bound.LEAST)
        if item.stance is Stance.REFUSED:
            few = amount.unit == "volumes" and amount.bound is None and amount.least <= _VERY_FEW
            turned = Amount(amount.unit, Bound.OVER, amount.least) if few else amount.turned()
            if turned is None:
                return self.doubt(item)
            amount = turned
        conditions = self._of_amount(item, amount)
        if conditions is None:
            return None
        if item.stance is Stance.FREE and self._is_burden(item, amount):
            return self._free(item, Freedom(allowed=conditions))
        self._add(item, conditions)
        return None

    def _is_burden(self, item: Item, amount: Amount) -> bool:
        """Returns True if to free the amount asks for nothing: a plain one, a bound that need not be kept, and much of what
        costs money or room: "over 20 volumes is fine". "Under 20 is fine" asks for at most so many."""
        operators = item.chain.operators if item.chain is not None else ()
        need_not = any(each.sense in (Sense.NOT, Sense.REQUIRE) or each.name == "need" for each in operators)
        much = amount.bound in (Bound.LEAST, Bound.OVER) and amount.unit in ("volumes", "money")
        return amount.bound is None or need_not or much

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
                since = self.year - amount.least
                return Conditions(years=Range(None, since - 1) if amount.bound is Bound.UNDER else Range(since))
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

    def _add_fact(self, item: Item) -> None:
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
            self.doubt(item)
            self.unsold[self.claims[-1].says] = UNSOLD.format(fact.says)
            return None
        if refused:
            if fact.opposite_ordering is not None:
                self.ordering = self.ordering or fact.opposite_ordering
                return self._add(item, NOTHING, "cheapest first")
            if fact.opposite is None:
                return self.doubt(item)
            return self._add(item, fact.opposite, loose=fact.loose)
        if fact.adult:
            self.adult = True
        if fact.ordering is not None:
            self.ordering = self.ordering or fact.ordering
        self.welcome_genres.update(fact.conditions.genres)
        return self._add(item, fact.conditions, fact.says, loose=fact.loose)

    def _freedom(self, item: Item, conditions: Conditions) -> Freedom:
        chain = item.chain
        said = "" if chain is None else self.text[self.tokens[chain.at].start : self.tokens[chain.to].end]
        need_not = chain is not None and any(each.sense in (Sense.NOT, Sense.REQUIRE) for each in chain.operators)
        need_not = need_not or any(word in said for word in ("need", "required", "necessary", "optional", "なくて"))
        return Freedom(unneeded=conditions) if need_not else Freedom(allowed=conditions)

    def _add_theme(self, item: Item, asked: set[str], plain: set[str]) -> None:
        """Adds the claim of a theme by its stance. `asked` are the tags of all wanted facts, `plain` those of wanted facts
        other than moods. A refused theme excludes its tags except wanted ones. If all are wanted, it excludes all of them,
        but a mild refusal ("not too scary") may exclude none. A wanted mood does not protect the tag that the theme
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
        if not item.asked:
            called = "" if fact.mood else next((tag for tag in fact.against if tag in self.terms.tags), "")
            tags = tuple(tag for tag in fact.against if tag not in (plain if tag == called else asked)) or (
                () if fact.also and item.mild else fact.against
            )
            also = () if item.mild else tuple(tag for tag in fact.also if tag not in asked)
            here = tuple(dict.fromkeys(tag for tag in (*tags, *also) if tag in self.terms.tags or not self.terms.tags))
            if not fact.against:
                return self.doubt(item)
            held = self.terms.tags.keys() & {*fact.against, *fact.also} if self.terms.tags else not self.terms.titles
            if not held:
                self.untagged.append(fact.against[0])
            elif not here:  # "horror, but not too scary"
                return self.gone.add(item.at)
            says = f"without {' or '.join(here or fact.against[:1])}"
            return self._add(item, Conditions(without_tags=here), says)
        if fact.alone:
            return None
        if fact.mood and not fact.tags:  # "new to manga": no tags to ask for, only tags to exclude
            left_out = tuple(tag for tag in fact.also if tag in self.terms.tags)
            return self._add(item, Conditions(without_tags=left_out), f"{fact.says}: without {' or '.join(left_out)}")
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

    def _add_comparisons(self) -> None:
        """Adds the claims of comparisons with a title: "shorter than GTO", ナルトより短い, "like Berserk but tamer"."""
        if not any(item.token.title_ids for item in self.bound.items):
            return
        for i, token in enumerate(self.tokens):
            named = find_comparison(self.tokens, self.bound.items, i)
            entry = token.entry(Is.RELATIVE)
            if named is not None:
                way, title = named[0], self.titles.get(named[1].token.title_ids[0])
                self.gone.update((i, named[1].at))
                if title is None:
                    continue
                self.like = [
                    each for each in self.like if each not in named[1].token.title_ids or named[1].stance is Stance.LIKED
                ]
                made = compare_with(title, way, than=True, own=named[2])
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
                made = compare_with(title, entry.name, than=False) if title else None
                self.gone.add(i)
                self.claims = [each for each in self.claims if not (each.start == token.start and each.loose)]
                if made is not None and title is not None:
                    self.claims.append(Claim(token.start, token.end, f"{entry.name} than {title.display}", made))

    def _add(self, item: Item, conditions: Conditions, says: str = "", *, loose: bool = False) -> None:
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

    def doubt(self, item: Item) -> None:
        self.gone.add(item.at)
        start, end = self._span(item)
        self.claims.append(Claim(start, end, self.text[start:end], obeyed=False))

    def _span(self, item: Item) -> tuple[int, int]:
        start, end = item.token.start, item.token.end
        if item.chain is not None and item.chain.objects and item.stance is not Stance.WANTED:
            first, last = self.tokens[item.chain.at], self.tokens[item.chain.to]
            if len(item.chain.objects) == 1 and abs(first.start - start) < 60:
                return min(start, first.start), max(end, last.end)
        return start, end

    def _words(self, item: Item) -> str:
        return self.text[item.token.start : item.token.end]


def audience_for(age: float) -> Audience | None:
    """Returns the audience for an age in years; None for an adult."""
    if age >= _FIRST_ADULT:
        return None
    if age >= _FIRST_OLDER_TEEN:
        return Audience.OLDER_TEEN
    return Audience.TEEN if age >= _FIRST_TEEN else Audience.ALL_AGES
