"""Identification of callers: one identifier for each value of MANGA_AUTH."""

from server.identity.request_metadata import CannotTell, Identifier, TrustEverybody, TrustTokens, Unproven

# Not the one for jwt: what it is made of is loaded only where it is chosen.
__all__ = ["CannotTell", "Identifier", "TrustEverybody", "TrustTokens", "Unproven"]
