"""What a search has recalled so far, before and after it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tools.store.backends.opensearch.documents import Card
from tools.store.backends.opensearch.filters import Gate
from tools.store.backends.opensearch.index import ID
from tools.store.backends.opensearch.queries import column, cosine_of
from tools.store.backends.opensearch.title_cache import Answer, Entry
from tools.store.search.evidence import Evidence, Floats


@dataclass(slots=True)
class Candidates:
    """Titles that were recalled and pass the filters, by id.

    `senses`: cosines by id, None where meaning was not asked for.
    """

    gate: Gate
    entries: dict[str, Entry] = field(default_factory=dict)
    senses: dict[str, float] | None = None

    def take(self, entries: Mapping[str, Entry]) -> None:
        self.entries.update((i, each) for i, each in entries.items() if self.gate.admits(each.card))

    def take_senses(self, answer: Answer) -> None:
        """The scores of a search for vectors. Raises LookupError, TypeError and ValueError for what is none of ours."""
        senses = self.senses if self.senses is not None else {}
        for hit in answer["hits"]["hits"]:
            senses[column(hit, ID)] = cosine_of(float(hit["_score"]))
        self.senses = senses

    def ordered(self) -> list[str]:
        """Ids in the order of the catalogue file, which decides between equals."""
        return sorted(self.entries, key=lambda title_id: self.entries[title_id].card.place)


@dataclass(frozen=True, slots=True)
class Anchor:
    """The title that a query points from ("like …", "by the author of …"). `direction`: where its vectors point."""

    title_id: str
    card: Card
    direction: Floats | None

    def spellings(self) -> set[str]:
        """Of its authors' names."""
        return {spelling for keys in self.card.known.authors for spelling in keys.spellings}


@dataclass(frozen=True, slots=True)
class Judged:
    """Scores of titles, in the order of `ids`; 0 is no answer. `evidence`: what they come from, where a query was judged."""

    ids: list[str]
    scores: Floats
    evidence: Evidence | None = None

    def answers(self) -> int:
        return int(np.count_nonzero(self.scores))

    def themed(self) -> int:
        """How many of them have all themes of the query."""
        return 0 if self.evidence is None else int(np.count_nonzero(self.evidence.tags == 1.0))

    def all_themed_answer(self) -> bool:
        """Whether having all themes is enough to be an answer, so that those not recalled are answers too."""
        if self.evidence is None or not self.themed():
            return False
        return bool(np.all(self.scores[self.evidence.tags == 1.0] > 0))
