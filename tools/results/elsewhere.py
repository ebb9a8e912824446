"""Pointers from a search to a tool, or a policy of the shop, that answers the question better.

Cached results are public, and the tools that are on depend on the caller: `mark_pointers` marks a result with the tools to
name, and `add_pointers` turns the marks that fit the caller into a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tools.contract import Json, ToolContext
from tools.store.models import Title
from tools.store.search.text.characters import normalise

ELSEWHERE = "elsewhere"
RELEASES = "find_volumes"
POLICIES = "manga://policies"
"""Stands for policies in place of a tool's name: everybody may read them."""
MOST_TOPICS = 8


@dataclass(frozen=True, slots=True)
class Pointer:
    """`wording` finds the question in a normalised text; `says` is one sentence for the model, with a place for the shop's
    policies."""

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


def mark_pointers(text: str, titles: Iterable[Title], searched: str | None = None) -> Json:
    """The mark for a result of these titles. Words of a title's name ask for that title. `searched`: the part of the text
    that was searched for, by default all; the rest asked for releases."""
    asked = normalise(text)
    found = [(pointer.tool, match[0]) for pointer in POINTERS if (match := pointer.wording.search(asked))]
    names = [normalise(name) for title in titles for name in _names(title)] if found else []
    tools = [RELEASES] if searched not in (None, text) else []
    tools += [tool for tool, words in found if tool not in tools and not any(words in name for name in names)]
    return {ELSEWHERE: tools} if tools else {}


def add_pointers(context: ToolContext, result: Json) -> Json:
    """The result without its mark, and with a word on each of these tools that is there."""
    if ELSEWHERE not in result:
        return result
    told = {key: value for key, value in result.items() if key != ELSEWHERE}
    policies = ", ".join(f"{POLICIES}/{topic}" for topic in context.store.policies.topics[:MOST_TOPICS])
    says = [
        each.says.format(policies) for each in POINTERS if each.tool in result[ELSEWHERE] and _is_there(context, each.tool)
    ]
    note = " ".join(filter(None, (result.get("note"), *says)))
    return told | ({"note": note} if note else {})


def _is_there(context: ToolContext, tool: str) -> bool:
    return bool(context.store.policies.topics) if tool == POLICIES else context.may_use(tool)


def _names(title: Title) -> Iterable[str]:
    return filter(None, (title.en, title.romaji, title.ja, title.kana, *title.alt_titles))
