"""`python -m server.healthcheck`: exit status 0 when the server in this container lives. Needs no curl and no SDK."""

from __future__ import annotations

import os
import sys
from http.client import HTTPConnection, HTTPException

TIMEOUT_SECONDS = 1.5


def main() -> int:
    # A server that listens on every address is asked over loopback, which it trusts.
    host = os.environ.get("MANGA_HOST") or "127.0.0.1"
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    connection = HTTPConnection(host, int(os.environ.get("MANGA_PORT") or 8080), timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/healthz")
        return 0 if connection.getresponse().status == 200 else 1
    except (OSError, HTTPException):
        return 1
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
