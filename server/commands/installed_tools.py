"""The tools of a server that starts now, for commands that ask none."""

from __future__ import annotations

from server.config.settings import Settings
from server.packages.packages import IMPORT_SECONDS, Packages
from server.packages.reload_socket import Report
from server.version import VERSION
from tools.registry import Registry


async def installed_tools(settings: Settings, import_seconds: float = IMPORT_SECONDS) -> tuple[Registry, Report]:
    """Returns them, those of packages included, and what came of the packages. Once in a process: a module is imported anew
    only by whoever has imported it."""
    registry = Registry(version=VERSION, setting=settings.adult, text_fresh_seconds=settings.cache_ttl_s)
    return registry, await Packages(registry, import_seconds).reload()
