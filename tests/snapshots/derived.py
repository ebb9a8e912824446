"""What files of this repository say that follows from the code: each as a text, to be written or to be compared."""

from __future__ import annotations

import json
import re
from dataclasses import Field, fields
from pathlib import Path

from server.config.settings import PREFIX, ROOT, Settings
from server.transport.tool_listing import listed_tool
from tools.registry import TOOLS

SNAPSHOTS = ROOT / "tests" / "snapshots"
ENV_HEAD = """\
# Every setting of the server with its default. Copy this file to .env, beside the Makefile, and take the # away from what you
# change. Every make target reads it, and so does Docker Compose; what the environment says wins. A value may stand in single
# quotes, and has to where it holds a space, a quote, a # or a $. A wrong value stops the start with one clear line.
"""


def default_text(value: object) -> str:
    """A default as one would write it."""
    if value is None or value == ():
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value.relative_to(ROOT)) if isinstance(value, Path) else str(value)


def name_of(setting: Field[object]) -> str:
    return PREFIX + setting.name.upper()


def env_example() -> str:
    parts = (f"# {each.metadata['about']}\n#{name_of(each)}={default_text(each.default)}\n" for each in fields(Settings))
    return "\n".join([ENV_HEAD, *parts])


def settings_table() -> str:
    rows = (
        f"| `{name_of(each)}` | {f'`{text}`' if (text := default_text(each.default)) else 'none'} | {each.metadata['about']} |"
        for each in fields(Settings)
    )
    return "\n".join(["| setting | default | what |", "| --- | --- | --- |", *rows])


def tools_table() -> str:
    rows = (
        f"| `{tool.name}` | {tool.timeout_ms} ms | {f'`{tool.fallback.name}`' if tool.fallback else 'none'} |"
        for tool in TOOLS
    )
    return "\n".join(["| tool | timeout | fallback |", "| --- | --- | --- |", *rows])


def readme() -> str:
    """The README with its tables as they have to be. Raises ValueError for a table that it lacks."""
    text = (ROOT / "README.md").read_text("utf-8")
    for marker, table in (("settings", settings_table()), ("tools", tools_table())):
        text, found = re.subn(rf"(?<=<!-- {marker} -->\n)(?:\|.*\n)+", lambda _, table=table: f"{table}\n", text, count=1)
        if not found:
            raise ValueError(f"the README has no table after <!-- {marker} -->")
    return text


def derived() -> dict[Path, str]:
    """Every such file and what it has to say."""
    tools = {
        SNAPSHOTS / f"{tool.name}.json": json.dumps(listed_tool(tool), ensure_ascii=False, indent=2) + "\n" for tool in TOOLS
    }
    return {**tools, ROOT / "README.md": readme(), ROOT / ".env.example": env_example()}
