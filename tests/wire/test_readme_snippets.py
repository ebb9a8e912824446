"""What the guide (README and infra/docs) shows of clients is run as it stands, against a real server; only the address is another."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from server.commands.cli import _parser
from tests.support.cases import cases
from tests.support.documents import README, WHOLE_GUIDE, after_all, blocks
from tests.support.environments import python_of
from tests.support.listed import LISTED
from tests.support.serving import ROOT, Serving, clean_environment

ADDRESS = "http://127.0.0.1:8080"
PYTHON = ".venv/bin/python"
SNIPPETS = [each for each in blocks("python") if "print(" in each]
BOUND_SECONDS = 120
LOAD_SERVERS = """
import json, pathlib, sys
from strands.tools.mcp import MCPClient
listed = []
for client in MCPClient.load_servers(json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8"))):
    with client:
        listed.append(len(client.list_tools_sync()))
print(json.dumps(listed))
"""


def run(command: list[str], cache: Path) -> subprocess.CompletedProcess[str]:
    environment = clean_environment(cache, {"MANGA_EMBEDDER": "none"})
    return subprocess.run(
        command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BOUND_SECONDS
    )


def test_guide_has_a_snippet_for_each_way_to_connect() -> None:
    """It has three for Strands and one for OpenAI Agents."""
    assert len(SNIPPETS) == 4


@pytest.mark.slow  # twenty seconds
@cases("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_python_snippet_prints_what_its_comment_says(snippet: str, server: Serving, cache: Path) -> None:
    """A snippet states its output as `print(...)  # output`."""
    expected = re.search(r"print\(.*\)  # (.+)$", snippet, re.MULTILINE)
    assert expected is not None
    here = snippet.replace(ADDRESS, server.url).replace(PYTHON, sys.executable)
    client = python_of("clients/strands" if "strands" in snippet else "clients/openai-agents")
    done = run([str(client), "-c", here], cache)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [expected[1]]


def test_curl_command_of_the_guide_returns_the_order(server: Serving, cache: Path) -> None:
    """One POST in the protocol of 2026 returns an order."""
    command = blocks("sh", after_all("curl"))[0]
    done = run(["sh", "-c", command.replace(ADDRESS, server.url)], cache)
    result = json.loads(done.stdout)["result"]
    assert result["structuredContent"]["order_id"] == "MNG-DEMO1001"


def test_call_command_of_the_guide_prints_the_order(cache: Path) -> None:
    """`python -m server call` prints the order."""
    command = re.search(rf"`({re.escape(PYTHON)} -m server call [^`]+)`", WHOLE_GUIDE)
    assert command is not None
    done = run(["sh", "-c", command[1].replace(PYTHON, sys.executable)], cache)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["order_id"] == "MNG-DEMO1001"


def test_configuration_file_of_the_readme_starts_every_server_in_it(server: Serving, tmp_path: Path) -> None:
    """A client reads `mcpServers` by command and by address."""
    block = next(each for each in blocks("json", README) if "mcpServers" in each)
    here = block.replace(ADDRESS, server.url).replace(PYTHON, sys.executable).replace("/path/to/manga-tools", str(ROOT))
    config = json.loads(here)
    config["mcpServers"]["manga-store"]["env"] = {**os.environ, "MANGA_EMBEDDER": "none", "XDG_CACHE_HOME": str(tmp_path)}
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps(config), "utf-8")
    done = run([str(python_of("clients/strands")), "-c", LOAD_SERVERS, str(file)], tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [len(LISTED)] * len(config["mcpServers"])


def test_command_for_clients_without_cwd_starts_the_server(cache: Path) -> None:
    """`sh -c "cd … && exec …"` speaks MCP over stdin and stdout, and ends when stdin does."""
    shown = re.search(r'`"command": "sh", "args": (\[[^`]+\])`', WHOLE_GUIDE)
    assert shown is not None
    arguments = json.loads(shown[1].replace("/path/to/manga-tools", str(ROOT)).replace(PYTHON, sys.executable))
    done = run(["sh", *arguments], cache)
    assert done.returncode == 0, done.stderr


def test_container_command_of_the_guide_is_parsed_by_the_server() -> None:
    """Arguments after the image's name go to `python -m server`: stdio, for that customer."""
    block = blocks("json", after_all("docker"))[0]
    server = json.loads(block)["mcpServers"]["manga-store"]
    assert (server["type"], server["command"]) == ("stdio", "docker")
    options, _, rest = " ".join(server["args"]).partition(" manga-tools ")
    assert options.split() == ["run", "-i", "--rm"]
    asked = _parser().parse_args(rest.split())
    assert (asked.run, asked.user) == ("serve.serve_stdio", "demo-user-1")
