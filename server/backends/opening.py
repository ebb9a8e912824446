"""All the backends, opened in the order in which they need one another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from server.backends.catalog import open_catalog
from server.backends.classifier import open_classifier
from server.backends.embedder import open_embedder
from server.backends.pages import open_pages
from server.backends.ports import Ports, Progress, nothing_to_prepare
from server.backends.shared import Shared
from server.backends.store import open_store
from server.config.settings import Settings
from tools.store.backends.watched_embedder import WatchedEmbedder

OpenPorts = Callable[[Settings, AsyncExitStack], Awaitable[Ports]]


async def open_ports(
    settings: Settings, stack: AsyncExitStack, progress: Progress | None = None, shared: Shared | None = None
) -> Ports:
    """Opens them all. Those in this process are loaded, but for what is `shared`; those elsewhere need not answer yet."""
    shared = shared or Shared()
    embedder = await open_embedder(settings, stack, shared)
    watched = WatchedEmbedder(embedder) if embedder is not None else None
    catalog = await open_catalog(settings, stack, watched, progress, shared)
    store = await open_store(settings, stack, catalog, shared)
    classifier = await open_classifier(settings, stack)
    prepared = getattr(catalog, "wait_for_vectors", nothing_to_prepare)
    pages = await open_pages(settings, stack)
    return Ports(
        catalog,
        store.titles,
        store.stock,
        store.releases,
        store.orders,
        store.profiles,
        store.preferences,
        pages,
        watched,
        prepared,
        classifier,
    )
