"""Which identifier the settings ask for, with the tasks that it needs."""

from __future__ import annotations

from contextlib import AsyncExitStack

from server.config.settings import Settings
from server.identity.everybody import TrustEverybody
from server.identity.identifier import Identifier
from server.identity.tokens import TrustTokens
from server.runtime.background import Background


async def open_identifier(settings: Settings, stack: AsyncExitStack, background: Background, *, local: bool) -> Identifier:
    """Opens the one that is set, neither blocked nor stopped by an issuer that is away. Raises `SettingError`."""
    if local:
        return TrustEverybody(settings.user)
    if settings.auth == "none":
        return TrustEverybody()
    if settings.auth == "token":
        tokens = TrustTokens(settings.tokens())
        if settings.auth_tokens_file is not None:
            background.run("tokens", lambda: tokens.follow(settings.tokens))
        return tokens
    from server.identity.issuer import TrustIssuer
    from server.identity.jwt.access_token import AccessTokens
    from server.identity.jwt.issuer_keys import IssuerKeys
    from server.identity.jwt.jwks_source import jwks_source
    from server.identity.jwt.verifier import Verifier

    assert settings.jwt_jwks_url is not None
    assert settings.jwt_issuer is not None
    keys = IssuerKeys(await stack.enter_async_context(jwks_source(settings.jwt_jwks_url)))
    background.run("issuer's keys", keys.keep_fresh)
    return TrustIssuer(Verifier(keys, AccessTokens(settings.jwt_issuer, settings.jwt_audience)))
