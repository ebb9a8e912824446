"""How the titles of an answer are called that knows them by id alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tools.contract import ToolContext

NAMES_SECONDS = 0.06
"""What an answer may wait for the names of titles that nobody has asked for lately."""


def known_names(context: ToolContext, title_ids: Iterable[str]) -> dict[str, str]:
    """Those that the process knows."""
    ids, popular = list(title_ids), context.store.popular
    popular_ones = {i: title.display for i in ids if (title := popular.known(i)) is not None}
    return popular_ones | context.store.names.known(ids)


async def names_of(context: ToolContext, title_ids: Sequence[str]) -> Mapping[str, str]:
    """As far as they are known or come in half of the time that is left: they are not what was asked for."""
    known, store = known_names(context, title_ids), context.store
    missing = [title_id for title_id in title_ids if title_id not in known]
    deadline = context.deadline.within(min(NAMES_SECONDS, context.deadline.remaining() / 2))
    return {**known, **await store.names.of(missing, store.titles, deadline)} if missing else known
