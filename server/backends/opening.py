"""All the backends, opened in the order in which they need one another."""

from __future__ import annotations

from contextlib import AsyncExitStack

from server.backends.catalog import open_catalog
from server.backends.classifier import open_classifier
from server.backends.embedder import open_embedder
from server.backends.pages import open_pages
from server.backends.ports import Ports, Progress, nothing_to_prepare
from server.backends.store import open_store
from server.config.settings import Settings
from tools.store.backends.watched_embedder import WatchedEmbedder


async def open_ports(settings: Settings, stack: AsyncExitStack, progress: Progress | None) -> Ports:
    """Opens them all. Those in this process are loaded; those elsewhere need not answer yet."""
    embedder = await open_embedder(settings, stack)
    watched = WatchedEmbedder(embedder) if embedder is not None else None
    catalog = await open_catalog(settings, stack, watched, progress)
    store = await open_store(settings, stack, catalog)
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
