"""What a search has recalled so far, before and after it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tools.backends.opensearch.documents import Card, card_from
from tools.backends.opensearch.filters import Gate
from tools.backends.opensearch.queries import cosine_of
from tools.search.evidence import Floats

Answer = Mapping[str, Any]


def column(hit: Mapping[str, Any], name: str) -> str:
    """Raises LookupError and TypeError for a hit that is none of ours."""
    return str(hit["fields"][name][0])


@dataclass(slots=True)
class Candidates:
    """Titles that were recalled and pass the filters: cards and packed records by id.

    `senses`: cosines by id, None where meaning was not asked for. `named`: how near the query is to a name, once known.
    """

    gate: Gate
    cards: dict[str, Card] = field(default_factory=dict)
    packed: dict[str, str] = field(default_factory=dict)
    senses: dict[str, float] | None = None
    named: dict[str, float] = field(default_factory=dict)

    def take(self, answer: Answer) -> None:
        """Raises LookupError, TypeError and ValueError for hits that are none of ours."""
        for hit in answer["hits"]["hits"]:
            title_id = column(hit, "title_id")
            if title_id not in self.cards and self.gate.admits(card := card_from(column(hit, "card"))):
                self.cards[title_id] = card
                self.packed[title_id] = column(hit, "packed")

    def take_senses(self, answer: Answer) -> None:
        """The scores of a search for vectors."""
        senses = self.senses if self.senses is not None else {}
        for hit in answer["hits"]["hits"]:
            senses[column(hit, "title_id")] = cosine_of(float(hit["_score"]))
        self.senses = senses

    def ordered(self) -> list[str]:
        """Ids in the order of the catalogue file, which decides between equals."""
        return sorted(self.cards, key=lambda title_id: self.cards[title_id].place)


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
    """Scores of titles, in the order of `ids`; 0 is no answer. `tags`: the share of the themes that each has."""

    ids: list[str]
    scores: Floats
    tags: Floats | None = None

    def answers(self) -> int:
        return int(np.count_nonzero(self.scores))

    def themed(self) -> int:
        """How many of them have all themes of the query."""
        return 0 if self.tags is None else int(np.count_nonzero(self.tags == 1.0))

    def all_themed_answer(self) -> bool:
        """Whether having all themes is enough to be an answer, so that those not recalled are answers too."""
        return self.themed() > 0 and self.tags is not None and bool(np.all(self.scores[self.tags == 1.0] > 0))
