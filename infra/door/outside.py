"""The agent's way out of its network, which has none: sends words to sockets, and reads the issuer's keys.

API Gateway takes no message for a WebSocket over a VPC endpoint, so the agent invokes this function over Lambda's, and the
function posts it. One file, with the botocore that Lambda has.
"""

from __future__ import annotations

import json
import os
import time
import urllib.request
from functools import cache
from typing import Any

MOST_BYTES = 32_768
"""Most bytes of one message to a socket: the frame that API Gateway does not split."""
MOST_KEYS = 150_000
FETCH_SECONDS = 3
FLOOD = "RATE_LIMITED"
"""Name of the agent's refusal of a customer who asks too much at once; the socket that hears it is closed."""
NOTED_SECONDS = 600
Json = dict[str, Any]


class _NoOther(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *ignored: Any) -> None:
        """Refuses redirects: an issuer's keys are at one address."""


def keys(url: str) -> Json:
    """Returns the issuer's set of keys, unchanged. Raises OSError and ValueError."""
    if not url.startswith("https://"):
        raise ValueError("keys come over https")
    with urllib.request.build_opener(_NoOther).open(url, timeout=FETCH_SECONDS) as response:
        told = response.read(MOST_KEYS + 1)
    if len(told) > MOST_KEYS:
        raise ValueError("the set of keys is too large")
    return dict(json.loads(told))


def post(driver: Any, connection: str, message: Json, tables: Any = None, table: str = "") -> Json:
    """Posts a message to a socket, and closes one that floods, with a note in `table` for the authorizer before the customer
    hears of it. Returns status 200, 410 if the customer has gone, else 502."""
    data = json.dumps(message, ensure_ascii=False).encode()
    if len(data) > MOST_BYTES:
        return {"status": 502}
    floods = message.get("name") == FLOOD
    if floods:
        note = {"customer": {"S": f"closed {connection}"}, "ends_at": {"N": str(int(time.time()) + NOTED_SECONDS)}}
        _attempt("unnoted", tables.put_item, TableName=table, Item=note)
    try:
        driver.post_to_connection(ConnectionId=connection, Data=data)
    except driver.exceptions.GoneException:
        return {"status": 410}
    except Exception as error:  # what went wrong is the caller's to try again, and this line's to name
        print(json.dumps({"unsent": type(error).__name__}))
        return {"status": 502}
    if floods:
        _attempt("unclosed", driver.delete_connection, ConnectionId=connection)
    return {"status": 200}


def _attempt(failed: str, call: Any, **arguments: Any) -> None:
    """Makes a call whose failure leaves the message as it is, and logs the failure."""
    try:
        call(**arguments)
    except Exception as error:
        print(json.dumps({failed: type(error).__name__}))


@cache
def _drivers() -> tuple[Any, Any]:
    import boto3

    return boto3.client("apigatewaymanagementapi", endpoint_url=os.environ["CALLBACK_URL"]), boto3.client("dynamodb")


def handler(event: Json, context: object) -> Json:
    """Lambda's entry."""
    if event.get("keys"):
        return keys(os.environ["JWT_JWKS_URL"])
    sockets, tables = _drivers()
    return post(sockets, event["connection"], event["message"], tables, os.environ["SOCKETS_TABLE"])
