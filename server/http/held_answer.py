"""An answer that is kept until it is whole."""

from __future__ import annotations

from starlette.types import Message, Send


class HeldAnswer:
    """The SDK opens a session and answers its initialize under one lock for all: were that answer sent at once, a client
    that reads nothing would keep everybody else from opening one."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    async def take(self, message: Message) -> None:
        self._messages.append(message)

    async def pass_on(self, send: Send) -> None:
        for message in self._messages:
            await send(message)
