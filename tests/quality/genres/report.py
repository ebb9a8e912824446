"""The figures as a Markdown table."""

from __future__ import annotations

from collections.abc import Sequence

from tests.quality.genres.measure import Baseline, Judged
from tests.quality.genres.scores import F1, brier, calibration_error, f1


def readership_f1(judged: Sequence[Judged]) -> F1:
    return f1([({each.readership}, {each.title.genre}) for each in judged if each.title.genre])


def tags_f1(judged: Sequence[Judged]) -> F1:
    return f1([(each.tags, each.right) for each in judged if each.right])


def readership_error(judged: Sequence[Judged]) -> float:
    """Of each confidence in each readership."""
    stated = [
        (sure, name == each.title.genre)
        for each in judged
        if each.title.genre
        for name, sure in each.found.readerships.items()
    ]
    return calibration_error(stated)


def tags_error(judged: Sequence[Judged]) -> float:
    """Of the confidence of each tag that is shown."""
    return calibration_error((sure, tag in each.right) for each in judged if each.right for tag, sure in each.tags.items())


def readership_brier(judged: Sequence[Judged]) -> float:
    known = [(dict(each.found.readerships), each.title.genre) for each in judged if each.title.genre]
    return brier([found for found, _ in known], [genre for _, genre in known])


def table(name: str, judged: Sequence[Judged], baseline: Baseline) -> str:
    lines = [
        f"### {name}",
        "",
        "| synopses | n | readership macro F1 | right | ECE | Brier | tags macro F1 | micro F1 | ECE |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for language in ("English", "Japanese"):
        for locked in (False, True):
            some = [each for each in judged if each.language == language and each.locked is locked]
            if some:
                lines.append(_row(f"{language}, {'locked' if locked else 'open'}", some))
    return "\n".join([*lines, _guessed(judged, baseline), "", _times(judged)])


def _row(name: str, judged: Sequence[Judged]) -> str:
    whom, tags = readership_f1(judged), tags_f1(judged)
    figures = [whom.macro, whom.micro, readership_error(judged), readership_brier(judged)]
    figures += [tags.macro, tags.micro, tags_error(judged)]
    return f"| {name} | {len(judged)} | " + " | ".join(f"{each:.3f}" for each in figures) + " |"


def _guessed(judged: Sequence[Judged], baseline: Baseline) -> str:
    """What those get who have not read the texts."""
    whom = f1([({baseline.readership}, {each.title.genre}) for each in judged if each.title.genre])
    tags = f1([(baseline.tags, each.right) for each in judged if each.right])
    name = f"always {baseline.readership} and the {len(baseline.tags)} most frequent tags"
    return f"| {name} | {len(judged)} | {whom.macro:.3f} | {whom.micro:.3f} | | | {tags.macro:.3f} | {tags.micro:.3f} | |"


def _times(judged: Sequence[Judged]) -> str:
    times = sorted(each.milliseconds for each in judged)
    p50, p95 = (times[min(len(times) - 1, int(share * len(times)))] for share in (0.5, 0.95))
    return f"{p50:.1f} ms a text (p50), {p95:.1f} ms (p95)."
