"""Everything that is looked for in a text, in its order: of two claims of the same words, the earlier finder's counts."""

from __future__ import annotations

from tools.store.models import CatalogTerms
from tools.store.search.reading.adjectives import adjectives_in
from tools.store.search.reading.again import find_again
from tools.store.search.reading.availability import find_availability, find_format
from tools.store.search.reading.claim import Find
from tools.store.search.reading.comparison import Comparison
from tools.store.search.reading.disliked import find_disliked
from tools.store.search.reading.indifference import find_indifference
from tools.store.search.reading.length import find_lengths, find_read_so_far
from tools.store.search.reading.magazine import magazines_from
from tools.store.search.reading.needless import Needless
from tools.store.search.reading.negation import negatable
from tools.store.search.reading.optional import optional
from tools.store.search.reading.orderings import find_ordering
from tools.store.search.reading.permission import Permission
from tools.store.search.reading.persons import find_bought_for
from tools.store.search.reading.price import find_price
from tools.store.search.reading.rating import awards_from, find_rating
from tools.store.search.reading.readership import find_readership
from tools.store.search.reading.recipients.recipient import find_recipient
from tools.store.search.reading.status import find_status
from tools.store.search.reading.unwanted.unwanted import Unwanted
from tools.store.search.reading.vocabulary import Vocabulary
from tools.store.search.reading.years import years_from


def finders(terms: CatalogTerms, this_year: int) -> tuple[Find, ...]:
    """The finders of a catalogue of these words."""
    vocabulary = Vocabulary.of(terms.tags) if terms.tags else Vocabulary.shipped()
    return (
        Needless(vocabulary),
        Permission(vocabulary),
        Comparison(vocabulary),
        find_again,
        optional(Unwanted(vocabulary), allows=False),
        optional(find_recipient, allows=False),
        find_bought_for,
        find_disliked,
        optional(find_readership, allows=False),
        optional(negatable(find_status)),
        find_indifference,
        find_read_so_far,
        optional(negatable(find_lengths)),
        optional(negatable(years_from(this_year))),
        optional(negatable(adjectives_in(this_year))),
        optional(find_rating),
        optional(negatable(awards_from(terms))),
        optional(find_price),
        optional(negatable(find_format)),
        optional(find_availability),
        optional(find_ordering),
        optional(magazines_from(terms)),
    )
