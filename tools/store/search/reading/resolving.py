"""What the names of claims are, as the catalogue knows them: "except Naruto" excludes a title, "except horror" a tag."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tools.store.models import Called, CatalogTerms, Conditions
from tools.store.search.query.aversions import aversions
from tools.store.search.query.themes import Theme, ThemeTable, fold
from tools.store.search.query.wordings import GENRES
from tools.store.search.reading.claim import About, Claim

_MOST_OF_A_PERSON = 3
"""Words of a person's name."""
_LONGEST_WORDING = 80
"""Characters of a name that may be a theme's: twice what the longest of these has."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A claim whose names are known: its conditions hold what came of them."""

    claim: Claim
    like: tuple[str, ...] = ()
    known: tuple[str, ...] = ()


def resolved(claim: Claim, terms: CatalogTerms, called: Mapping[str, Called]) -> Resolved | None:
    """None where the catalogue knows none of the names: then the words state nothing."""
    if claim.about is None or not claim.names:
        return Resolved(claim)
    match claim.about:
        case About.EXCLUDED:
            if whole := _excluded(claim.names[0], terms, called):
                return _with(claim, whole)
            return _with(claim, *(part for name in claim.names[1:] if (part := _excluded(name, terms, called)) is not None))
        case About.NAMESAKE | About.EXCEPTED:
            return _either(claim, called)
        case About.PERMITTED | About.ENDURED:
            return Resolved(claim)
        case About.BY:
            authors = [name for name in claim.names if any(called.get(each, Called()).by_author for each in orders_of(name))]
            return _with(claim, *(Conditions(author=name) for name in authors[:1]))
        case _:
            return _pointed_at(claim, called)


def unchecked(claims: Iterable[Claim], terms: CatalogTerms, called: Mapping[str, Called]) -> tuple[Claim, ...]:
    """The claims where the catalogue did not say all that goes by a name: that something named is not wanted was understood
    and is not obeyed."""
    return tuple(
        replace(claim, names=(), about=None, says=f"{claim.says} (not checked)", obeyed=False)
        if claim.about in (About.EXCLUDED, About.KNOWN) and resolved(claim, terms, called) is None
        else claim
        for claim in claims
    )


def _with(claim: Claim, *parts: Conditions) -> Resolved | None:
    conditions = claim.conditions
    for part in parts:
        conditions = conditions.and_also(part)
    return Resolved(replace(claim, conditions=conditions)) if parts else None


def orders_of(name: str) -> tuple[str, ...]:
    """A person's name as it is said, and with the family name first, as catalogues have it: "naoki urasawa"."""
    words = name.split()
    return (name, " ".join((words[-1], *words[:-1]))) if 1 < len(words) <= _MOST_OF_A_PERSON else (name,)


def _excluded(name: str, terms: CatalogTerms, every: Mapping[str, Called]) -> Conditions | None:
    """A tag's wording first, and what is called so as well; then a readership, a title, an author."""
    called = every.get(name, Called())
    if tags := _tags(name, terms):
        return Conditions(without_tags=tags, without_titles=called.title_ids)
    if genre := next((genre for genre, wording in GENRES.items() if wording.fullmatch(name)), None):
        return Conditions(without_genres=(genre,))
    if called.title_ids:
        return Conditions(without_titles=called.title_ids)
    made = any(every.get(order, Called()).by_author for order in orders_of(name))
    return Conditions(without_authors=(name,)) if made else None


def _either(claim: Claim, called: Mapping[str, Called]) -> Resolved:
    """The claim of a theme, which title goes by its words besides, or instead."""
    titles = called.get(claim.names[0], Called()).title_ids
    if not titles:
        return Resolved(claim)
    excluded = Conditions(without_titles=titles)
    if claim.about is About.EXCEPTED and " " in claim.names[0]:
        return Resolved(replace(claim, conditions=excluded, says=f"without {claim.names[0]}", obeyed=True))
    return Resolved(replace(claim, conditions=claim.conditions.and_also(excluded), obeyed=True))


def _tags(name: str, terms: CatalogTerms) -> tuple[str, ...]:
    """The catalogue's tags that the whole of the name is a wording of: their own names, what readers call what they would
    rather not read ("violence", エロ), themes."""
    if len(name) > _LONGEST_WORDING:
        return ()
    if exact := tuple(tag for tag in terms.tags if tag.casefold() == name):
        return exact
    unwanted = aversions().get(fold(name))
    said = [(*unwanted.tags, *unwanted.also)] if unwanted else [theme.tags for theme in _themes(name)]
    return tuple(dict.fromkeys(tag for tags in said for tag in tags if tag in terms.tags or not terms.tags))


def _themes(name: str) -> list[Theme]:
    return [theme for theme in ThemeTable.load().themes(name) if 2 * len(theme.phrase) > len(name.replace(" ", ""))]


def _pointed_at(claim: Claim, called: Mapping[str, Called]) -> Resolved | None:
    titles = [called[name].title_ids for name in claim.names if name in called and called[name].title_ids]
    if called.get(claim.names[0], Called()).title_ids:
        titles = titles[:1]
    if not titles:
        return None
    every = tuple(dict.fromkeys(title_id for ids in titles for title_id in ids))
    outcome = _with(claim, Conditions(without_titles=every))
    likened = tuple(ids[0] for ids in titles) if claim.about is About.LIKE else ()
    return replace(outcome, like=likened, known=every) if outcome else None
