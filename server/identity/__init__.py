"""Identification of callers: one `Identifier` for each value of MANGA_AUTH."""

from server.identity.request_metadata import Identifier, InvalidToken, KeysUnavailable, TrustStated, TrustTokens

# Without the identifier for jwt: its libraries are imported only if it is configured.
__all__ = ["Identifier", "InvalidToken", "KeysUnavailable", "TrustStated", "TrustTokens"]
