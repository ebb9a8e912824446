"""Turns of the example agent against a server on real backends, whose spans all go to a real viewer.

python -m tests.observability.turns --write     the viewer's page of one, into infra/docs/pictures/trace.png
python -m tests.observability.turns FILE        elsewhere
"""

from __future__ import annotations

import asyncio
import io
import os
import sys
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from PIL import Image

from server.config.settings import ROOT
from tests.observability.target import target
from tests.stack import dynamodb, opensearch, zipkin
from tests.stack.prometheus import Prometheus, prometheus
from tests.stack.seeding import Destination
from tests.stack.zipkin import Viewer
from tests.support.browser import chromium
from tests.support.browser.looking import looking, picture
from tests.support.environments import python_of
from tests.support.hearing_proxy import HearingProxy
from tests.support.process import serving, until

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

PICTURE = ROOT / "infra/docs/pictures/trace.png"
WIDTH, HEIGHT = 1280, 1200
COLORS = 96
"""Of the palette: a third of the bytes."""
AGENT, SERVER = "manga-agent", "manga-tools"
AGENT_SECONDS = 90.0
ARRIVE_SECONDS = 30.0
SEARCH = "search_manga_catalog"
Span = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """`heard` are trace and span ids, as OpenSearch was told them; `examples` are the traces that points of the histogram of
    durations lead to, as Prometheus has them."""

    viewer: Viewer
    heard: list[tuple[str, str]]
    examples: set[str]
    traces: list[list[Span]]

    @property
    def first(self) -> list[Span]:
        """The trace of the first turn, which searches and then looks at the stock."""
        return min(self.traces, key=lambda spans: min(span["timestamp"] for span in spans))

    @property
    def asked(self) -> list[Span]:
        """The attempts at OpenSearch in that turn, the first one first."""
        found = [span for span in self.first if span.get("tags", {}).get("db.system.name") == "opensearch"]
        return sorted(found, key=lambda span: span["timestamp"])


@asynccontextmanager
async def turns(viewer: Viewer, destination: Destination) -> AsyncIterator[Told]:
    """The whole scripted conversation, once its last span has arrived. `destination` has to be filled."""
    node = urlsplit(destination.node)
    sent = {"OTEL_EXPORTER_OTLP_ENDPOINT": viewer.otlp, "OTEL_BSP_SCHEDULE_DELAY": "100"}
    async with HearingProxy.before(node.port or 0) as proxy:
        settings = {name.removeprefix("MANGA_").lower(): value for name, value in destination.settings.items()}
        settings["catalog_url"] = settings["catalog_url"].replace(f":{node.port}/", f":{proxy.port}/")
        async with serving(variables=sent, **settings) as server, _watching(server.url) as watching:
            command = [str(python_of("clients/strands")), "-m", "infra.agent.agent", "--url", f"{server.url}/sse"]
            agent = await asyncio.create_subprocess_exec(
                *command,
                cwd=ROOT,
                env={**os.environ, **sent},
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            async with asyncio.timeout(AGENT_SECONDS):
                said, _ = await agent.communicate()
            assert agent.returncode == 0, said.decode()
            await until(
                lambda: asyncio.to_thread(_all_there, viewer), ARRIVE_SECONDS, "spans of agent and server in each turn"
            )
            await until(lambda: asyncio.to_thread(_has_examples, watching), ARRIVE_SECONDS, "examples in Prometheus")
            traces = await asyncio.to_thread(_of_turns, viewer)
            yield Told(viewer, proxy.traceparents(), _examples(watching), traces)


@asynccontextmanager
async def _watching(url: str) -> AsyncIterator[Prometheus]:
    with prometheus(urlsplit(url).netloc, scrape_seconds=0.5) as watching:
        yield watching


def _examples(watching: Prometheus) -> set[str]:
    now = time.time()
    found = watching.asked("query_exemplars", query="manga_call_seconds_bucket", start=now - AGENT_SECONDS * 2, end=now)
    return {each["labels"]["trace_id"] for series in found for each in series["exemplars"]}


def _has_examples(watching: Prometheus) -> bool:
    return bool(_examples(watching))


def _of_turns(viewer: Viewer) -> list[list[Span]]:
    return viewer.found(serviceName=AGENT, spanName="turn", limit=20)


def _all_there(viewer: Viewer) -> bool:
    """Each call that the agent sent has its span of the server."""
    traces = _of_turns(viewer)
    return bool(traces) and all(_calls(spans, AGENT, "CLIENT") == _calls(spans, SERVER, "SERVER") > 0 for spans in traces)


def _calls(spans: list[Span], service: str, kind: str) -> int:
    return sum(
        span["localEndpoint"]["serviceName"] == service and span.get("kind") == kind and _is_call(span) for span in spans
    )


def _is_call(span: Span) -> bool:
    return "tools/call" in span["name"]


def way_up(span: Span, spans: list[Span]) -> Iterator[Span]:
    """The span, what it was done in, and so on, up to the root."""
    by_id = {each["id"]: each for each in spans}
    at: Span | None = span
    while at is not None:
        yield at
        at = by_id.get(at.get("parentId", ""))


@asynccontextmanager
async def shown(browser: Browser, told: Told) -> AsyncIterator[Page]:
    """The viewer's own page of the first turn, down to the attempts at OpenSearch."""
    async with looking(browser, told.viewer.url, width=WIDTH, height=HEIGHT) as page:
        await page.goto(told.viewer.page(told.first[0]["traceId"]))
        await page.get_by_text(f"{SERVER}: {told.asked[0]['name']}", exact=True).first.wait_for()
        yield page


def written(png: bytes, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    Image.open(io.BytesIO(png)).convert("RGB").quantize(COLORS).save(path, optimize=True)


async def draw(path: Path) -> None:
    with ExitStack() as stack:
        viewer = stack.enter_context(zipkin.viewer())
        node = os.environ.get("MANGA_STACK_OPENSEARCH") or stack.enter_context(opensearch.opensearch_node())
        tables = os.environ.get("MANGA_STACK_DYNAMODB") or stack.enter_context(dynamodb.dynamodb_local())
        destination = Destination(node, tables, f"turns{uuid.uuid4().hex[:8]}")
        await asyncio.to_thread(destination.seed)
        async with turns(viewer, destination) as told, chromium.launched() as browser, shown(browser, told) as page:
            written(await picture(page), path)
    print(f"{path}: {path.stat().st_size // 1000} kB")


def main(arguments: list[str] | None = None) -> int:
    asyncio.run(draw(target(__doc__, PICTURE, arguments)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
