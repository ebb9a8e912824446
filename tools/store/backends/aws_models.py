"""What botocore knows of AWS's services, read from its files once for all clients: 0.2 s and 7 MB for each further one."""

from __future__ import annotations

from functools import lru_cache

from botocore.loaders import Loader, create_loader

USER_AGENT = "mangaassist"
"""Given to every client, since the driver puts its own together twice for each call."""


@lru_cache(maxsize=1)
def service_models() -> Loader:
    """For `register_component("data_loader", …)` of a session."""
    return create_loader()
