"""Draws the dashboard over a real Prometheus, a real server and real backends, one of which is killed for a while.

    python -m tests.observability.dashboard --write     into infra/docs/pictures/dashboard.png, in six minutes
    python -m tests.observability.dashboard FILE        elsewhere

Grafana is in no registry that a test may ask. The panels, their queries and their places are those of its dashboard.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from server.config.settings import ROOT
from tests.observability.board import Panel, panels
from tests.observability.drawing import Told, draw
from tests.observability.shoppers import shoppers
from tests.observability.target import target
from tests.stack import dynamodb, opensearch, redis_servers
from tests.stack.children import Child, free_port
from tests.stack.prometheus import prometheus
from tests.support.process import serving
from tests.support.stack import seeded

PICTURE = ROOT / "infra/docs/pictures/dashboard.png"
TITLE = "Manga store tools"
CAPTION = (
    "Drawn from the definition of Grafana's dashboard and the answers of a Prometheus to its queries; not a screenshot of "
    "Grafana. In the red band {victim} is killed."
)
READY_SECONDS = 240.0


@dataclass(frozen=True, slots=True)
class Plan:
    """In seconds: how long nobody looks, since a new server computes what an older one has, how long all is well, after which time the victim is started again, how long all is well from when it
    answers; a call each `every`."""

    warm: float
    before: float
    away: float
    after: float
    every: float
    scrape: float = 1.0


LONG = Plan(warm=70, before=70, away=15, after=100, every=0.2)


@dataclass(frozen=True, slots=True)
class Seen:
    panels: list[Panel]
    told: Told


async def watched(settings: dict[str, str], victim: str, child: Child, is_back: Callable[[], bool], plan: Plan) -> Seen:
    """A server with these settings under the load of the plan, whose backend `victim` dies and comes back."""
    with tempfile.TemporaryDirectory(prefix="manga-flags-") as folder:
        flags = Path(folder, "flags.json")
        flags.write_text('{"get_recommendations": {"enabled": true, "percent": 100}}', encoding="utf-8")
        own = {name.removeprefix("MANGA_").lower(): value for name, value in settings.items()}
        async with serving(**{"flags_url": flags.as_uri(), **own}) as server:
            with prometheus(urlsplit(server.url).netloc, scrape_seconds=plan.scrape) as asked:
                async with shoppers(server.port, plan.every):
                    await asyncio.sleep(plan.warm)
                    start = time.time()
                    await asyncio.sleep(plan.before)
                    child.kill()
                    died = time.time()
                    await asyncio.sleep(plan.away)
                    child.start_again()
                    await asyncio.to_thread(child.wait_until, is_back, READY_SECONDS)
                    back = time.time()
                    await asyncio.sleep(plan.after)
                    end = time.time()
                assert server.process.returncode is None, server.log
                told = Told(TITLE, CAPTION.format(victim=victim), start, end, (died, back))
                return Seen(await asyncio.to_thread(panels, asked, start, end), told)


async def shop_of_containers(plan: Plan) -> Seen:
    """With what Compose brings: OpenSearch, which dies, DynamoDB and Redis."""
    with ExitStack() as stack:
        node = stack.enter_context(opensearch.started({"http.port": str(free_port())}))  # the same after its death
        settings = {
            "MANGA_CATALOG_URL": node.url,
            "MANGA_STORE_URL": f"dynamodb://{dynamodb.REGION}?endpoint={stack.enter_context(dynamodb.dynamodb_local())}",
            "MANGA_REDIS_URL": stack.enter_context(redis_servers.redis_server()),
            "MANGA_EMBEDDER": "none",
        }
        done = await asyncio.to_thread(seeded, settings)
        if done.returncode:
            raise SystemExit(done.stderr)
        return await watched(settings, "OpenSearch", node.child, lambda: opensearch.is_ready(node.url), plan)


def main(arguments: list[str] | None = None) -> int:
    path = target(__doc__, PICTURE, arguments)
    seen = asyncio.run(shop_of_containers(LONG))
    path.parent.mkdir(exist_ok=True)
    draw(path, seen.panels, seen.told)
    empty = [panel.title for panel in seen.panels if not panel.lines]
    print(f"{path}: {path.stat().st_size // 1000} kB, {len(seen.panels)} panels; with nothing to show: {empty}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
