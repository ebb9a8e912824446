"""One version of the package and one of the contract, wherever they are asked for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from infra.cdk.config import RELEASE
from server.config.settings import ROOT
from server.version import CONTRACT, VERSION
from tests.support.process import serving
from tests.support.raw import ask, message, post_2026

PLACES = ("server/version.py", "infra/cdk/config.py", "tools/registry.py", "server/transport/mcp.py")


async def test_a_server_states_both(tmp_path: Path) -> None:
    async with serving(data_dir=tmp_path) as server:
        meta = (await post_2026(server.port, message("server/discover")))["result"]["_meta"]
        assert meta["com.mangaassist/contract"] == CONTRACT
        assert meta["io.modelcontextprotocol/serverInfo"]["version"] == VERSION
        ready = (await ask(server.port, "GET", "/readyz")).json()
        assert (ready["version"], ready["contract"]) == (VERSION, CONTRACT)


def test_the_version_is_that_of_the_project_and_stands_nowhere_else() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"] == VERSION == RELEASE
    for place in PLACES:
        assert not re.search(r'"\d+\.\d+\.\d+"', (ROOT / place).read_text("utf-8")), place


def test_the_number_of_the_contract_is_in_the_documents() -> None:
    assert f"a whole number, which is {CONTRACT};" in (ROOT / "infra/docs/clients.md").read_text("utf-8")
