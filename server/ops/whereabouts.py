"""Whether a caller is on this machine, which is what lets one look where nobody has to prove anything."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.datastructures import Headers
from starlette.types import Scope

CHAIN = "x-forwarded-for"
PROXIED = (CHAIN, "forwarded", "via", "x-real-ip", "x-forwarded-host", "x-forwarded-proto")
"""What proxies add. Of these the server reads the chain, and the protocol, and those of trusted proxies alone."""


class Whereabouts:
    """A proxy on this machine that is trusted says where its caller is. Any other speaks for anybody: one elsewhere may have
    a loopback of its own in mind, and one that names nobody knows nobody."""

    def __init__(self, trusted_proxies: Sequence[str]) -> None:
        self._by_proxy = bool(trusted_proxies) and all(ip_network(each).is_loopback for each in trusted_proxies)

    def is_here(self, scope: Scope) -> bool:
        client, headers = scope.get("client"), Headers(scope=scope)
        if client is None or not _is_loopback(client[0]):
            return False
        if not any(name in headers for name in PROXIED):
            return True
        chain = ",".join(headers.getlist(CHAIN)).split(",")
        return self._by_proxy and all(_is_loopback(each.strip()) for each in chain)


def _is_loopback(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
