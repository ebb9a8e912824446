"""Opens the backend of each port, chosen by its URL. A client library is imported only if its backend is chosen."""

from server.backends.opening import (
    EMBEDDED,
    OpenPorts,
    Ports,
    Prepared,
    Progress,
    Shared,
    open_classifier,
    open_embedder,
    open_ports,
    open_redis,
)

__all__ = [
    "EMBEDDED",
    "OpenPorts",
    "Ports",
    "Prepared",
    "Progress",
    "Shared",
    "open_classifier",
    "open_embedder",
    "open_ports",
    "open_redis",
]
