"""What stands behind each port, chosen by URL. A driver is imported only when it is chosen."""

from server.backends.opening import OpenPorts, Shared, open_classifier, open_embedder, open_ports
from server.backends.ports import EMBEDDED, Ports, Prepared, Progress
from server.backends.redis import open_redis

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
