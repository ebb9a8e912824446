"""The tools that clients are listed where no flag says anything."""

from __future__ import annotations

from tools.registry import TOOLS

LISTED = tuple(tool.name for tool in TOOLS if tool.default_on)
