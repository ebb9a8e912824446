"""What is said on a stream, from its opening request to its end, in the era of the protocol that its client opens with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import ServerRunner, aclose_shielded
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext

from server.transport.http.sse.direct import DirectCalls, DirectTools
from server.transport.http.sse.messages import Incoming, Outgoing

END_SECONDS = 2.0
"""What calls that were cut off may take to be over; longer than one waits to tell its client (`direct.CLOSED_SECONDS`)."""
OTHER_ERA = (
    "this connection serves the handshake protocol era; requests carrying the 2026-07-28 envelope are not accepted on it"
)
"""As the SDK says it."""


async def converse(mcp: Server[Any], direct: DirectTools | None, incoming: Incoming, outgoing: Outgoing) -> None:
    """Serves one client until it has gone. What opens with a handshake is served here, as the SDK's own `Server.run` would,
    but for the calls that `direct` takes; what does not is left to that."""
    options = mcp.create_initialization_options()
    opening = await incoming.opening() if direct is not None else None
    if direct is None or opening is None or (opening.method != "initialize" and _enveloped(opening.params)):
        await mcp.run(incoming, outgoing, options)
        return
    async with mcp.lifespan(mcp) as lifespan:
        dispatcher: JSONRPCDispatcher[TransportContext] = JSONRPCDispatcher(
            incoming, outgoing, inline_methods=frozenset({"initialize"})
        )
        connection = Connection.for_loop(dispatcher)
        runner = ServerRunner(mcp, connection, lifespan, init_options=options)
        calls = DirectCalls(direct, connection, outgoing, lifespan)
        incoming.pass_by(calls.take)
        incoming.ready = outgoing.taken
        try:
            await dispatcher.run(_of_one_era(runner), runner.on_notify)
        finally:
            incoming.pass_by(None)
            # Where the whole conversation is cancelled, what it waits for at its end is not.
            with anyio.move_on_after(END_SECONDS, shield=True):
                await calls.aclose()
            await aclose_shielded(connection)


def _of_one_era(runner: ServerRunner[Any]) -> Any:
    async def on_request(
        dctx: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        if method != "initialize" and _enveloped(params):
            raise MCPError(types.INVALID_REQUEST, OTHER_ERA)
        return await runner.on_request(dctx, method, params)

    return on_request


def _enveloped(params: Mapping[str, Any] | None) -> bool:
    """Whether a request carries the envelope of the 2026 era."""
    meta = (params or {}).get("_meta")
    return isinstance(meta, Mapping) and types.PROTOCOL_VERSION_META_KEY in meta
