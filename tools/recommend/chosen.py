"""Chooses the titles to recommend: candidates, exclusions, variety, and the reason for each title."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from tools.conditions.finding import find, relax_conditions, search_each_theme
from tools.conditions.wanted import Want, describe_likeness
from tools.contract import Json, ToolContext
from tools.recommend.taste import CustomerTaste, Did, customer_taste, disliked_titles, gather_two, reader_of, titles_named
from tools.recommend.wish import Wish, wish_of
from tools.results.rows import TAGS, author_name
from tools.store.failures import BackendFailure
from tools.store.models import Conditions, ReaderQuery, Title
from tools.store.search.conditions.check import status_of
from tools.store.search.ranking.candidates import in_order
from tools.store.search.ranking.names import series_keys
from tools.store.search.text.characters import normalise
from tools.store.search.titles.names import NameKeys

MOST_TAGS = 3


def reason(title: Title, wish: Wish, customer: CustomerTaste) -> str:
    """Returns a reason in a few English words, possibly "": how the title fits the request, what it shares with titles that
    the customer knows, and how popular or well rated it is."""
    fitting = [tag for tag in title.tags[:TAGS] if tag in wish.themes][:MOST_TAGS]
    parts = [*([f"has {', '.join(fitting)}"] if fitting else ()), *_list_conditions_met(title, wish.want.conditions)]
    if shared := _name_shared_fact(title, customer):
        parts.append(shared)
    elif not parts and title.tags and (wish.search or customer.known or title.popularity_rank is None):
        parts.append(f"has {', '.join(title.tags[:MOST_TAGS])}")
    rated = [f"Rated {title.rating:g} of 5."] if title.rating is not None and title.rating >= 4.0 else []
    sentence = "; ".join(parts)
    return " ".join([sentence[0].upper() + sentence[1:] + ".", *rated]) if parts else popularity_sentence(title, rated)


def popularity_sentence(title: Title, rated: Sequence[str] = ()) -> str:
    ranked = [f"Number {title.popularity_rank} in popularity."] if title.popularity_rank is not None else []
    return " ".join([*ranked, *rated])


def _list_conditions_met(title: Title, asked: Conditions) -> Iterator[str]:
    """Yields the title's facts for the stated conditions, such as "by NAME" or "9 volumes"."""
    if asked.genres and title.genre:
        yield title.genre
    if asked.author and title.authors:
        yield f"by {', '.join(map(author_name, title.authors))}"
    if asked.statuses and (status := status_of(title)):
        yield status.value
    if asked.volumes and title.volumes:
        yield "1 volume" if title.volumes == 1 else f"{title.volumes} volumes"
    if asked.years and title.start_year:
        yield f"from {title.start_year}"
    if asked.magazines and title.magazine:
        yield f"ran in {title.magazine}"


def _name_shared_fact(title: Title, customer: CustomerTaste) -> str | None:
    if title.title_id in customer.viewed_ids:
        return "you looked at it before"
    for known in customer.known:
        theirs = {author.name for author in known.title.authors}
        if same := next((author for author in title.authors if author.name in theirs), None):
            return f"by {author_name(same)}, who also made {known.title.display}, which you {known.did}"
    tags = frozenset(title.tags[:TAGS])
    alike = max(customer.known, key=lambda known: len(tags.intersection(known.title.tags)), default=None)
    shared = [tag for tag in title.tags[:TAGS] if tag in alike.title.tags] if alike else []
    if alike and len(shared) >= 2:
        return f"shares {', '.join(shared[:MOST_TAGS])} with {alike.title.display}, which you {alike.did}"
    return None


def leave_out(titles: Iterable[Title], ids: frozenset[str], names: frozenset[str]) -> Iterator[Title]:
    """Yields the titles without those whose id is in `ids`, or one of whose names, in any script, is in `names`, which are
    normalised: once per call, since fifty long ones take a millisecond."""
    for title in titles:
        own = filter(None, (title.en, title.romaji, title.ja, title.kana, *title.alt_titles))
        if title.title_id not in ids and not (names and any(normalise(name) in names for name in own)):
            yield title


# Selection of the titles to show together: one per series, few by one author, and not all alike.
#
# The selection is greedy, by maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998): each step takes the title
# with the best balance of rank and difference from the titles selected before.


MOST_BY_AUTHOR = 2
LOOKED_AT = 5
"""Candidates that are compared for each title to show."""


def vary_titles(titles: Sequence[Title], count: int, beside: Sequence[Title] = (), *, ordered: bool = False) -> list[Title]:
    """Selects up to `count` of the first `LOOKED_AT` × `count` titles: at most one per series, none of a series in `beside`,
    at most two by one author. Favours titles unlike those selected before; `ordered` titles keep their order. Blocks the
    thread: comparing names takes about a millisecond per title."""
    among = titles[: max(1, count) * LOOKED_AT]
    left, nearest = list(enumerate(among)), [0.0] * len(among)
    chosen: list[Title] = []
    series = list(map(_with_keys, beside))
    while left and len(chosen) < count:
        best = left[0] if ordered else max(left, key=lambda each: _value(each[0], nearest[each[0]]))
        left.remove(best)
        if _too_many_by_author(best[1], chosen):
            continue
        keyed = _with_keys(best[1])
        if not any(_are_one_series(keyed, other) for other in series):
            chosen.append(best[1])
            series.append(keyed)
            for rank, title in left:
                nearest[rank] = max(nearest[rank], _likeness(title, best[1]))
    return chosen


_Keyed = tuple[Title, tuple[str, ...], tuple[str, ...]]


def _with_keys(title: Title) -> _Keyed:
    """Returns the title, the phonetic keys of its names, and those keys that are long enough to identify a series."""
    names = NameKeys.of(title).all
    return title, names, series_keys(names)


def _are_one_series(one: _Keyed, other: _Keyed) -> bool:
    """Returns True if the catalogue relates the titles, or if a name of one begins with an identifying name of the other."""
    (title, names, begun), (another, their_names, their_begun) = one, other
    if title.title_id == another.title_id or title.title_id in another.related or another.title_id in title.related:
        return True
    return any(name.startswith(their_begun) for name in names) or any(name.startswith(begun) for name in their_names)


def _too_many_by_author(title: Title, chosen: Sequence[Title]) -> bool:
    theirs = {author.name for author in title.authors}
    return sum(not theirs.isdisjoint(author.name for author in each.authors) for each in chosen) >= MOST_BY_AUTHOR


def _value(rank: int, nearest: float) -> float:
    """Returns the value of the title at `rank`, reduced by up to a quarter by `nearest`, its greatest likeness (0 to 1) to a
    selected title."""
    return (1 - 0.25 * nearest) / (10 + rank)


def _likeness(one: Title, other: Title) -> float:
    """Returns the Jaccard similarity of the titles' tags, from 0 to 1."""
    ours, theirs = set(one.tags), set(other.tags)
    return len(ours & theirs) / len(ours | theirs) if ours and theirs else 0.0


CANDIDATES = 60
SLOPE = 5.0
"""Rank in a search at which a title fits half as well as the first one."""


@dataclass(frozen=True, slots=True)
class Hits:
    """Titles of a search, best first. `wish`: the request without the conditions that the search dropped; `dropped`: those
    conditions, in words."""

    titles: tuple[Title, ...]
    wish: Wish
    dropped: tuple[str, ...] = ()


async def search_candidates(context: ToolContext, wish: Wish) -> Hits:
    """Searches for titles that fit the request by its search words; finds nothing if it has none. A request for titles
    like a single one is searched for by its text instead, since ranking by taste needs several liked titles."""
    if wish.like_one:
        found = await find(context, replace(wish.want, offset=0), CANDIDATES)
        return Hits(() if found.page.guessed or found.dropped else found.page.titles, wish)
    if not wish.search:
        return Hits((), wish)
    found = await find(context, replace(wish.want, text=wish.search, offset=0), CANDIDATES)
    if found.page.titles and not found.page.guessed and found.want.text == wish.search:
        return Hits(found.page.titles, replace(wish, want=found.want), found.dropped)
    page = await search_each_theme(context, replace(wish.want, text=wish.search), CANDIDATES)
    return Hits(() if page is None else page.titles, wish)


Allowed = Callable[[Iterable[Title]], Iterable[Title]]
"""Leaves out the titles that are excluded."""


async def candidates(
    context: ToolContext, hits: Hits, customer: CustomerTaste, allowed: Allowed, count: int
) -> tuple[tuple[Title, ...], Hits]:
    """Returns titles that pass `allowed`, best first, and the hits that were used. Widens the query until it finds `count`
    titles. If no title satisfies all conditions, drops some conditions, also from the returned hits. Raises `BackendFailure`
    if the catalogue fails and there are no hits."""
    found: dict[str, Title] = {}
    for query in _queries(hits, customer):
        if len(found) < count:
            titles = await _to_taste(context, query, hits.titles)
            found.update((title.title_id, title) for title in allowed(titles))
    if found or hits.dropped:
        return tuple(found.values()), hits
    instead = await relax_conditions(context, replace(hits.wish.want, text="", offset=0), 1)
    if instead is None:
        return (), hits
    wider = Hits((), replace(hits.wish, want=instead.want), instead.dropped)
    return await candidates(context, wider, customer, allowed, count)


def _queries(hits: Hits, customer: CustomerTaste) -> list[ReaderQuery]:
    """Returns the catalogue queries to try in turn, narrowest first."""
    wish, reader = hits.wish, reader_of(customer)
    known = tuple(dict.fromkeys((*reader.known, *wish.want.known, *wish.want.like)))
    wide = replace(reader, limit=CANDIDATES, conditions=wish.want.conditions, known=known, unwanted=wish.unwanted)
    queries = [wide]
    if wish.themes:
        queries.insert(0, replace(wide, wanted=wish.wanted, mood=wish.mood))
    if hits.titles:
        fits = {title.title_id: SLOPE / (SLOPE + place) for place, title in enumerate(hits.titles)}
        # Titles that were only viewed do not answer "something I would like", but may answer a search.
        unseen = tuple(each for each in known if each not in customer.viewed_ids)
        queries.insert(0, replace(wide, fits=fits, known=unseen))
    return queries


async def _to_taste(context: ToolContext, query: ReaderQuery, hits: Sequence[Title]) -> Sequence[Title]:
    """Returns titles ranked by taste. If the catalogue fails, adds "taste" to `degraded` and returns the hits in their
    own order for a query with `fits`, () for any other query. Raises `BackendFailure` if it fails and there are no hits:
    the tool's fallback then has better titles."""
    try:
        return await context.store.catalog.for_reader(query, context.deadline)
    except BackendFailure:
        if not hits:
            raise
        context.degraded.add("taste")
        return [title for title in hits if title.title_id not in query.known] if query.fits is not None else ()


PAGE = 10
"""Most titles that are shown at once."""
FURTHEST = 60
"""Most titles recommended for a wish, however far the caller pages, since each is compared with all chosen before it."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The chosen titles. `fits`: whether any of them fits the request. `dropped`: the dropped conditions, in words."""

    titles: Sequence[Title]
    wish: Wish
    customer: CustomerTaste
    fits: bool
    dropped: tuple[str, ...] = ()


async def choose(context: ToolContext, want: Want, asked: Json, most: int) -> Chosen:
    """Chooses `most` titles, rounded up to whole pages of `PAGE` and at most `FURTHEST`, so that a later call for more
    titles continues the same list. Leaves out titles that the customer owns, names as liked or known, or refuses. Raises
    `BackendFailure`."""
    most = min(most, FURTHEST)
    count = PAGE * -(-most // PAGE)
    terms = await context.store.reader.terms(context.deadline)
    want = await _comparing(context, want)
    excluded = asked["exclude_titles"]
    # On a thread: the first call loads tables from files, and many long names take long.
    wish, names = await asyncio.to_thread(lambda: (wish_of(want, terms.tags), frozenset(map(normalise, excluded))))
    hits, customer = await gather_two(search_candidates(context, wish), _customer(context, wish, asked))
    if customer.named and not hits.wish.like_one:
        hits = replace(hits, titles=())  # they match only the names of the liked titles
    unwanted = frozenset((*customer.owned, *customer.named, *want.known, *want.like, *excluded))
    allowed = partial(leave_out, ids=unwanted, names=names)
    found, hits = await candidates(context, hits, customer, allowed, count)
    compared = [each.title for each in customer.known if each.did is Did.NAMED]
    if want.ordering is not None:
        found = in_order(found, want.ordering)
    titles = await asyncio.to_thread(vary_titles, found, count, compared, ordered=want.ordering is not None)
    if len(titles) < most:
        index, chosen = context.store.popular.index, {title.title_id for title in titles}
        popular = allowed(index.list_ordered(hits.wish.want.conditions, want.ordering, len(index.titles)))
        more = islice((title for title in popular if title.title_id not in chosen), count)
        titles = await asyncio.to_thread(vary_titles, [*titles, *more], count, compared, ordered=want.ordering is not None)
    return Chosen(titles, hits.wish, customer, _fits(hits, titles, customer), hits.dropped)


async def _comparing(context: ToolContext, want: Want) -> Want:
    """Adds to `like` the titles that the text names. If `like` is then empty, takes the titles that the customer knows,
    unless the text states other conditions, or themes that no title has. Rewords the text to ask for titles like the
    first."""
    known = () if want.conditions.but("without_titles").stated or want.absent else want.known
    like = tuple(dict.fromkeys((*want.like, *want.named))) or known
    if like == want.like:
        return want
    text = await describe_likeness(context, like, want.text)
    return replace(want, like=like, text=text, beside=want.beside if want.like else "")


async def _customer(context: ToolContext, wish: Wish, asked: Json) -> CustomerTaste:
    """Returns the taste to choose by: only the liked titles that the customer named or, without any, the customer's
    taste. Their taste does not count for another reader, but titles that the customer owns are still excluded."""
    without = wish.want.conditions.without_titles
    (known, disliked), named = await gather_two(
        gather_two(customer_taste(context), disliked_titles(context, asked["exclude_titles"], without)),
        titles_named(context, wish.want.like),
    )
    if wish.want.another:
        known = CustomerTaste(owned=known.owned)
    return replace(known, disliked=disliked).by_named_alone(named)


def _fits(hits: Hits, titles: Sequence[Title], customer: CustomerTaste) -> bool:
    """True if the search found one of the titles, if one has a requested tag, or if the customer named liked titles."""
    wanted = hits.wish.themes
    found = {title.title_id for title in hits.titles}
    return bool(customer.named) or any(t.title_id in found or not wanted.isdisjoint(t.tags) for t in titles)
