"""What makes vectors of texts, for search by meaning."""

from __future__ import annotations

from contextlib import AsyncExitStack

from server.backends.shared import Shared
from server.config.parsing import SettingError
from server.config.settings import Settings
from tools.store.ports import Embedder


async def open_embedder(settings: Settings, stack: AsyncExitStack, shared: Shared | None = None) -> Embedder | None:
    """Opens it; there is none where search is by words alone. Raises `SettingError` where AWS's own settings cannot be
    used."""
    if settings.embedder == "none":
        return None
    if settings.embedder == "local":
        from tools.store.backends.embedded.embedder import LocalEmbedder

        return await stack.enter_async_context(LocalEmbedder(shared.encoder if shared else None))
    return await _open_bedrock(settings.embedder.removeprefix("bedrock:"), stack)


async def _open_bedrock(model: str, stack: AsyncExitStack) -> Embedder:
    from botocore.exceptions import InvalidRegionError, NoRegionError, ProfileNotFound

    from tools.store.backends.bedrock.embedder import BedrockEmbedder

    try:
        return await stack.enter_async_context(BedrockEmbedder.open(model))
    except (NoRegionError, InvalidRegionError, ProfileNotFound):
        raise SettingError("MANGA_EMBEDDER: Bedrock needs AWS_DEFAULT_REGION, or an AWS_PROFILE that has one") from None
