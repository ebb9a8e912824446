"""The titles to recommend, and the basis of their choice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tools.conditions.wanted import Want
from tools.contract import Json, ToolContext
from tools.recommend.candidates import Hits, candidates, search_candidates, tags_known
from tools.recommend.customer import customer_taste, disliked_titles, titles_named
from tools.recommend.excluded import Excluded
from tools.recommend.taste import CustomerTaste, Did
from tools.recommend.together import both
from tools.recommend.variety import vary_titles
from tools.recommend.wish import Wish, wish_of
from tools.store.models import Title
from tools.store.search.ranking.orderings import in_order

PAGE = 10
"""Most titles that are shown at once."""
FURTHEST = 60
"""Titles that are recommended of, however far somebody pages: each is compared with all that were chosen before it."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """`fits`: whether any of the titles fits the wish. `let_go`: conditions that they do not satisfy, in words."""

    titles: Sequence[Title]
    wish: Wish
    customer: CustomerTaste
    fits: bool
    let_go: tuple[str, ...] = ()

    @property
    def nothing_fits(self) -> bool:
        return self.wish.asks and not self.fits


async def choose(context: ToolContext, want: Want, asked: Json, most: int) -> Chosen:
    """`most` titles or some more, whole pages of them, so that who asks for more goes on where the page before ended; no
    more than `FURTHEST`. Never a title that the customer owns, names as liked or known, or wants left out."""
    most = min(most, FURTHEST)
    count = PAGE * -(-most // PAGE)
    tags = await tags_known(context)
    want = await _comparing(context, want)
    # Beside the event loop: the first one reads its tables.
    wish = await asyncio.to_thread(wish_of, want, tags)
    hits, customer = await both(search_candidates(context, wish), _customer(context, wish, asked))
    hits, customer = _compare_with_named(hits, customer)
    unwanted = (*customer.owned, *customer.named, *want.known, *want.like)
    excluded = Excluded(unwanted, asked["exclude_titles"])
    found, hits = await candidates(context, hits, customer, excluded, count)
    compared = [each.title for each in customer.known if each.did is Did.NAMED]
    if want.ordering is not None:
        found = in_order(found, want.ordering)
    titles = await asyncio.to_thread(vary_titles, found, count, compared, ordered=want.ordering is not None)
    if len(titles) < most:
        popular = context.store.popular
        more = excluded.and_these(titles).first(
            popular.index.list_ordered(hits.wish.conditions, want.ordering, len(popular.index.titles)), count
        )
        titles = await asyncio.to_thread(vary_titles, [*titles, *more], count, compared, ordered=want.ordering is not None)
    return Chosen(titles, hits.wish, customer, _fits(hits, titles, customer), hits.let_go)


async def _comparing(context: ToolContext, want: Want) -> Want:
    """The want, with all unrefused named titles to compare with; titles that are only known, if there are no others."""
    known = () if want.conditions.but("without_titles").stated or want.absent else want.known
    like = tuple(dict.fromkeys((*want.like, *want.named))) or known
    if like == want.like:
        return want
    names = await context.store.names.read_names(like[:1], context.store.titles, context.deadline)
    text = f"manga like {names[like[0]]}" if names else want.text
    return replace(want, like=like, text=text, beside=want.beside if want.like else "")


async def _customer(context: ToolContext, wish: Wish, asked: Json) -> CustomerTaste:
    """The taste to choose by. Titles for somebody else are not chosen by the caller's shelf; titles that the caller
    owns are left out all the same."""
    without = wish.conditions.without_titles
    (known, disliked), named = await both(
        both(customer_taste(context), disliked_titles(context, asked["exclude_titles"], without)),
        titles_named(context, wish.want.like),
    )
    if wish.another:
        known = CustomerTaste(owned=known.owned)
    return replace(known, disliked=disliked).with_named(named)


def _compare_with_named(hits: Hits, customer: CustomerTaste) -> tuple[Hits, CustomerTaste]:
    """Titles named as liked replace the rest of the customer's taste; hits by their names are dropped."""
    if customer.named and not hits.wish.like_one:
        hits = replace(hits, titles=())
    return hits, customer.by_named_alone()


def _fits(hits: Hits, titles: Sequence[Title], customer: CustomerTaste) -> bool:
    """True if the wish has a part in the choice."""
    wanted = hits.wish.themes
    found = {title.title_id for title in hits.titles}
    return bool(customer.named) or any(t.title_id in found or not wanted.isdisjoint(t.tags) for t in titles)
