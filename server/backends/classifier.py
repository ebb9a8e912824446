"""What labels texts besides the catalogue's own titles: a model on Bedrock, where one is configured."""

from __future__ import annotations

from contextlib import AsyncExitStack

from server.config.parsing import SettingError
from server.config.settings import Settings
from tools.store.ports import Classifier


async def open_classifier(settings: Settings, stack: AsyncExitStack) -> Classifier | None:
    """Opens it; there is none where titles alone tell. Raises `SettingError` where AWS's own settings cannot be used."""
    if settings.classifier == "local":
        return None
    from botocore.exceptions import InvalidRegionError, NoRegionError, ProfileNotFound

    from tools.store.backends.bedrock.classifier import BedrockClassifier

    try:
        return await stack.enter_async_context(BedrockClassifier.open(settings.classifier.removeprefix("bedrock:")))
    except (NoRegionError, InvalidRegionError, ProfileNotFound):
        message = "MANGA_CLASSIFIER: Bedrock needs AWS_DEFAULT_REGION, or an AWS_PROFILE that has one"
        raise SettingError(message) from None
