"""`python -m server tools reload`: has the server that runs load its packages anew. It needs nothing of what tools need."""

from __future__ import annotations

import json

from server.commands.errors import print_error
from server.config.settings import Settings
from server.packages.reload_socket import NoServer, ask_to_reload


async def reload_tools(settings: Settings, *, as_json: bool) -> int:
    """Prints what the server did. Exit status 1 when it refused a package, and when there is no server."""
    try:
        report = await ask_to_reload(settings.host, settings.port)
    except TimeoutError:
        return print_error("the server has not answered; it may still be loading its packages: see its log", 1)
    except NoServer as error:
        where = f"{settings.host}:{settings.port}"
        return print_error(f"no server of this user at {where} (MANGA_HOST, MANGA_PORT): nobody answers at {error}", 1)
    print(json.dumps(report.as_json(), ensure_ascii=False, indent=2) if as_json else report)
    return 0 if report.well else 1
