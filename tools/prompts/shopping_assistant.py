from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain

from tools.contract import ToolContext
from tools.primitives.resource import Message, Prompt
from tools.prompts.wording import LANGUAGE, read_language
from tools.results.content import Text
from tools.results.shortening import estimate
from tools.skills.text import Language, Saying, rules
from tools.store.models.order import Policies

MOST_TOKENS = 1100
BOLD = "**"
BETWEEN_BLOCKS = re.compile(r"\n[ \t]*\n|\n(?=[-*] |#)")
RULER = re.compile(r"[|:\- \t]+")
POLICIES_OPENING = Saying(
    "What the shop says, in short; the whole texts are resources:", "当店の規定の要約。全文はリソースにある:"
)


def policies_in_short(policies: Policies, language: Language) -> str:
    """Returns the policy paragraphs that fit into `MOST_TOKENS`, each topic below its URI, in `language` if available; "" if
    the shop has no policies."""
    blocks = [(topic, block) for topic in policies.topics for block in _blocks(_text(policies, topic, language))]
    kept = _fitting_places([block for _, block in blocks])
    said: dict[str, list[str]] = {}
    for place in kept:
        topic, block = blocks[place]
        said.setdefault(topic, [f"manga://policies/{topic}"]).append(block.replace(BOLD, ""))
    return "\n".join([POLICIES_OPENING.text(language), *chain.from_iterable(said.values())]) if said else ""


def _text(policies: Policies, topic: str, language: Language) -> str:
    return policies.text(topic, language) or policies.text(topic, policies.languages(topic)[0])


def _fitting_places(blocks: Sequence[str]) -> list[int]:
    """Returns the indexes of the texts that together fit into `MOST_TOKENS`, ascending. Texts with bold words take
    precedence."""
    kept, left = list[int](), MOST_TOKENS
    for place in sorted(range(len(blocks)), key=lambda place: BOLD not in blocks[place]):
        if (tokens := estimate(blocks[place])) <= left:
            kept.append(place)
            left -= tokens
    return sorted(kept)


def _blocks(text: str) -> list[str]:
    """Splits Markdown into paragraphs, tables and list items, each on one line, without headings."""
    return [_line(each.strip()) for each in BETWEEN_BLOCKS.split(text) if each.strip() and not each.startswith("#")]


def _line(block: str) -> str:
    lines = [line.strip() for line in block.splitlines()]
    if block.startswith("|"):
        rows = [line.strip("| ") for line in lines if not RULER.fullmatch(line)]
        return "; ".join(": ".join(cell.strip() for cell in row.split("|")) for row in rows)
    return "".join(map(_going_on, lines)).strip()


def _going_on(line: str) -> str:
    """Adds the space that separates the line from the next line; none after Japanese text."""
    return line if line[-1:] > "\u3000" else f"{line} "


SHOP = "<shop>"
OPENING = Saying(
    f"You are the shopping assistant of {SHOP}, a Japanese manga store. You help its customers to find, choose and buy "
    "manga and to follow their orders, with the tools of this server. Rules:",
    f"あなたは日本のマンガ専門店「{SHOP}」の接客アシスタントです。このサーバーのツールを使い、お客様がマンガを見つけ、選び、買い、"
    "注文の状況を知るのを手伝います。規則:",
)


async def assist(context: ToolContext, given: Mapping[str, str]) -> Sequence[Message]:
    language = read_language(given)
    opening = OPENING.text(language).replace(SHOP, context.store.policies.shop)
    shop = context.store.policies.topics, context.store.currency
    said = [rule.text(language, context.may_use, *shop) for rule in rules().values() if rule.audience != "skills"]
    told = "\n".join([opening, *(f"- {each}" for each in said if each)])
    policies = policies_in_short(context.store.policies, language)
    return [Message("user", Text(f"{told}\n\n{policies}".strip()))]


PROMPT = Prompt(
    name="shopping_assistant",
    title="Shopping assistant",
    description="The system prompt for an agent that talks to the store's customers: the rules of the trade in full, "
    "which tool is for what, and the shop's policies in short.",
    handler=assist,
    arguments=(LANGUAGE,),
)
