"""What goes by exactly a name, asked for once: an index never changes. A search asks for the names that its text may be on
its way, so that whoever wants to know next need not ask again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.backends.opensearch.client import Client
from tools.store.backends.opensearch.index.state import IndexState
from tools.store.backends.opensearch.queries.called import called, called_from, index_of
from tools.store.backends.opensearch.searching.title_cache import Answer
from tools.store.models import Called
from tools.store.search.titles.called import ExactName, exact_names

CAPACITY = 20_000
"""Names, most of which nothing goes by."""


class CalledNames:
    """Names that were looked for lately, by index."""

    def __init__(self, client: Client, state: IndexState, capacity: int = CAPACITY) -> None:
        self._client, self._state = client, state
        self._known: Lru[tuple[str, str], Called] = Lru(capacity)

    def unknown(self, asked: Sequence[str], index: str) -> dict[str, ExactName]:
        """Those of the names that were not looked for in the index lately."""
        return {each: name for each, name in exact_names(asked).items() if (index, each) not in self._known}

    def learn(self, answer: Answer, asked: Mapping[str, ExactName], index: str) -> dict[str, Called]:
        """Takes the answer to `queries.called(asked)`, of the index unless it names another. Raises LookupError, TypeError
        and ValueError for one that is none."""
        found = called_from(answer, asked)
        answered = index_of(answer)
        self._state.seen(answered)
        for each in asked:
            self._known.put((answered or index, each), found[each])
        return found

    async def find(self, asked: Sequence[str], deadline: Deadline) -> dict[str, Called]:
        """Asks for those that are not known, all in one request. Raises BackendFailure, and LookupError, TypeError and
        ValueError for an answer that is none."""
        names = exact_names(asked)
        index = (await self._state.statistics(deadline)).name
        unknown = self.unknown(asked, index)
        found = {each: known for each in names if (known := self._known.use((index, each))) is not None}
        if unknown:
            found |= self.learn((await self._client.searches([called(unknown)], deadline))[0], unknown, index)
        return {each: found[each] for each in names if found[each] != Called()}
