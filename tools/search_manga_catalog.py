from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from session.begin import result_set_name
from session.history import SEARCH
from session.profile import EventKind
from tools.conditions.arguments import CONDITIONS, FACTS, SPELLED, contradictions
from tools.conditions.finding import NEARLY, find, has_name, near_matches
from tools.conditions.offers import MORE, PENDING, SALE, Pending, with_offers
from tools.conditions.releases import without_releases
from tools.conditions.wanted import (
    NEXT_OFFSET,
    UNDERSTOOD,
    Want,
    describe_understood,
    next_offset,
    read_want,
    with_comparison_conditions,
)
from tools.contract import TEXT, Fallback, Json, ProfileRule, Tool, ToolContext
from tools.results import shortening as worth
from tools.results.rows import list_shown, title_row
from tools.schema.parts import INTEGER, STRING, TITLE_ROW, answer, argument, arguments, join_notes, list_of
from tools.store.catalog.popular import PopularTitles
from tools.store.failures import DependencyFailure
from tools.store.identifiers import GENRES
from tools.store.models import Conditions, Title
from tools.store.models.order import TOPICS
from tools.store.search.conditions.check import Check
from tools.store.search.query.parsed import GENRE_WORDINGS as WORDINGS
from tools.store.search.reading.tokens import split_words
from tools.store.search.text.characters import normalise
from tools.store.search.text.tokens import stem

# Pointers from a search to a tool, or a policy of the shop, that answers the question better.
#
# Cached results are public, and the tools that are on depend on the caller: `mark_pointers` marks a result with the tools
# to name, and `add_pointers` turns the marks that fit the caller into a note.


ELSEWHERE = "elsewhere"
RELEASES = "find_volumes"
POLICIES = "manga://policies"
"""Stands for the shop's policies in place of a tool's name; all callers may read them."""
MOST_TOPICS = 8


@dataclass(frozen=True, slots=True)
class Pointer:
    """A hint that another tool, or a policy of the shop, answers the question. `wording`: matches such a question in
    normalised text. `says`: a sentence for the model, in which {} stands for the policies' URIs."""

    tool: str
    wording: re.Pattern[str]
    says: str


POINTERS = (
    Pointer(
        RELEASES,
        re.compile(
            r"\b(?:new(?:est)?|latest|upcoming|recent) (?:(?:manga|comic) )?(?:releases?|volumes?|arrivals?)\b"
            r"|\bnext volume\b|\bwhat(?:'s| is) new\b"
            r"|\b(?:read|finished|bought|own) (?:up to |through )?(?:volumes?|vols?\b\.?) ?#?[0-9]"
            r"|[0-9]巻(?:まで|を)(?:は|もう|全部)?(?:読[んみ了]|買っ|持って)"
            r"|\b(?:what(?:'s| is| are| manga| volumes)?|which [a-z]{1,12}|anything(?: new)?)(?: [a-z]{1,12}){0,2} "
            r"(?:comes?|coming|came) out(?= (?:this|next|last|in|on|soon|now|lately|today)\b|[?.!]*$)"
            r"|\b(?:out|released|releases|releasing) (?:this|next|last) (?:week|month)\b|\b(?:just|newly) (?:released|out)\b"
            r"|新刊|新巻|最新巻|近刊|続刊|次巻|次の巻|発売予定|発売日|(?:今月|来月|先月|今週|来週)(?:は|に|の)?(?:発売|出る|出た|出版)"
        ),
        "find_volumes lists what comes out in a month, and tells the next volume of a title and when it is out.",
    ),
    Pointer(
        POLICIES,
        re.compile(
            r"\b(?:can|could|may|do|how do|how can) i (?:return|cancel|send back|pay)\b|\brefunds?\b"
            r"|\b(?:returns?|shipping) policy\b"
            r"|\bdo you (?:ship|deliver) (?:to|abroad|overseas|internationally|worldwide)\b"
            r"|\bshipping (?:costs?|fees?|charges?)\b"
            r"|\bhow much (?:is|does) (?:shipping|delivery)\b"
            r"|\b(?:english|translated|translations?) (?:editions?|versions?|copy|copies)\b"
            r"|送料|配送料|返品|返金|支払い?方法|コンビニ払い|キャンセル(?:でき|したい)|英語版|翻訳版"
        ),
        "The shop's own word: {}.",
    ),
)


def mark_pointers(text: str, titles: Iterable[Title], searched: str | None = None, topics: Iterable[str] = ()) -> Json:
    """Returns {`ELSEWHERE`: names of tools, or `POLICIES`, that answer the text better than a search}; {} without any.

    Words that occur in a name of `titles` are ignored. `searched`: the part of the text that was searched for, None for
    all of it; any rest points to `RELEASES`. `topics`: the shop's policies. A text with all words of a topic points to
    `POLICIES`, except for the topics in `TOPICS`, which the wordings in `POINTERS` cover."""
    asked = normalise(text)
    found = [(pointer.tool, match[0]) for pointer in POINTERS if (match := pointer.wording.search(asked))]
    words = {stem(word) for word in split_words(asked)}
    own = (topic for topic in topics if topic not in TOPICS and words.issuperset(map(stem, topic.split("-"))))
    found += [(POLICIES, topic.replace("-", " ")) for topic in own]
    names = [normalise(name) for title in titles for name in _names(title)] if found else []
    tools = [RELEASES] if searched not in (None, text) else []
    tools += [tool for tool, words in found if tool not in tools and not any(words in name for name in names)]
    return {ELSEWHERE: tools} if tools else {}


def add_pointers(context: ToolContext, result: Json) -> Json:
    """Replaces a result's `ELSEWHERE` field by sentences at the end of its note: one for each marked tool that the caller
    may use, and one for the policies if they are marked and the shop has any."""
    if ELSEWHERE not in result:
        return result
    topics = context.store.policies.topics[:MOST_TOPICS]
    there = {each for each in result[ELSEWHERE] if (topics if each == POLICIES else context.may_use(each))}
    uris = ", ".join(f"{POLICIES}/{topic}" for topic in topics)
    says = [each.says.format(uris) for each in POINTERS if each.tool in there]
    told = {key: value for key, value in result.items() if key != ELSEWHERE}
    return told | join_notes(result.get("note"), *says)


def _names(title: Title) -> Iterable[str]:
    return filter(None, (title.en, title.romaji, title.ja, title.kana, *title.alt_titles))


UNAVAILABLE = "The search is not available right now;"
TURN_OVER = "Nothing was searched for, because the time for this turn is over;"
LONGEST_TRACE = 100
"""Most characters of a query that a profile keeps."""

INPUT = arguments(
    {
        "query": argument(
            "string",
            "The subject: title in any script, nickname, author or theme, as 'ワンピ' or 'ghost chess'.",
            minLength=1,
            maxLength=500,
        ),
        "genre": argument("string", "Readership.", enum=[*GENRES, ""], default=""),
        "author": argument("string", "In any script.", maxLength=200, default=""),
        "max_results": argument("integer", "How many.", minimum=1, maximum=20, default=5),
        "min_rating": argument("number", "At least.", minimum=0, maximum=5, default=0),
        **CONDITIONS,
    },
    required=["query"],
)

GUESSED = "No title has this name. These have similar ones: ask the customer whether one of them is meant."
NAMED = "The title that was asked for by name is shown despite the customer's remembered taste and budget."
NOT_A_TITLE = "Nothing was searched for: this asks about releases, not for a title."
AT_THE_END = "There are no more: offset is past the last match."

OUTPUT = answer(
    {
        "results": list_of(TITLE_ROW),
        "total": INTEGER,
        "result_set": STRING,
        **UNDERSTOOD,
        **NEXT_OFFSET,
        **NEARLY,
    },
    required=["results", "total", "result_set"],
)


def readership(text: str) -> str:
    """Converts other spellings of a readership, such as "Shounen", "Shōjo" or 少女漫画, to the shop's; returns other text
    unchanged."""
    said = normalise(text)
    return next((genre for genre, wording in WORDINGS.items() if wording.fullmatch(said)), text)


async def search(context: ToolContext, asked: Json) -> Json:
    text = await without_releases(context, asked["query"])
    if not text:
        return no_title_asked_for(asked["query"])
    want, most = await with_comparison_conditions(context, await read_want(context, text, asked)), asked["max_results"]
    if (title := await _read_by_id(context, asked["query"].strip())) and Check(want.conditions.but(*SALE)).satisfied_by(
        title
    ):
        return results((title,), 1)
    found = await find(context, want, most + (MORE if Pending.from_conditions(want.conditions, most, want.offset) else 0))
    page, said = found.page, describe_understood(found.want if found.want.text != want.text else want, found.dropped)
    said |= mark_pointers(asked["query"], page.titles, text, context.store.policies.topics)
    if not page.total:
        instead = await near_matches(context, found.want, page.near)
        return results((), 0) | said | instead | join_notes(said.get("note"), instead.get("note"))
    left = Pending.from_conditions(found.want.conditions, most, want.offset)
    still = left and left.but_for(found.named, found.want.by_name)
    titles = page.titles if still else page.titles[:most]  # dropped conditions need no spare titles
    answer = results(titles, page.total) | said | next_offset(want, len(titles), page.total)
    note = AT_THE_END if not titles else GUESSED if page.guessed else _note_lifted_taste(found.want, found.named)
    return answer | ({PENDING: still.as_json()} if still else {}) | join_notes(said.get("note"), note)


async def _read_by_id(context: ToolContext, query: str) -> Title | None:
    if not context.store.identifiers.titles.matches(query):
        return None
    return (await context.store.titles.read([query], context.deadline)).titles.get(query)


async def popular_instead(context: ToolContext, asked: Json) -> Json:
    """Fallback: returns popular titles that satisfy the conditions, first those that the text names. Raises
    `DependencyFailure` while no popular titles are known."""
    popular, most = context.store.popular, asked["max_results"]
    text = await without_releases(context, asked["query"])
    if not text:
        return no_title_asked_for(asked["query"])
    if not popular.index.titles:
        raise DependencyFailure("The catalogue is not available right now.", dependency="catalog", retry_after_ms=1000)
    want = await with_comparison_conditions(context, await read_want(context, text, asked))
    # Popular titles are cached without offers: only live stock tells which can be bought.
    conditions, pending = (
        want.conditions.but(*SALE),
        Pending.from_conditions(want.conditions, most, want.offset, recorded=False),
    )
    last = want.offset + most + (MORE if pending else 0)
    named = _find_named(popular, want, conditions, last)
    titles = tuple(dict.fromkeys((*named, *popular.index.list_ordered(conditions, want.ordering, last))))[want.offset : last]
    given = titles[:most]
    asked_for = [title.title_id for title in named if has_name(title, want.text)] if want.by_name else []
    found = len(set(named).intersection(given))
    if want.text and not found:
        context.degraded.add("matches")
    reason = TURN_OVER if context.turn_over else UNAVAILABLE
    note = f"{reason} {_note(found, len(given))} {_note_lifted_taste(want, asked_for)}".rstrip()
    said = describe_understood(want)
    answer = (
        results(titles, len(titles))
        | said
        | mark_pointers(asked["query"], titles, text, context.store.policies.topics)
        | join_notes(said.get("note"), note)
    )
    pending = pending.but_for(asked_for, want.by_name) if pending else None
    return answer | ({PENDING: pending.as_json()} if pending else {})


def no_title_asked_for(query: str) -> Json:
    return results((), 0) | mark_pointers(query, (), "") | {"note": NOT_A_TITLE}


def _find_named(popular: PopularTitles, want: Want, conditions: Conditions, most: int) -> tuple[Title, ...]:
    """Returns popular titles that the text names. A title whose name is the whole text need not satisfy
    `want.lifted_conditions` (`Want`)."""
    if len(want.named) > 1 and not want.like:
        by_id, check = popular.index.by_id, Check(conditions)
        return tuple(by_id[each] for each in want.named if each in by_id and check.satisfied_by(by_id[each]))
    if not want.text or want.by_name is None:
        return popular.index.find_by_name(want.text, conditions, most) if want.text else ()
    lifted = Check(want.lifted_conditions.but(*SALE))
    named = popular.index.find_by_name(want.text, want.by_name.but(*SALE), most)
    return tuple(title for title in named if lifted.satisfied_by(title) or has_name(title, want.text))


def _note_lifted_taste(want: Want, named: Sequence[str]) -> str:
    return NAMED if named and want.lifted_conditions.but("no_adult").stated else ""


def _note(named: int, given: int) -> str:
    rest = "popular titles that satisfy the conditions, not matches."
    if not named:
        return f"these are {rest}"
    first = "the first one matches" if named == 1 else f"the first {named} match"
    return f"{first} by name" + (f"; the others are {rest}" if given > named else ".")


def results(titles: tuple[Title, ...], total: int) -> Json:
    ids = [title.title_id for title in titles]
    return {"results": [title_row(title) for title in titles], "total": total, "result_set": result_set_name(ids)}


async def complete(context: ToolContext, result: Json) -> Json:
    return add_pointers(context, await with_offers(context, result, "results"))


TOOL = Tool(
    name="search_manga_catalog",
    title="Search the manga catalogue",
    description="Finds manga by title, nickname, author or theme, best first, with price and stock. Call it first when the "
    "customer names or describes a manga. Put the subject into query, each condition into its argument, each refusal into "
    "without. understood tells what was obeyed.",
    input_schema=INPUT,
    output_schema=OUTPUT,
    handler=search,
    complete=complete,
    timeout_ms=800,
    cache=TEXT,
    fallback=Fallback("cached_popular_manga", popular_instead),
    summary=lambda result: f"{len(result['results'])} of {result['total']} titles",
    remembered=("genre", "max_results", "min_rating", *FACTS),
    words=("query", "author"),
    spelled={"genre": readership, **SPELLED},
    check=contradictions,
    obeys_preferences=True,
    shown=lambda asked, result: list_shown(result["results"], asked["query"], SEARCH),
    leaves_in_profile=ProfileRule(EventKind.SEARCHED, lambda asked: normalise(asked["query"])[:LONGEST_TRACE]),
    sheds=worth.SEARCH,
    instead="Ask for a title id and use get_manga_details, or offer get_recommendations.",
)
