"""What kind of manga a text is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Classification:
    """Labels with confidences from 0 to 1, the surest first. `by` says who judged: "local" or "bedrock". `degraded` names
    what the judgement had to do without ("vector"); `words_alone`: the text was compared with no title's."""

    readerships: Mapping[str, float]
    tags: Mapping[str, float]
    by: str
    degraded: tuple[str, ...] = ()
    words_alone: bool = False
