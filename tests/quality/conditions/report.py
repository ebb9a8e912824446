"""The figures as Markdown tables, readable as text. Of locked queries they show sums alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tests.quality.conditions.measure import Measured, percentile
from tests.quality.conditions.wanted import NAMES, PLAIN

Rule = Callable[[Measured], bool]
_LANGUAGES = {"en": "English", "ja": "Japanese"}


def table(name: str, results: Sequence[Measured]) -> str:
    head = ["| queries | open | satisfied@5 | locked | satisfied@5 |", "| --- | ---: | ---: | ---: | ---: |"]
    return "\n".join(
        [f"### {name}", "", *head, *(_row(what, results, rule) for what, rule in _rows(results)), "", _notes(results)]
    )


def worst(results: Iterable[Measured], number: int) -> list[str]:
    """The open queries with the lowest scores."""
    those = sorted((each for each in results if not each.query.locked), key=lambda each: each.score)
    return [f"- {each.score:.2f} {each.query.kind}: {each.query.text} ({each.fits} fit)" for each in those[:number]]


def mean(results: Iterable[Measured]) -> float | None:
    """None of nothing."""
    scores = [each.score for each in results]
    return sum(scores) / len(scores) if scores else None


def _rows(results: Sequence[Measured]) -> list[tuple[str, Rule]]:
    kinds = sorted({each.query.kind for each in results if each.query.conditional})
    rows: list[tuple[str, Rule]] = [(kind, _of_kind(kind)) for kind in kinds]
    rows += [(name, _of_language(code)) for code, name in _LANGUAGES.items()]
    rows += [
        ("**with conditions**", lambda each: each.query.conditional),
        ("every query with an exclusion", lambda each: each.query.where.excludes),
        ("every query with an audience", lambda each: each.query.where.audience is not None),
        ("plain words that look like conditions", _of_kind(PLAIN)),
        ("names (reciprocal rank)", _of_kind(NAMES)),
    ]
    return rows


def _of_kind(kind: str) -> Rule:
    return lambda each: each.query.kind == kind


def _of_language(code: str) -> Rule:
    return lambda each: each.query.lang == code and each.query.conditional


def _row(what: str, results: Sequence[Measured], rule: Rule) -> str:
    cells = []
    for locked in (False, True):
        those = [each for each in results if rule(each) and each.query.locked is locked]
        score = mean(those)
        cells += [str(len(those)), "" if score is None else f"{score:.3f}"]
    return f"| {what} | {' | '.join(cells)} |"


def _notes(results: Sequence[Measured]) -> str:
    against = sum(each.excluded for each in results)
    impossible = sum(not each.fits for each in results)
    degraded = sum(bool(each.answer.degraded) for each in results)
    times = ", ".join(f"p{int(share * 100)} {percentile(results, share):.1f} ms" for share in (0.5, 0.95))
    return (
        f"Titles shown against a stated exclusion though the fact is known: {against}. "
        f"Queries that nothing in this catalogue fits: {impossible}. Answers that were degraded: {degraded}. A call took {times}."
    )
