"""What the legs found, as one number a title and a leg, so that fusion needs to know no engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Arrays of one length, a place for each candidate title, all from 0 to 1 where not said otherwise.

    `names`: likeness of the query to a name (tools.store.search.name_table). `people`: how surely the query names an author
    of it. `words`: share of the query's idf mass that the title's text covers (BM25 / the best possible). `tags`: share
    of the themes in the query that the title is tagged with. `meaning`: cosine of the best passage, -1 to 1; None when
    the vector leg did not run. `headline`: cosine of the title's headline; None likewise. `prior`: how well known
    (`document.prior`). `known`: share of the query's idf mass in words that any title has; None if the engine
    can't say.
    """

    names: Floats
    people: Floats
    words: Floats
    tags: Floats
    meaning: Floats | None
    headline: Floats | None
    prior: Floats
    known: float | None = None
