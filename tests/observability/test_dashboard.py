"""Every panel of the dashboard shows something when a real Prometheus has watched a server in a good and in a bad moment."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from tests.observability.board import COLUMNS, Panel
from tests.observability.dashboard import Plan, Seen, watched
from tests.observability.drawing import draw
from tests.stack import prometheus, redis_servers
from tests.stack.children import answers
from tests.stack.require import require

SHORT = Plan(warm=0, before=4, away=2.5, after=2.5, every=0.04, scrape=0.5)
QUIET = {"Answers past their deadline"}
"""There are none unless the machine stalls."""
WIDTH = 420

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def seen() -> Iterator[Seen]:
    require("Prometheus", prometheus.missing())
    require("Redis", redis_servers.missing())
    with redis_servers.started() as redis:
        settings = {"MANGA_REDIS_URL": redis.url}
        yield asyncio.run(watched(settings, "Redis", redis.child, lambda: answers(redis.port), SHORT))


def values(panel: Panel, label: str) -> list[float]:
    return [value for line in panel.lines if line.label == label for _, value in line.points]


def test_every_panel_has_something_to_show(seen: Seen) -> None:
    """Real queries over what a real server told; a label that no longer exists would leave its panel empty."""
    assert len(seen.panels) > 20
    assert {panel.title for panel in seen.panels if not panel.lines} <= QUIET
    for panel in seen.panels:
        assert all(line.label for line in panel.lines), panel.title
        assert panel.x + panel.w <= COLUMNS


def test_the_bad_moment_is_seen_where_it_should_be(seen: Seen) -> None:
    """The breaker of what was killed opens, and answers say what they had to do without."""
    of = {panel.title: panel for panel in seen.panels}
    assert max(values(of["Breakers"], "redis")) == of["Breakers"].most == 2
    assert max(values(of["What answers had to do without"], "session")) > 0
    assert max(values(of["Ready"], "ready")) == 1


def test_the_panels_are_drawn_in_the_dashboards_grid(seen: Seen, tmp_path: Path) -> None:
    """Small, and with something in every panel that has lines."""
    draw(tmp_path / "board.png", seen.panels, seen.told, WIDTH)
    with Image.open(tmp_path / "board.png") as picture:
        assert abs(picture.width - WIDTH) <= 1
        colors = picture.convert("RGB").getcolors(maxcolors=4096)
    assert colors is not None
    assert len(colors) > 20
