"""The shop's policies, as much of them as a system prompt has room for.

What the shop has set in bold is its own choice of what matters most, and goes before the rest. Paragraphs, items of a list
and tables are taken whole or not at all: half a rule may say the opposite.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from tools.prompts.saying import Language, Saying
from tools.results.tokens import estimate
from tools.store.models.policies import Policies

MOST_TOKENS = 1100
BOLD = "**"
BETWEEN_BLOCKS = re.compile(r"\n[ \t]*\n|\n(?=[-*] |#)")
RULER = re.compile(r"[|:\- \t]+")
OPENING = Saying("What the shop says, in short; the whole texts are resources:", "当店の規定の要約。全文はリソースにある:")


def policies_in_short(policies: Policies, language: Language) -> str:
    """Each topic under its address, in another language where it is written in that alone; "" where nothing is."""
    blocks = [(topic, block) for topic in policies.topics for block in _blocks(_text(policies, topic, language))]
    kept = _kept([block for _, block in blocks])
    said: dict[str, list[str]] = {}
    for place in kept:
        topic, block = blocks[place]
        said.setdefault(topic, [f"manga://policies/{topic}"]).append(block.replace(BOLD, ""))
    return "\n".join([OPENING.text(language), *chain.from_iterable(said.values())]) if said else ""


def _text(policies: Policies, topic: str, language: Language) -> str:
    return policies.text(topic, language) or policies.text(topic, policies.languages(topic)[0])


def _kept(blocks: Sequence[str]) -> list[int]:
    """The places of those that there is room for, in their order."""
    kept, left = list[int](), MOST_TOKENS
    for place in sorted(range(len(blocks)), key=lambda place: BOLD not in blocks[place]):
        if (tokens := estimate(blocks[place])) <= left:
            kept.append(place)
            left -= tokens
    return sorted(kept)


def _blocks(text: str) -> list[str]:
    """Each in one line; headings are left out."""
    return [_line(each.strip()) for each in BETWEEN_BLOCKS.split(text) if each.strip() and not each.startswith("#")]


def _line(block: str) -> str:
    lines = [line.strip() for line in block.splitlines()]
    if block.startswith("|"):
        rows = [line.strip("| ") for line in lines if not RULER.fullmatch(line)]
        return "; ".join(": ".join(cell.strip() for cell in row.split("|")) for row in rows)
    return "".join(map(_going_on, lines)).strip()


def _going_on(line: str) -> str:
    """Japanese goes on in the next line without a space."""
    return line if line[-1:] > "\u3000" else f"{line} "
