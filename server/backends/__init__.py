"""Opens the backend of each port, chosen by its URL. A backend's client library is imported only if chosen."""

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
