"""Which Host and Origin headers are accepted."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class AllowedOrigins:
    """`name` allows a name without a port and with the server's own, `name:*` any port, `name:1234` that one."""

    def __init__(self, host: str, port: int, further: Sequence[str] = ()) -> None:
        # Listening everywhere is no name to be called by.
        own = () if host in ("0.0.0.0", "::") else (f"[{host}]" if ":" in host else host,)  # noqa: S104
        self._any_port = set(LOOPBACK) | {each[:-2] for each in further if each.endswith(":*")}
        self._exact = {variant for name in own for variant in (name, f"{name}:{port}")}
        for name in (each for each in further if not each.endswith(":*")):
            self._exact |= {name, f"{name}:{port}"} if ":" not in name.rsplit("]", 1)[-1] else {name}

    def host(self, header: str | None) -> bool:
        if not header:
            return False
        header = header.lower()
        name, port = _split(header)
        return header in self._exact or (name in self._any_port and (port == "" or port.isdigit()))

    def origin(self, header: str | None) -> bool:
        """No Origin is not a browser; one has to be http or https and of an allowed host."""
        if not header:
            return True
        try:
            parts = urlsplit(header)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and not parts.path and self.host(parts.netloc)


def _split(header: str) -> tuple[str, str]:
    """Splits host and port of a Host header, whose IPv6 addresses stand in brackets."""
    if header.startswith("["):
        name, _, port = header.partition("]")
        return f"{name}]", port.removeprefix(":")
    name, _, port = header.partition(":")
    return name, port
