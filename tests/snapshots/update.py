"""Writes the snapshots anew: `python -m tests.snapshots.update`."""

from __future__ import annotations

import json
from pathlib import Path

from server.protocol import listed_tool
from tools.registry import TOOLS

HERE = Path(__file__).resolve().parent


def main() -> None:
    for old in HERE.glob("*.json"):
        old.unlink()
    for tool in TOOLS:
        text = json.dumps(listed_tool(tool), ensure_ascii=False, indent=2)
        (HERE / f"{tool.name}.json").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
