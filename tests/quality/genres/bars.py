"""What has to be reached."""

from __future__ import annotations

from collections.abc import Sequence

from tests.quality.genres.measure import Judged
from tests.quality.genres.report import readership_error, readership_f1, tags_error, tags_f1

# Macro F1 of readerships and of tags at least, calibration errors of both at most.
BARS = {"demo": (0.35, 0.35, 0.1, 0.1), "evaluation": (0.25, 0.15, 0.1, 0.15)}


def missed(name: str, judged: Sequence[Judged]) -> list[str]:
    readership, tags, readership_off, tags_off = BARS[name]
    figures = [
        ("macro F1 of readerships", readership_f1(judged).macro, readership, True),
        ("macro F1 of tags", tags_f1(judged).macro, tags, True),
        ("calibration error of readerships", readership_error(judged), readership_off, False),
        ("calibration error of tags", tags_error(judged), tags_off, False),
    ]
    return [
        f"{what} is {value:.3f}, which should be {bar} at {'least' if least else 'most'}"
        for what, value, bar, least in figures
        if (value < bar) is least and value != bar
    ]
