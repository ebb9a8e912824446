"""`python -m infra.agent.healthcheck`: exits with 0 if the service in this container is alive, with or without the store."""

from __future__ import annotations

import sys
from contextlib import closing
from http.client import HTTPConnection, HTTPException

from infra.agent.options import PORT

TIMEOUT_SECONDS = 1.5


def main(port: int = PORT) -> int:
    try:
        with closing(HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)) as connection:
            connection.request("GET", "/healthz")
            return 0 if connection.getresponse().status == 200 else 1
    except (OSError, HTTPException):
        return 1


if __name__ == "__main__":
    sys.exit(main())
