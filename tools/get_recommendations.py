from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from session.begin import result_set_name
from session.history import RECOMMENDATIONS
from tools.conditions.arguments import CONDITIONS, FACTS, SPELLED, contradictions
from tools.conditions.offers import MORE, PENDING, SALE, Pending, with_offers
from tools.conditions.wanted import NEXT_OFFSET, UNDERSTOOD, describe_understood, next_offset, read_want
from tools.contract import CachePolicy, Fallback, Json, Tool, ToolContext
from tools.recommend.chosen import Chosen, choose, leave_out, popularity_sentence, reason
from tools.recommend.taste import read_purchases
from tools.results import shortening as worth
from tools.results.rows import list_shown, title_row
from tools.schema.parts import STRING, STRINGS, TITLE_ROW, answer, argument, arguments, join_notes, list_of
from tools.store.failures import DependencyFailure
from tools.store.models import Title
from tools.store.search.text.characters import normalise

INPUT = arguments(
    {
        "criteria": argument("string", "What they like: themes, mood, titles, authors.", minLength=1, maxLength=500),
        "user_id": argument("string", "Leave it out.", minLength=1, maxLength=255),
        "exclude_titles": argument(
            "array",
            "Titles, by id or name.",
            items={"type": "string", "minLength": 1, "maxLength": 300},
            maxItems=50,
            default=[],
        ),
        "count": argument("integer", "How many.", minimum=1, maximum=10, default=3),
        **CONDITIONS,
    },
    required=["criteria"],
)

_CARD = {
    **TITLE_ROW,
    "properties": {**TITLE_ROW["properties"], "reason": STRING},
}

OUTPUT = answer(
    {
        "recommendations": list_of(_CARD),
        "based_on": STRINGS,
        "result_set": STRING,
        **UNDERSTOOD,
        **NEXT_OFFSET,
    },
    required=["recommendations", "result_set"],
)

NOTHING_FITS = "No title fits the criteria: these follow based_on alone. Say so, or ask the customer for other words."
NO_HISTORY = "This customer's earlier titles are unknown: say so, and ask which title they mean."
NOTHING_LEFT = "Nothing is left under these conditions. Say so, and ask which of them could go."
MAY_BE_OWNED = "The customer's own titles cannot be read right now and may be among these: say so."
INSTEAD = "these are popular titles that satisfy the conditions."
UNAVAILABLE = f"Personal recommendations are not available right now: {INSTEAD}"
TURN_OVER = f"Nothing was looked for, because the time for this turn is over: {INSTEAD}"


async def recommend(context: ToolContext, asked: Json) -> Json:
    want, most = await read_want(context, asked["criteria"], asked), asked["count"]
    pending = Pending.from_conditions(want.conditions, most, want.offset)
    chosen = await choose(context, want, asked, want.offset + most + (MORE if pending else 0))
    still = Pending.from_conditions(chosen.wish.want.conditions, most, want.offset)  # those dropped need no spare titles
    last = want.offset + most + (MORE if still else 0)
    cards = [_card(title, reason(title, chosen.wish, chosen.customer)) for title in chosen.titles[want.offset : last]]
    said = describe_understood(want, chosen.dropped)
    answer = _answer(cards, _based_on(chosen)) | said | next_offset(want, len(cards), len(chosen.titles))
    unfit = chosen.wish.asks and not chosen.fits
    note = (NOTHING_FITS if cards else NOTHING_LEFT) if unfit or not cards else None
    known = any((chosen.customer.owned, chosen.customer.viewed_ids, chosen.customer.searched))
    return (
        answer
        | join_notes(said.get("note"), NO_HISTORY if want.again and not known else None, note, _note_ownership(context))
        | ({PENDING: still.as_json()} if still else {})
    )


def _based_on(chosen: Chosen) -> list[str]:
    customer = chosen.customer
    known = {
        "criteria": chosen.fits,
        "purchases": customer.owned and not chosen.wish.want.another,
        "views": customer.viewed_ids,
        "searches": customer.searched,
    }
    return [*(what for what, there in known.items() if there), "popularity"]


async def trending(context: ToolContext, asked: Json) -> Json:
    """Fallback: returns popular titles that satisfy the conditions, without those that the customer owns if orders can be
    read. Raises `DependencyFailure` while no popular titles are known."""
    popular, most = context.store.popular, asked["count"]
    if not popular.index.titles:
        raise DependencyFailure("The catalogue is not available right now.", dependency="catalog", retry_after_ms=1000)
    want = await read_want(context, asked["criteria"], asked)
    bought = await read_purchases(context, context.user, context.deadline) if context.user is not None else ()
    # Popular titles are cached without offers: only live stock tells which can be bought.
    pending = Pending.from_conditions(want.conditions, most, want.offset, recorded=False)
    matching = popular.index.list_ordered(want.conditions.but(*SALE), want.ordering, len(popular.index.titles))
    excluded = asked["exclude_titles"]
    unwanted = frozenset((*bought, *want.known, *want.like, *excluded))
    allowed = leave_out(matching, unwanted, frozenset(map(normalise, excluded)))
    titles = list(islice(allowed, want.offset, want.offset + most + (MORE if pending else 0)))
    said = describe_understood(want)
    answer = (
        _answer([_card(title, popularity_sentence(title)) for title in titles], ["popularity"])
        | said
        | join_notes(said.get("note"), TURN_OVER if context.turn_over else UNAVAILABLE, _note_ownership(context))
    )
    return answer | ({PENDING: pending.as_json()} if pending else {})


def _note_ownership(context: ToolContext) -> str | None:
    return MAY_BE_OWNED if "orders" in context.degraded else None


def _card(title: Title, why: str) -> Json:
    return title_row(title) | ({"reason": why} if why else {})


def _answer(cards: Sequence[Json], based_on: Sequence[str]) -> Json:
    name = result_set_name([card["title_id"] for card in cards])
    return {"recommendations": list(cards), "based_on": list(based_on), "result_set": name}


async def complete(context: ToolContext, result: Json) -> Json:
    return await with_offers(context, result, "recommendations")


TOOL = Tool(
    name="get_recommendations",
    title="Recommend manga",
    description="Recommends titles for what the customer likes, each with a reason. Uses what the signed-in customer bought "
    "and viewed; leaves out what they own. Call it for 'what should I read next'. Put likes into criteria, each condition "
    "into its argument, each refusal into without.",
    input_schema=INPUT,
    output_schema=OUTPUT,
    handler=recommend,
    complete=complete,
    timeout_ms=1000,
    cache=CachePolicy(fresh_seconds=60, stale_seconds=600, per_user=True),
    fallback=Fallback("cached_trending_manga", trending),
    summary=lambda result: f"{len(result['recommendations'])} recommendations",
    remembered=("count", *FACTS),
    words=("criteria",),
    spelled=SPELLED,
    check=contradictions,
    obeys_preferences=True,
    shown=lambda asked, result: list_shown(result["recommendations"], asked["criteria"], RECOMMENDATIONS),
    sheds=worth.RECOMMENDATIONS,
    instead="Use search_manga_catalog with a theme in plain words.",
)
