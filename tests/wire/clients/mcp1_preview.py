"""One preview as the official Python client of the 1.x line takes it over SSE, printed as JSON: `mcp1_preview.py URL TITLE_ID`."""

from __future__ import annotations

import asyncio
import base64
import json
import sys

from mcp import ClientSession
from mcp.client.sse import sse_client


async def main(url: str, title_id: str) -> dict[str, object]:
    async with sse_client(url) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        # The client checks the result against the tool's output schema and raises when it does not fit.
        await session.list_tools()
        result = await session.call_tool("preview_manga_pages", {"title_id": title_id})
    images = [block for block in result.content if block.type == "image"]
    return {
        "kinds": [block.type for block in result.content],
        "starts": [base64.b64decode(block.data)[:4].decode("latin-1") for block in images],
        "types": [block.mimeType for block in images],
        "alts": [(block.meta or {}).get("com.mangaassist/alt") for block in images],
        "pages": result.structuredContent["pages"],
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
