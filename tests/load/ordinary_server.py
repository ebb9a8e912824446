"""Variant B: the same cached search, as one would write it in an afternoon with the SDK's `MCPServer` and redis-py.

Three plain commands a call, one after the other: read the session, read the cached result, write the session back. No
turn budget, no limits, no atomicity, no deadline, no telemetry. The Valkey is the same as the product's, on the same kind
of socket.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from pathlib import Path
from typing import Any

import pydantic_core
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from redis.asyncio import Redis

from session.redis.embedded import embedded_redis
from tests.load.calls import ARGUMENTS, TOOL
from tests.load.children import end_with_parent

SESSION_SECONDS = 30 * 60


def server(redis: Redis) -> MCPServer[Any]:
    mcp: MCPServer[Any] = MCPServer("manga-store", log_level="WARNING")

    @mcp.tool(name=TOOL)
    async def search(
        query: str, ctx: Context, genre: str = "", author: str = "", max_results: int = 5, min_rating: float = 0
    ) -> dict[str, Any]:
        """Searches the store's manga."""
        meta: Any = ctx.request_context.meta or {}
        session = f"session:{meta.get('com.mangaassist/sessionId')}"
        state = await redis.hgetall(session)
        found = await redis.get(key(query, genre, author, max_results, min_rating))
        if found is None:
            raise ValueError("only the cached search is measured")
        await redis.hset(session, mapping={"last_query": query, "calls": int(state.get("calls", 0)) + 1})
        result: dict[str, Any] = pydantic_core.from_json(found)
        return result

    return mcp


def key(*asked: object) -> str:
    return "cache:" + hashlib.sha256(repr(asked).encode()).hexdigest()


async def main(port: int, answer: str) -> None:
    async with embedded_redis() as started:
        redis = Redis(unix_socket_path=started.address.path, decode_responses=True)
        await redis.set(key(ARGUMENTS["query"], "", "", ARGUMENTS["max_results"], 0), answer, ex=24 * 3600)
        # As `run_sse_async` does, by what comes with `pip install mcp`, whatever else is installed here.
        config = uvicorn.Config(server(redis).sse_app(), port=port, log_level="warning", http="h11", loop="asyncio")
        await uvicorn.Server(config).serve()
        await redis.aclose()


if __name__ == "__main__":
    end_with_parent()
    asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2]).read_text("utf-8")))
