"""`python -m server.commands.healthcheck`: exit status 0 if this container's server is alive. Needs no curl and no SDK."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from http.client import HTTPConnection, HTTPException


def main() -> int:
    # If the server listens on all addresses, asks over loopback, which the server trusts.
    host = os.environ.get("MANGA_HOST") or "127.0.0.1"
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    try:
        port = int(os.environ.get("MANGA_PORT") or 8080)
        with closing(HTTPConnection(host, port, timeout=1.5)) as connection:
            connection.request("GET", "/healthz")
            return 0 if connection.getresponse().status == 200 else 1
    except (OSError, HTTPException, ValueError, OverflowError):  # or an invalid port, on which no server started
        return 1


if __name__ == "__main__":
    sys.exit(main())
