"""The summary of a conversation: its line for each call, and how it stays within its token limit."""

from __future__ import annotations

import random
from dataclasses import replace

from session.history import MOST_CALLS, HistoryEntry, LastShown, Recollection
from tests.support.cases import cases
from tools.results.history import CALLS, MOST_TOKENS, NOT_KNOWN, NOTHING_YET, short_name, summarise
from tools.results.shortening import estimate

NOW = 1_000_000.0
SHOWN = (("manga-000001", "Pirate Sea"), ("manga-000002", "Chess Ghost"))
LAST = LastShown(("manga-000001", "manga-000002"), ("Pirate Sea", "Chess Ghost"), "pirates")
LONG_NAMES = (
    "転生したらスライムだった件 異聞 〜魔国暮らしのトリニティ〜",
    "The Extraordinarily Long Name of a Series" * 2,
    "🐟" * 60,
)


def entry(tool: str = "search_manga_catalog", **changed: object) -> HistoryEntry:
    plain = HistoryEntry(tool, {}, "2 of 9 titles", True, 12, False, 40, NOW - 130, "pirates", SHOWN)
    return replace(plain, **changed)  # type: ignore[arg-type]


def told(*calls: HistoryEntry, last: LastShown | None = None, **shared: str) -> list[str]:
    past = Recollection(calls, {}, last, shared)
    return summarise(past, calls, NOW).split("\n")


def test_summary_line_has_the_query_its_outcome_and_the_titles_shown() -> None:
    """A search is quoted in the customer's own words."""
    assert told(entry()) == [CALLS, '2m search "pirates": 2 of 9 titles: Pirate Sea; Chess Ghost']


@cases(
    ("call", "line"),
    [
        (entry(words="海賊の話", at=NOW - 3), '3s search "海賊の話": 2 of 9 titles: Pirate Sea; Chess Ghost'),
        (entry(words="", shown=(), succeeded=False, summary="TIMEOUT", at=NOW), "0s search: TIMEOUT"),
        (
            entry("find_volumes", words="", arguments={"title_id": "manga-000001", "volume": "next"}, summary="1 of 9 volumes"),
            "2m find volumes volume=next: 1 of 9 volumes: Pirate Sea; Chess Ghost",
        ),
        (entry("get_manga_details", words="", summary="Pirate Sea", shown=SHOWN[:1]), "2m details: Pirate Sea"),
        (entry(arguments={"genre": "", "without": ["Gore", "Horror"], "max_results": 5}, shown=(), at=NOW - 7300),
         '2h search "pirates" without=Gore, Horror: 2 of 9 titles'),
        (entry(shown=tuple((f"manga-{n}", f"T{n}") for n in range(5))),
         '2m search "pirates": 2 of 9 titles: T0; T1; T2; …'),
        (entry(words='two\nlines of "words"\u202e', shown=()), "2m search \"two lines of 'words'\": 2 of 9 titles"),
        (entry(at=NOW + 5, shown=()), '0s search "pirates": 2 of 9 titles'),
    ],
)  # fmt: skip
def test_summary_has_a_line_for_each_kind_of_call(call: HistoryEntry, line: str) -> None:
    assert told(call) == [CALLS, line]


def test_last_shown_list_keeps_its_numbers() -> None:
    """So "the second one" refers to a title of the list; other values that a next call may use stand beside it."""
    lines = told(entry(), last=LAST, title_id="manga-000002", title="Chess Ghost", order_id="MNG-DEMO1001")
    assert lines[2:] == [
        "Last title: manga-000002 Chess Ghost",
        "Last order: MNG-DEMO1001",
        'Shown last by search "pirates": 1. manga-000001 Pirate Sea 2. manga-000002 Chess Ghost',
    ]
    assert told(entry(), last=LastShown((), (), "nothing"))[-1] == 'Shown last by search "nothing": nothing was found'


def test_list_too_long_for_the_summary_says_how_many_more_there_are() -> None:
    names = tuple(f"A Name of Some Length {n}" for n in range(20))
    (line,) = told(entry(), last=LastShown(tuple(f"manga-{n:06}" for n in range(20)), names, "q"))[2:]
    numbered = sum(name in line for name in names)
    assert 3 <= numbered < 20
    assert line.endswith(f"and {20 - numbered} more")


def test_empty_history_and_unknown_history_have_different_texts() -> None:
    assert told() == [NOTHING_YET]
    assert summarise(Recollection(last_shown=LAST, known=False), (), NOW).split("\n")[0] == NOT_KNOWN
    assert "2. manga-000002 Chess Ghost" in summarise(Recollection(last_shown=LAST, known=False), (), NOW)


@cases("seed", range(30))
def test_summary_of_twenty_calls_fits_400_tokens_with_a_line_each(seed: int) -> None:
    draw = random.Random(seed)
    names = [*LONG_NAMES, "Pirate Sea", "海賊の海", "ベルセルク"]
    tools = ["search_manga_catalog", "preview_manga_pages", "get_recommendations", "lookup_order", "classify_genre"]

    def titles(most: int) -> list[tuple[str, str]]:
        return [(f"manga-{draw.randrange(10**6):06}", draw.choice(names)) for _ in range(draw.randrange(most))]

    calls = tuple(
        entry(
            draw.choice(tools),
            words=draw.choice(["", "海" * 200, "pirate " * 30, "🏴‍☠️" * 40]),
            shown=tuple(titles(6)),
            summary=draw.choice(["5 of 9 titles", draw.choice(names) * 3, "TIMEOUT"]),
            arguments={"without": [draw.choice(names)] * 3} if draw.random() < 0.5 else {},
            at=NOW - draw.randrange(7000),
        )
        for _ in range(MOST_CALLS)
    )
    last = titles(21)
    shown = LastShown(tuple(i for i, _ in last), tuple(name for _, name in last), "深い海の話" * 30)
    past = Recollection(calls, {}, shown, {"title_id": "manga-000001", "title": LONG_NAMES[0], "order_id": "MNG-DEMO1001"})
    text = summarise(past, calls, NOW)
    assert estimate(text) <= MOST_TOKENS
    lines = text.split("\n")[1 : MOST_CALLS + 1]
    assert all(short_name(call.tool) in line for call, line in zip(calls, lines, strict=True))


def test_summary_beyond_its_tokens_drops_the_oldest_calls_whole() -> None:
    calls = [entry(f"tool_{n}", words="", summary="ok", shown=()) for n in range(20)]
    lines = summarise(Recollection(tuple(calls)), calls, NOW, 80).split("\n")[1:]
    assert [line.split(":")[0] for line in lines] == [f"2m tool {n}" for n in range(len(lines))]
    assert 3 < len(lines) < 20
