"""What axe-core finds in a page: its rules for WCAG 2.2 AA and for good practice, of which the worse half may not be broken."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.stack.require import require
from tests.support.environments import ROOT

if TYPE_CHECKING:
    from playwright.async_api import Frame, Page

SCRIPT = ROOT / ".cache" / "clients" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
WORSE = ("serious", "critical")


@cache
def _script(path: Path) -> str:
    return path.read_text("utf-8")


async def violations(of: Page | Frame) -> list[str]:
    """Each serious or critical violation in one line: rule, what it is, where. A frame is judged by itself."""
    require("axe-core", None if SCRIPT.is_file() else "not installed; make it with: make clients")
    await of.evaluate(_script(SCRIPT))
    found = await of.evaluate(
        "async () => (await axe.run(document, {resultTypes: ['violations'], iframes: false})).violations"
    )
    return [_told(each) for each in found if each["impact"] in WORSE]


def _told(violation: dict[str, Any]) -> str:
    where = ", ".join(" ".join(map(str, node["target"])) for node in violation["nodes"][:5])
    return f"{violation['id']} ({violation['impact']}): {violation['help']}, at {where}"
