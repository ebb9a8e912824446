"""The store's own record of each title, by BatchGetItem: what details are answered from while the catalogue is away.

Reads are eventually consistent: text about a title changes when the catalogue is loaded, and no sooner.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from session.resilience.deadline import Deadline
from tools.store.backends.aws_failures import answering
from tools.store.backends.dynamodb.batch_reading import BatchReader
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.dynamodb.items import TITLE_FIELDS, title_of
from tools.store.backends.dynamodb.probe import health_of
from tools.store.backends.dynamodb.tables import TITLES
from tools.store.models import Health, Title
from tools.store.records.shape import ShapeError

logger = logging.getLogger(__name__)


class DynamoTitles:
    """One item a title."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._reader = BatchReader(connection, TITLES, TITLE_FIELDS)

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        """Those that were got to in time and can be read; a failure only when no title at all could be answered."""
        async with answering("titles", deadline):
            found = await self._reader.read(title_ids, deadline)
            titles: dict[str, Title] = {}
            for title_id, item in found.items.items():
                try:
                    titles[title_id] = title_of(item, title_id)
                except ShapeError as error:
                    logger.warning("the record of %s cannot be read: %s", title_id, error)
            if found.asked and len(found.unanswered) + len(found.items) - len(titles) == found.asked:
                raise found.explain("titles")
            return titles

    async def health(self, deadline: Deadline) -> Health:
        """Whether the table can be read now."""
        return await health_of(self._connection, TITLES, deadline)
