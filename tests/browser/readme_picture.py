"""Takes the README's picture of the operator's page: `python -m tests.browser.readme_picture`.

A real server with a real OpenSearch and a standby catalogue, some shoppers, and OpenSearch killed in the middle of it. The picture
is of what then is, so it differs each time. Look at it before it is kept.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.stack import opensearch
from tests.stack.children import Running
from tests.support.browser.chromium import launched
from tests.support.browser.kept import opened
from tests.support.browser.looking import looking, picture
from tests.support.operators_page.playing import Playing
from tests.support.operators_page.shoppers import shopping
from tests.support.operators_page.shown import Shown
from tests.support.serving import ROOT, Serving, served
from tests.support.stack import seeded

TO = ROOT / "infra" / "docs" / "pictures" / "ops.png"
LARGEST_BYTES = 200_000
SIZE = {"width": 1280, "height": 900}
BEFORE, AFTER = 45_000, 14_000
"""Milliseconds that the shoppers shop before OpenSearch is killed, and after."""


@contextmanager
def shop(node: Running, folder: Path) -> Iterator[Serving]:
    """A server over this node, with a copy of its catalogue for when it is away."""
    settings = {
        "MANGA_CATALOG_URL": f"{node.url}/?alias=shop",
        "MANGA_STANDBY": "full",
        "MANGA_STANDBY_URL": (folder / "standby.bundle").as_uri(),
        "MANGA_EMBEDDER": "none",
    }
    done = seeded(settings)
    if done.returncode:
        raise SystemExit(done.stderr)
    with served(folder / "server", folder / "cache", **settings) as own:
        yield own


async def taken(server: Serving, node: Running) -> bytes:
    async with launched() as browser, looking(browser, server.url, theme="dark", **SIZE) as page, shopping(server.port):
        await page.goto(f"{server.url}/ops")
        await page.wait_for_timeout(BEFORE)
        node.child.kill()
        await Shown(page, Playing([])).reads("h1", "catalog has been away")
        await page.wait_for_timeout(AFTER)
        return await picture(page)


def written(shot: bytes) -> int:
    """As a palette, without metadata. Returns its size in bytes."""
    TO.parent.mkdir(parents=True, exist_ok=True)
    opened(shot).quantize(256, 2, dither=0).save(TO, "PNG", optimize=True)
    return TO.stat().st_size


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, opensearch.started() as node, shop(node, Path(folder)) as server:
        size = written(asyncio.run(taken(server, node)))
    print(f"{TO}: {size:,} bytes")
    if size > LARGEST_BYTES:
        raise SystemExit(f"more than {LARGEST_BYTES:,}")


if __name__ == "__main__":
    main()
