"""Writes anew what tests compare with: `python -m tests.release.write`, on the commit of a release, once it is tagged."""

from __future__ import annotations

import json
from pathlib import Path

from server.version import CONTRACT, VERSION
from tests.release.archive import ROOT, pack
from tests.release.surface import surface

LAST = ROOT / "tests" / "release" / "last_release.json"


def written(version: str, contract: int) -> str:
    return json.dumps({"version": version, "contract": contract, **surface()}, ensure_ascii=False, indent=1) + "\n"


def main(to: Path = LAST) -> None:
    to.write_text(written(VERSION, CONTRACT), "utf-8")
    pack()
    print(f"written: {to.name} and the archive of {VERSION}")


if __name__ == "__main__":
    main()
