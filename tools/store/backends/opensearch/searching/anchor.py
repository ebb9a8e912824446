"""Finding the title that a query points from."""

from __future__ import annotations

from collections.abc import Iterable

from tools.store.backends.opensearch.index.cards import card_from
from tools.store.backends.opensearch.index.definition import ID
from tools.store.backends.opensearch.index.documents import direction_from
from tools.store.backends.opensearch.index.statistics import Statistics
from tools.store.backends.opensearch.queries.dsl import column
from tools.store.backends.opensearch.searching.candidates import Anchor, RecalledTitles
from tools.store.backends.opensearch.searching.title_cache import Answer
from tools.store.search.ranking.names import pointed_from
from tools.store.search.ranking.weights import Weights


def anchor_among(
    name: str, aliases: Iterable[str], answer: Answer, statistics: Statistics, weights: Weights
) -> Anchor | None:
    """The best known of the hits that is called `name` or one of `aliases` (sound keys), if one is."""
    hits = answer["hits"]["hits"]
    ids, cards = [column(hit, ID) for hit in hits], [card_from(column(hit, "card")) for hit in hits]
    row = pointed_from(name, aliases, RecalledTitles(ids, cards, statistics), weights)
    if row is None:
        return None
    return Anchor(ids[row], cards[row], direction_from(hits[row]["_source"].get("direction")))
