"""A store whose catalogue answers one search after the other as it is told, and notes what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, cast

from session.resilience.deadline import Deadline
from tools.contract import ToolContext
from tools.store.audience import Adult
from tools.store.failures import BackendFailure
from tools.store.identifiers import Identifiers
from tools.store.models import CatalogPage, CatalogQuery, CatalogTerms, NameMatches
from tools.store.models.order import Policies
from tools.store.search.reading.reader import Reader
from tools.store.store import Store

Answers = Callable[[CatalogQuery], CatalogPage | BackendFailure]


class ScriptedCatalog:
    """`answers` says what it has for a query."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.asked: list[CatalogQuery] = []

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage:
        self.asked.append(query)
        page = self._answers(query)
        if isinstance(page, BackendFailure):
            raise page
        return page

    async def terms(self, deadline: Deadline) -> CatalogTerms:
        return CatalogTerms({}, {})

    async def match_names(self, names: Sequence[str], deadline: Deadline) -> dict[str, NameMatches]:
        return {}


def context_of(catalog: ScriptedCatalog) -> ToolContext:
    """A call that reaches nothing but the catalogue."""
    others = {each.name: cast(Any, None) for each in fields(Store)} | {
        "adult": Adult.ON_REQUEST,
        "identifiers": Identifiers(),
        "policies": Policies(),
    }
    store = Store(**others | {"catalog": cast(Any, catalog), "reader": Reader(catalog)})
    return ToolContext(store, None, Deadline.after(5))
