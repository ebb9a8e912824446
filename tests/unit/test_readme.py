"""The README says what is so: every command, path, setting, port, link, tool, code and figure of the contract in it."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import shlex
import subprocess
import types
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import server.wiring
from server import pipeline
from server.application import Application
from server.commands.cli import _parser
from server.config.parsing import SettingError
from server.config.settings import ROOT, Settings
from server.identity import request_metadata
from server.results import META_KEY, PLAIN_WORDS
from server.transport.http.app import http_app
from server.wiring import open_app
from tests.snapshots.derived import settings_table, tools_table
from tests.support.calling import called, opened
from tools.registry import TOOLS
from tools.store import failures

README = (ROOT / "README.md").read_text("utf-8")
DOCUMENTS = ("README.md", "SECURITY.md", "CHANGELOG.md")
PORT = 8080
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str, text: str = README) -> list[str]:
    return [body for kind, body in BLOCK.findall(text) if kind == language]


def after(marker: str) -> str:
    """The text from a marker comment to the next heading."""
    _, found, rest = README.partition(f"<!-- {marker} -->\n")
    assert found, f"the README has no <!-- {marker} -->"
    return re.split(r"^#", rest, maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    """The cells of a Markdown table, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def code(text: str) -> list[str]:
    """What stands in backticks outside the blocks."""
    return re.findall(r"`([^`\n]+)`", BLOCK.sub("", text))


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


@pytest.fixture
async def app(tmp_path: Path) -> Any:
    async with opened(tmp_path) as found:
        yield found


def test_the_settings_table_is_that_of_the_code() -> None:
    """Every setting with its default and what it does, in the same order; and no other MANGA_ name anywhere."""
    assert settings_table() in README, "make snapshots writes it anew"
    known = {f"MANGA_{each.name.upper()}" for each in fields(Settings)}
    for document in DOCUMENTS:
        named = set(re.findall(r"\bMANGA_[A-Z_]*[A-Z]\b", (ROOT / document).read_text("utf-8")))
        assert named <= known, document


def test_settings_are_shown_with_values_that_the_server_takes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`NAME=value` in the text, with the sample paths replaced by ones that exist."""
    monkeypatch.chdir(tmp_path)
    shown = dict(re.findall(r"\b(MANGA_[A-Z_]+)=([^\s`;,]+[^\s`;,.])", README))
    assert shown
    given = {
        name: str(ROOT / "infra/demo/catalog.jsonl") if value.startswith("/path/to") else value
        for name, value in shown.items()
    }
    Settings.from_environment({"MANGA_AUTH_TOKENS": "a-secret-of-some-length", **given})


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    """Paths exist beside the document; addresses are https."""
    targets = re.findall(r"!?\[[^\]]*\]\(([^)\s]+)\)", (ROOT / document).read_text("utf-8"))
    for target in targets:
        if "://" in target:
            assert target.startswith("https://"), target
        else:
            assert (ROOT / unquote(target.partition("#")[0])).exists(), target


def test_paths_exist() -> None:
    """What looks like a path of this project, in backticks or in the list of layers."""
    paths = [each for each in code(README) if re.fullmatch(r"(?:server|session|tools|infra|tests)(?:/[\w./-]+)?", each)]
    own = {"tools/count_volumes.py", "tests/unit/test_count_volumes.py"}  # the example of a new tool
    assert paths
    for path in set(paths) - own:
        assert (ROOT / path).exists(), path


def test_make_targets_exist() -> None:
    """`make NAME`, wherever it is said."""
    said = set(re.findall(r"^make ([a-z]+)\b", "\n".join([*code(README), *blocks("sh")]), re.MULTILINE))
    assert {"run", "smoke", "agent", "test", "check"} <= said
    assert said <= make_targets()


def test_make_takes_the_port_as_shown() -> None:
    """PORT=9000 reaches both commands that the README gives it to."""
    for target, expected in (("run", "MANGA_PORT=9000"), ("smoke", "http://127.0.0.1:9000")):
        done = subprocess.run(["make", "-n", target, "PORT=9000"], cwd=ROOT, capture_output=True, text=True, timeout=30)
        assert expected in done.stdout, done.stderr


def test_server_commands_parse() -> None:
    """Every `python -m server …` is one that the command line takes."""
    commands = [each for each in code(README) if "-m server " in each and 'sh"' not in each]
    assert len(commands) >= 3
    for command in commands:
        words = shlex.split(command)
        _parser().parse_args(words[words.index("server") + 1 :])


def test_modules_that_are_run_exist() -> None:
    """`-m NAME` in text, blocks and JSON."""
    for module in set(re.findall(r"-m\"?,? \"?([a-z_.]+)", README)) - {"server"}:
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module


def test_the_port_is_the_default_one() -> None:
    """Every address of the server has the port that it listens on by default, or that of the example beside it."""
    ports = {int(port) for port in re.findall(r"(?:127\.0\.0\.1|localhost):(\d+)", README)}
    assert ports == {PORT}
    assert next(each.default for each in fields(Settings) if each.name == "port") == PORT


async def test_http_paths_are_routes(app: Application) -> None:
    """`GET /…`, `DELETE /…` and the addresses are served."""
    routes = [route.path for route in http_app(Settings(), app, PORT).asgi.routes]
    said = re.findall(r"\b(?:GET|POST|DELETE) (/[a-z]+)", README) + re.findall(r"127\.0\.0\.1:\d+(/[a-z]+)", README)
    assert {"/sse", "/mcp", "/healthz", "/readyz", "/metrics", "/sessions"} <= set(said)
    for path in set(said):
        assert any(route == path or route.startswith(f"{path}/") for route in routes), path


def test_the_tools_table_is_the_registry() -> None:
    """Every tool, in its order, with its timeout and its fallback."""
    assert tools_table() in README, "make snapshots writes it anew"


def test_no_tool_is_named_that_does_not_exist() -> None:
    """What looks like a tool's name is one, or the example's."""
    verbs = "|".join({tool.name.split("_")[0] for tool in TOOLS})
    named = set(re.findall(rf"\b(?:{verbs})_[a-z]+(?:_[a-z]+)*\b", README))
    assert {tool.name for tool in TOOLS} <= named
    assert named <= {tool.name for tool in TOOLS}


def test_the_stages_are_those_of_the_pipeline() -> None:
    """The same names, in the same order, as the list in `server/pipeline.py`, by the file each is in."""
    body = inspect.getsource(pipeline.build).partition("stages: list[Stage] = [")[2].partition("\n    ]")[0]
    built = [re.match(r"\s*(\w+)", line)[1] for line in body.splitlines() if line.strip()]  # type: ignore[index]
    classes = {name: value for name, value in vars(pipeline).items() if inspect.isclass(value)}
    own = {"shed": "shed", "cache": "cache"}
    names = [own.get(each) or classes[each].__module__.rpartition(".")[2] for each in built]
    assert re.findall(r"^\d+\. `(\w+)`", after("stages"), re.MULTILINE) == names
    picture = (ROOT / "infra/docs/pipeline.svg").read_text("utf-8")
    drawn = re.findall(r'class="name"[^>]*>(\w+)</text><text class="say"', picture)
    assert drawn == names, "the picture shows other stages"


def test_the_codes_are_those_of_the_failures() -> None:
    """Every failure's code and name, and none besides."""
    kinds = [kind for kind in vars(failures).values() if inspect.isclass(kind) and issubclass(kind, failures.Failure)]
    sent = {(kind.code, kind.name) for kind in kinds if hasattr(kind, "code")}
    shown = {(int(row[0]), row[1].strip("`")) for row in rows(after("codes"))}
    assert shown == sent


def test_the_headers_and_keys_are_those_that_are_read() -> None:
    """Each `_meta` key beside its header, as `server/identity/request_metadata.py` reads them."""
    source = inspect.getsource(request_metadata.read_metadata)
    pairs = re.findall(r"`com\.mangaassist/(\w+)` \| `([\w-]+)`", README)
    assert len(pairs) == 6
    for key, header in pairs:
        assert f'"{key}"' in source, key
        assert f'"{header.lower()}"' in source, header


def test_what_an_answer_can_lack_is_named() -> None:
    """The words of `degraded`."""
    for word in (*PLAIN_WORDS, "session"):
        assert f"`{word}`" in README, word


def test_the_json_is_valid() -> None:
    """Every block, and every request body in a shell block."""
    assert len(blocks("json")) >= 4
    for block in blocks("json"):
        json.loads(block)
    for block in blocks("sh"):
        for body in re.findall(r"-d '([^']+)'", block):
            json.loads(body)


async def test_the_sample_results_have_the_shape_of_real_ones(app: Application) -> None:
    """The fields of `_meta` and of the envelope, taken from calls that are made here."""
    samples = [json.loads(block) for block in blocks("json")]
    meta = next(sample[META_KEY] for sample in samples if META_KEY in sample)
    real = await called(app, "lookup_order", {"order_id": "MNG-DEMO1002"})
    assert set(meta) <= set(real["_meta"][META_KEY])
    assert set(meta["budget"]) == set(real["_meta"][META_KEY]["budget"])
    envelope = next(sample for sample in samples if "error" in sample)
    wrong = (await called(app, "get_recommendations", {"criteria": "swords", "count": 12}))["structuredContent"]
    envelope["error"]["data"]["request_id"] = wrong["error"]["data"]["request_id"]
    assert envelope == wrong


def conversation() -> Iterator[tuple[str, dict[str, Any], str, list[str]]]:
    """Each call of the README's conversation: tool, arguments, what the server said, and the lines below that."""
    text = blocks("text", after("conversation"))[0]
    for part in re.split(r"^   model  ", text, flags=re.MULTILINE)[1:]:
        asked, _, rest = part.partition("\n")
        tool, _, arguments = asked.partition(" ")
        said = re.search(r"^  server  (\w+)", rest, re.MULTILINE)
        assert said is not None
        yield tool, json.loads(arguments), said[1], re.findall(r"^ {10}(manga-\d+|MNG-\w+)", rest, re.MULTILINE)


async def whole(app: Application, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The answer once nothing is missing from it: on a busy machine search by meaning may be late at first."""
    async with asyncio.timeout(60):
        while (result := await called(app, tool, arguments))["_meta"][META_KEY]["degraded"]:
            await asyncio.sleep(0.2)
    return result


async def test_the_conversation_can_be_had(tmp_path: Path) -> None:
    """Its calls, in order, in one session, give what it says: the same status, and the same titles and orders."""
    calls = list(conversation())
    assert len(calls) == 5
    async with open_app(Settings(embedder="local", data_dir=tmp_path), local=True) as app:
        await until_meaning_is_searched(app)
        for tool, arguments, status, ids in calls:
            result = await whole(app, tool, arguments)
            assert result["isError"] is (status == "error"), (tool, result["structuredContent"])
            text = result["content"][0]["text"]
            assert bool(ids) is (status == "success")
            assert [each for each in ids if each not in text] == [], f"{tool} answers otherwise now; see make agent"


async def until_meaning_is_searched(app: Application) -> None:
    """The titles' vectors are computed after the start."""
    async with asyncio.timeout(90):
        while "meaning" not in (await app.dependencies.states())["catalog"]["detail"]:
            await asyncio.sleep(0.2)


async def test_the_example_of_a_new_tool_works(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its module and the one line are all that is needed to call it through the whole pipeline."""
    module = types.ModuleType("count_volumes")
    exec(compile(blocks("python", after_all("new tool"))[0], "tools/count_volumes.py", "exec"), module.__dict__)
    others = [tool for tool in TOOLS if tool.name != module.TOOL.name]  # where the example was followed it is one of them
    monkeypatch.setattr(server.wiring, "TOOLS", (*others, module.TOOL))
    async with opened(tmp_path) as app:
        found = await called(app, "count_volumes", {"title_id": "manga-001001"})
        missing = await called(app, "count_volumes", {"title_id": "manga-999999"})
        wrong = await called(app, "count_volumes", {"title_id": "One Piece"})
    assert found["structuredContent"]["volumes"] > 100
    assert missing["structuredContent"]["error"]["name"] == "NOT_FOUND"
    assert wrong["structuredContent"]["error"]["name"] == "VALIDATION_ERROR"


def after_all(marker: str) -> str:
    """Like `after`, but to the end: a Python comment is no heading."""
    return README.partition(f"<!-- {marker} -->\n")[2]


def takes(**settings: str) -> bool:
    """Whether the server knows such a setting's value."""
    try:
        Settings.from_environment({f"MANGA_{name.upper()}": value for name, value in settings.items()})
    except SettingError:
        return False
    return True


@pytest.mark.parametrize(
    ("word", "there"),
    [
        ("OpenSearch", lambda: takes(catalog_url="https://search.example.com")),
        ("DynamoDB", lambda: takes(store_url="dynamodb://eu-west-1")),
        ("docker-compose.yml", lambda: (ROOT / "docker-compose.yml").exists()),
        ("CDK", lambda: any(ROOT.glob("infra/**/cdk.json"))),
    ],
)
def test_what_is_said_to_be_missing_is_missing(word: str, there: Callable[[], bool]) -> None:
    """Whoever adds it is reminded to say so here, and whoever takes it away too."""
    assert (word in after("not yet")) is not there()


def test_the_sample_data_is_there() -> None:
    """As many titles as are said, and every customer and order by name."""
    folder = ROOT / "infra/demo"
    titles = (folder / "catalog.jsonl").read_text("utf-8").splitlines()
    assert f"{len(titles)} real titles" in README
    orders = [json.loads(line) for line in (folder / "orders.jsonl").read_text("utf-8").splitlines()]
    assert set(re.findall(r"MNG-DEMO\w+", README)) <= {each["order_id"] for each in orders}
    assert set(re.findall(r"demo-user-\d", README)) <= {each["owner"] for each in orders}


def test_the_figures_in_the_text_are_those_of_the_code() -> None:
    """The turn's budget, wherever a number stands for it."""
    budget = next(each.default for each in fields(Settings) if each.name == "turn_budget_ms")
    assert f"A turn has {budget} ms" in README
    assert "<!-- figures -->" in README
