"""Who is believed: one identifier for each value of MANGA_AUTH."""

from server.identity.everybody import TrustEverybody
from server.identity.identifier import CannotTell, Identifier, Unproven
from server.identity.tokens import TrustTokens

# Not the one for jwt: what it is made of is loaded only where it is chosen.
__all__ = ["CannotTell", "Identifier", "TrustEverybody", "TrustTokens", "Unproven"]
