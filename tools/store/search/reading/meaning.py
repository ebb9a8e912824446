"""Makes the `Reading` of a text from its bound items: conditions, an ordering, and a subject to search for."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tools.store.currency import YEN, Currency
from tools.store.models import CatalogTerms, Conditions, NameMatches, Title
from tools.store.search.query.parser import without_filler
from tools.store.search.reading.binder import Binder
from tools.store.search.reading.claims import Claim, Claims
from tools.store.search.reading.items import Binding, Item, Stance
from tools.store.search.reading.reading import Reading, Understood
from tools.store.search.reading.resolver import ASKED, TALKERS, Resolver
from tools.store.search.reading.stances import Stances, Surroundings
from tools.store.search.reading.subject import EDGES, MOST_PIECES, Subject, is_searched
from tools.store.search.reading.tables import words_of
from tools.store.search.reading.tokens import Is, Token

DOUBT = "Part of what was said could not be read for sure and was not obeyed ({}): ask the customer what is meant."
BOTH = "Nothing can be both {} and {}: ask the customer which of the two is meant."
WHOM = "It is for somebody else, and nothing says what they like: ask that{}."
UNTAGGED = "No title here is tagged {}, so that nothing tells which have none of it. Say so; promise nothing."
ABSENT = "No title here is tagged with {}: what is shown was found by words alone. Say so."
_HEARD = 0.85
"""Least share of "refused" in the model's answer for an unknown word to count as refused."""
_GIFTS, _OWN = words_of("gifts"), words_of("whose")
_EITHER = re.compile(r"\b(?:n?or|either)\b|/|か|または|もしくは|や|・")


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
    said: Claims = field(init=False)

    def __post_init__(self) -> None:
        self.said = Claims(self.text, self.tokens, self.bound, self.terms, self.year, self.titles, self.currency)

    def read(self) -> Reading:
        resolver, said = Resolver(self.text, self.tokens, self.bound, self.heard), self.said
        items = resolver.resolve()
        said.gone |= resolver.gone
        for item in resolver.doubted:
            said.doubt(item)
        said.state(items)
        self._report_unbound()
        if resolver.around is not None:
            self._leave_refused_words(resolver.around, Stances.load())
        if self._asks_of_a_title():
            return Reading(self.text, self._title_names()[0], known=tuple(said.known), named=self._named())
        if said.known and not said.like and not any(item.token.amount or item.asked for item in items):
            said.like = [item.token.title_ids[0] for item in items if item.stance is Stance.KNOWN and item.token.title_ids]
        return self._reading()

    def _report_unbound(self) -> None:
        """Reports as not obeyed: a reference ("the second one") in a text that names no title or author, a refusal
        without an object in a text that states nothing else, and a refusal of unknown words. A word that refuses a name
        and states a theme itself excludes the theme's tags."""
        which = [i for i, role in self.bound.roles.items() if role.startswith("which")]
        vain = [chain.at for chain in self.bound.chains if chain.strong and chain.stance is Stance.REFUSED]
        silent = not self.bound.items and not self.said.claims
        if (which and not any(item.token.kind is Is.NAMED for item in self.bound.items)) or (vain and silent):
            at = (which or vain)[0]
            unsaid = not any(chain.words for chain in self.bound.chains if chain.strong)
            if which or unsaid:
                self.said.gone.update(range(len(self.tokens)))
                self.said.claims.append(Claim(self.tokens[at].start, self.tokens[at].end, "which is meant", obeyed=False))
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
                self.said.claims.append(Claim(token.start, token.end, f"without {' or '.join(felt.against)}", made))
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
            self.said.gone.update(range(chain.at, last + 1))
            said = self.text[self.tokens[words[0]].start : end]
            self.said.claims.append(Claim(start, end, f"without {said}", obeyed=False))
        for chain in self.bound.chains:
            if chain.strong and chain.japanese and not chain.objects and chain.stance is Stance.REFUSED:
                run = self._before(chain.at)
                if run:
                    self.said.gone.update(run)
                    said = self.text[self.tokens[run[0]].start : self.tokens[run[-1]].end]
                    self.said.claims.append(
                        Claim(self.tokens[run[0]].start, self.tokens[chain.to].end, f"without {said}", obeyed=False)
                    )

    def _leave_refused_words(self, around: Surroundings, model: Stances) -> None:
        left = self.bound.story | self.bound.used | self.said.gone
        unknown = [i for i, token in enumerate(self.tokens) if token.kind is Is.WORD and i not in left]
        for i in unknown[:MOST_PIECES]:
            if model.judge(around, i, "fact").shares["refused"] >= _HEARD:
                token = self.tokens[i]
                self.said.gone.add(i)
                self.said.claims.append(Claim(token.start, token.end, f"without {token.text}", obeyed=False))

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

    def _asks_of_a_title(self) -> bool:
        if self.said.like or not self._title_names():
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

    def _title_names(self) -> list[str]:
        return [item.token.names[0] for item in self.bound.items if item.token.title_ids and item.stance in ASKED]

    def _named(self) -> tuple[str, ...]:
        return tuple(item.token.title_ids[0] for item in self.bound.items if item.token.title_ids and item.stance in ASKED)

    def _reading(self) -> Reading:
        said = self.said
        bound = [each for each in said.claims if each.conditions.stated and not each.asked]
        stated = {name for each in bound if not each.loose for name in each.conditions.stated}
        kept = [each for each in said.claims if not (each.loose and not stated.isdisjoint(each.conditions.stated))]
        unread = not (said.claims or said.freedoms or said.gone)
        subject = Subject(self.text, self.tokens, self.bound, self.terms, said.gone, unread).words()
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
        spoken = bool(themes) and any(token.text in TALKERS for token in self.tokens)
        silent = not (said.like or spoken or understood or said.freedoms or said.absent or said.gone)
        if silent and not self._is_unknown_to_search():
            subject = self.text
        return Reading(
            text=self.text,
            subject=subject,
            conditions=conditions,
            ordering=said.ordering,
            like=tuple(dict.fromkeys(said.like)),
            known=tuple(dict.fromkeys(said.known)),
            understood=(*understood, *themes),
            vague=not without_filler(subject).strip(EDGES)
            or not any(token.kind is Is.WORD or token.fact or token.kind is Is.NAMED for token in self.tokens),
            adult=said.adult,
            freedoms=tuple(each for _, each in said.freedoms),
            remarks=remarks,
            again=self.bound.again and not said.like,
            named=self._named(),
            another=any(self._is_of_another(item) for item in self.bound.items),
            absent=tuple(said.absent),
            welcome=frozenset(said.welcome),
            endorsed=frozenset(said.endorsed),
            welcome_genres=frozenset(said.welcome_genres),
            along=tuple(said.along),
        )

    def _left(self, claim: Claim) -> Conditions:
        conditions = claim.conditions
        for at, freedom in self.said.freedoms:
            if at > claim.start and not conditions.audience:
                conditions = freedom.leaves(conditions)
        return conditions

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

    def _is_unknown_to_search(self) -> bool:
        """Returns True if the text names themes and has no unknown word, but `ThemeTable` finds none of the themes, as
        with a misspelling that only the scanner corrects: "romanse"."""
        facts = [token for token in self.tokens if token.kind is Is.FACT and token.fact and token.fact.tags]
        known = any(is_searched(self.text, token) for token in facts)
        return bool(facts) and not known and all(token.kind is not Is.WORD for token in self.tokens)

    def _remarks(self, kept: Sequence[Claim], understood: Sequence[Understood]) -> Iterator[str]:
        if doubts := [each.words for each in understood if not each.obeyed and each.words not in self.said.unsold]:
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
        if self.said.adult and any(each.conditions.audience for each in kept):
            yield BOTH.format("for adults alone", "fit for the young")
        yield from self.said.unsold.values()
        for each in self.said.untagged[:1]:
            yield UNTAGGED.format(each)
        for each in self.said.absent[:1]:
            yield ABSENT.format(f'"{each}"')


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
