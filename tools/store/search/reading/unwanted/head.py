"""What ends a description before a comma is what is wanted, no item of the list after it.

3巻以内のホラー、グロなし rules out gore alone, and so does "short horror, gore-free"; ホラー、グロなし is a list.
"""

from __future__ import annotations

import re

from tools.store.search.query.themes import ThemeTable, fold
from tools.store.search.reading.vocabulary import Named

_REACH = 40
_SCENES = frozenset(("Gore", "Ecchi"))
"""Tags of what a story contains: however it is described, hardly anybody asks for it beside an exclusion."""
_FACT_JA = re.compile(
    r"(?:[0-9一二三四五六七八九十]+ ?(?:巻|冊|円|年代?|話)"
    r"(?:完結|以内|以下|以上|未満|まで|程度|くらい|ぐらい|前後|台)*"
    r"|完結(?:済み?|した|してい?る)?|終わった|連載中|短編|長編|読み切り|単巻|短[いめ]|長[いめ]"
    r"|新しい|新作|最近|古い|昔|古典|名作|人気|有名|おすすめ|オススメ|安い|電子書籍)"
    r"(?:の|な|で読める)?$"
)
"""What is said of a work, and of no scene in it."""
_MODIFIER_JA = re.compile(r"(?:[のないるうくすつぬぶむぐ]|[^、。 ][ただ])$")
"""The attributive ending of a noun, an adjective or a verb."""
_DEGREE_JA = re.compile(
    r"(?:過激|過度|過剰|極端|露骨|無駄|無意味|不必要|余計|リアル|グロテスク|残酷|残虐|悪趣味|ひど|酷|激し|きつ|キツ|強|濃|生々し"
    r"|えぐ|エグ|しつこ|安易|変|嫌|嫌い|苦手|きらい|ダメ|だめ|駄目|無理|いや|ng|行き過ぎた|すぎる|過ぎる)(?:の|な|い)?$"
)
"""Says how much of it, or that it is not liked: still a list."""
_CLAUSE = re.compile(r"[,.;:!?] ?")
_WISH = re.compile(
    r"\b(?:(?:give|show|get|find|recommend|suggest) (?:me|us|him|her|them)|(?:look|search|hop)ing for|(?:up|mood) for)$"
)
_NO_HEAD = re.compile(
    r"(?:^|\b(?:i|we|you|he|she|they|me|him|her|us|them|is|are|and|n?or|but|because|since|as|for|to|so|find|finds|think|thinks"
    r"|feels?|both|either|all|no|not|never|too|very|much|many|of|like|including|keep|sorry|please|also|graphic|extreme"
    r"|excessive|explicit|gratuitous|heavy|strong|intense|pointless|hates?|hated|dislikes?))$"
)
"""Leads to a list, or says how much of it."""


def ends_description(text: str, theme: Named) -> bool:
    """Whether words before the theme, in Japanese, say which one is wanted."""
    before = text[max(0, theme.start - _REACH) : theme.start]
    if _FACT_JA.search(before):
        return True
    described = _MODIFIER_JA.search(before) is not None and not _DEGREE_JA.search(before)
    return described and _is_genre(text, theme)


def ends_description_en(text: str, theme: Named) -> bool:
    """The same in English: "a short horror", "looking for horror"."""
    before = _CLAUSE.split(text[max(0, theme.start - _REACH) : theme.start])[-1].rstrip()
    described = _WISH.search(before) is not None or not _NO_HEAD.search(before)
    return described and _is_genre(text, theme)


def _is_genre(text: str, theme: Named) -> bool:
    return _SCENES.isdisjoint(theme.aversion.tags) and fold(text[theme.start : theme.end]) in ThemeTable.load().tags
