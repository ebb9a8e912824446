"""Reading requests' bodies, within bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from starlette.responses import Response
from starlette.types import Message, Receive

from server.transport.http.bounds.fair_queue import FairQueue, customer_of
from server.transport.http.responses import busy, plain
from server.transport.message_shape import excess

TOGETHER = 256
Headers = Iterable[tuple[bytes, bytes]]


class Bodies:
    """At most `most` bytes each, and 256 times as much of all that are being read: many that are sent slowly add up.

    One holder may have as much of that as is left over, which is half when it is alone and a third beside another: there
    is always room for one more (dynamic thresholds; Choudhury and Hahne, IEEE/ACM Transactions on Networking 6, 1998)."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._room = TOGETHER * most
        self._held: Counter[str] = Counter()
        self._queue = FairQueue()

    async def read(self, receive: Receive, holder: str, headers: Headers = ()) -> bytes | Response:
        """Returns the body, once it is its holder's turn to be served, and its customer's, or what to answer instead. Its
        values and their depth are bounded too."""
        body = bytearray()
        try:
            while True:
                part = await receive()
                if part["type"] != "http.request":
                    return plain(400, "The body is not whole.")  # the client has gone, and will not read this
                piece = part.get("body", b"")
                body += piece
                self._hold(holder, len(piece))
                if len(body) > self._most:
                    return plain(413, f"A message has at most {self._most} bytes.")
                if self._held[holder] > self._room:
                    return busy("There are as many messages on their way as this server reads at once.")
                if not part.get("more_body", False):
                    await self.turn(holder, customer_of(body, headers))
                    return bytes(body) if (wrong := excess(body)) is None else plain(413, wrong)
        finally:
            self._hold(holder, -len(body))

    async def turn(self, holder: str, customer: bytes = b"") -> None:
        """Returns when a message of this holder, for this customer of its, may go on."""
        await self._queue.next(holder, customer)

    def _hold(self, holder: str, size: int) -> None:
        self._held[holder] += size
        self._room -= size
        if not self._held[holder]:
            del self._held[holder]


def read_again(body: bytes, receive: Receive) -> Receive:
    """Returns a `receive` for whoever reads the body once more; what follows comes from the client as ever."""
    read = False

    async def receiving() -> Message:
        nonlocal read
        if read:
            return await receive()
        read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving
