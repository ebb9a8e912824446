"""Identification of callers: one identifier for each value of MANGA_AUTH."""

from server.identity.request_metadata import CannotTell, Identifier, TrustEverybody, TrustTokens, Unproven

# Not the identifier for jwt, whose libraries are loaded only where it is chosen.
__all__ = ["CannotTell", "Identifier", "TrustEverybody", "TrustTokens", "Unproven"]
