"""What files of this repository say that follows from the code: each as a text, to be written or to be compared."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from dataclasses import Field
from pathlib import Path

from infra.alarms.rules import alerts
from infra.dashboards.grafana import board
from server.config.settings import DECLARED, PREFIX, ROOT
from server.transport.tool_listing import listed_tool
from server.version import VERSION
from tests.snapshots.map import picture
from tests.snapshots.rehearsed import RUNBOOKS, runbooks
from tools.registry import TOOLS

SNAPSHOTS = ROOT / "tests" / "snapshots"
MAIN = ("host", "catalog_url", "store_url", "redis_url", "embedder", "auth")
"""The settings that most need; the others are in infra/docs/settings.md alone."""
ALL = frozenset(each.name for each in DECLARED.values())
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
    parts = (f"# {each.metadata['about']}\n#{name_of(each)}={default_text(each.default)}\n" for each in DECLARED.values())
    return "\n".join([ENV_HEAD, *parts])


def settings_table(names: Container[str] = ALL) -> str:
    """Of these settings, or of all."""
    rows = (
        f"| `{name_of(each)}` | {f'`{text}`' if (text := default_text(each.default)) else 'none'} | {each.metadata['about']} |"
        for each in DECLARED.values()
        if each.name in names
    )
    return "\n".join(["| setting | default | what |", "| --- | --- | --- |", *rows])


def tools_table() -> str:
    rows = (
        f"| `{tool.name}` | {tool.timeout_ms} ms | {f'`{tool.fallback.name}`' if tool.fallback else 'none'} |"
        for tool in TOOLS
    )
    return "\n".join(["| tool | timeout | fallback |", "| --- | --- | --- |", *rows])


def with_tables(document: str, tables: Mapping[str, str]) -> str:
    """A document with its tables, by their markers, as they have to be. Raises ValueError for one that it lacks."""
    text = (ROOT / document).read_text("utf-8")
    for marker, table in tables.items():
        text, found = re.subn(rf"(?<=<!-- {marker} -->\n)(?:\|.*\n)+", lambda _, table=table: f"{table}\n", text, count=1)
        if not found:
            raise ValueError(f"{document} has no table after <!-- {marker} -->")
    return text


NAMES_VERSION = re.compile(r"""((?:manga-tools(?:-agent)?|/server):|image\.version=")\d+\.\d+\.\d+""")
VERSIONED = ("docker-compose.yml", "Dockerfile", "infra/agent/Dockerfile", "infra/docs/deployment.md", "infra/cdk/README.md")
"""Files that name images by the version of pyproject.toml, and cannot read it."""


def with_version(text: str) -> str:
    return NAMES_VERSION.sub(rf"\g<1>{VERSION}", text)


def derived() -> dict[Path, str]:
    """Every such file and what it has to say."""
    tools = {
        SNAPSHOTS / f"{tool.name}.json": json.dumps(listed_tool(tool), ensure_ascii=False, indent=2) + "\n" for tool in TOOLS
    }
    return {
        **tools,
        **{ROOT / each: with_version((ROOT / each).read_text("utf-8")) for each in VERSIONED},
        ROOT / "README.md": with_tables("README.md", {"main settings": settings_table(MAIN)}),
        ROOT / "infra/docs/answers.md": with_tables("infra/docs/answers.md", {"tools": tools_table()}),
        ROOT / "infra/docs/settings.md": with_tables("infra/docs/settings.md", {"settings": settings_table()}),
        ROOT / "infra/docs/map.svg": picture(),
        ROOT / ".env.example": env_example(),
        ROOT / "infra/observability/alerts.yml": alerts(),
        ROOT / RUNBOOKS: runbooks(),
        ROOT / "infra/observability/dashboards/manga-tools.json": board(),
    }
