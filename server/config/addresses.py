"""Hosts and networks, as settings name them."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address, ip_network

from server.config.parsing import SettingError, listed

_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")
_HOST_AND_PORT = re.compile(r"(?:\[([^\]]+)\]|([^:\[\]]+))(?::(\*|[0-9]{1,5}))?")


def host_name(text: str) -> str:
    """Reads one name or address, as a socket takes it."""
    if not (_is_address(text) or _NAME.fullmatch(text)):
        raise SettingError("has to be one name or address, without scheme, port, path or brackets")
    return text


def hosts(text: str) -> tuple[str, ...]:
    """Reads names as a Host header has them, in lower case. Raises `SettingError`."""
    found = tuple(each.lower() for each in listed(text))
    if not all(_is_allowed_host(each) for each in found):
        raise SettingError(
            "has to be names such as shop.example, shop.example:8080 or shop.example:*, no scheme and no path"
        )
    return found


def _is_allowed_host(text: str) -> bool:
    parts = _HOST_AND_PORT.fullmatch(text)
    if parts is None:
        return False
    address, name, port = parts.groups()
    known = _is_address(address, IPv6Address) if address else bool(_NAME.fullmatch(name))
    return known and (port in (None, "*") or 0 < int(port) <= 65535)


def _is_address(text: str, read: Callable[[str], object] = ip_address) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def networks(text: str) -> tuple[str, ...]:
    """Reads addresses, or networks as 10.0.0.0/8."""
    try:
        return tuple(str(ip_network(each)) for each in listed(text))
    except ValueError:
        raise SettingError("has to be IP addresses or networks, comma separated") from None


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
