"""Every command, path, setting, port, link, code and figure in the documents is true."""

from __future__ import annotations

import ast
import inspect
import json
import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from jsonschema import Draft202012Validator
from starlette.applications import Starlette
from starlette.routing import Mount, Route

from infra import dotenv
from infra.agent.options import PORT as AGENT_PORT
from server.application import Application
from server.commands.cli import _parser
from server.config.parsing import SettingError
from server.config.settings import DECLARED, REPLACED, ROOT, Settings
from server.identity import request_metadata
from server.ops import open_ops
from server.results import META_KEY, SOURCE_NAMES
from server.transport.http.app import Probes, http_app
from tests.support.calling import called, opened
from tests.support.cases import cases
from tests.support.documents import (
    DOCUMENTS,
    GUIDE,
    README,
    WHOLE_GUIDE,
    after,
    blocks,
    code,
    links_in,
    paths_in,
    rows,
    text_of,
)
from tools.primitive_registry import PRIMITIVES
from tools.registry import TOOLS
from tools.store import failures
from tools.store.records.catalog_file import load
from tools.store.records.schemas import schema_of
from tools.store.records.store_files import read_orders, read_volumes

PORT = 8080
EXAMPLE = {"tools/count_volumes.py", "tests/component/tools/test_count_volumes.py"}
"""The files of the new tool that the guide shows."""
METHODS = {"server/discover"}
"""Of the protocol, which look like paths."""
TOKEN = {"MANGA_AUTH": "token", "MANGA_AUTH_TOKENS": "a-secret-of-some-length"}
JWT = {
    "MANGA_JWT_JWKS_URL": "https://issuer.example/jwks.json",
    "MANGA_JWT_ISSUER": "https://issuer.example",
    "MANGA_JWT_AUDIENCE": "manga-tools",
}
STANDBY = {"MANGA_STANDBY": "full", "MANGA_STANDBY_URL": "redis:", "MANGA_CATALOG_URL": "https://search.example.com"}
BESIDE = {
    ("MANGA_AUTH", "token"): TOKEN,
    ("MANGA_AUTH", "jwt"): JWT,
    ("MANGA_HOST", "0.0.0.0"): TOKEN,
    ("MANGA_STANDBY", "full"): STANDBY,
    ("MANGA_STANDBY_URL", "redis:"): STANDBY,
    ("MANGA_STANDBY_URL", "file:///tmp/catalog.bundle"): STANDBY,
    ("MANGA_STANDBY_URL", "s3://manga-standby/catalog.bundle?region=ap-northeast-1"): STANDBY,
}
"""What a value needs beside it."""
NEWEST_FIRST = "CHANGELOG.md"
"""What it says of older versions was so then."""


@pytest.fixture
async def app(tmp_path: Path) -> Any:
    async with opened(tmp_path) as found:
        yield found


def test_documents_name_existing_settings_only() -> None:
    for document in DOCUMENTS:
        named = set(re.findall(r"\bMANGA_[A-Z_]*[A-Z]\b", text_of(document)))
        assert {each for each in named if not each.startswith(("MANGA_TEST_", "MANGA_STACK_"))} <= {*DECLARED, *REPLACED}, (
            document
        )


SHOWN = sorted(set(re.findall(r"\b(MANGA_[A-Z_]+)=([^\s`;,)]*[^\s`;,.)])", WHOLE_GUIDE)))


def test_documents_show_the_main_settings_with_values() -> None:
    assert {"MANGA_HOST", "MANGA_PORT", "MANGA_AUTH", "MANGA_CATALOG_URL", "MANGA_STORE_URL"} <= {name for name, _ in SHOWN}


@cases(("name", "value"), SHOWN)
def test_setting_values_shown_in_documents_are_accepted(name: str, value: str) -> None:
    """`NAME=value` in the text, with what it needs beside it, and a path that exists in the place of the sample."""
    here = str(ROOT / "infra/demo/catalog.jsonl") if value.startswith("/path/to") else value
    Settings.from_environment({**BESIDE.get((name, value), {}), name: here})


@cases("document", DOCUMENTS)
def test_links_lead_to_existing_files_and_headings(document: str) -> None:
    """Paths exist beside the document, headings in it; addresses are https."""
    for target, path in links_in(document):
        if path is None:
            assert target.startswith("https://"), target
            continue
        assert Path(unquote(str(path))).exists(), target
        if anchor := target.partition("#")[2]:
            assert anchor in headings(path.read_text("utf-8")), target


def headings(text: str) -> set[str]:
    """As GitHub names them."""
    return {
        re.sub(r"[^\w\- ]", "", each.lower()).strip().replace(" ", "-")
        for each in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }


@cases("document", [each for each in DOCUMENTS if each != NEWEST_FIRST])
def test_paths_in_documents_exist(document: str) -> None:
    for path in paths_in(text_of(document)) - EXAMPLE - METHODS:
        assert (ROOT / path).exists(), path


def test_guide_and_contributing_name_enough_paths_to_check() -> None:
    """Otherwise the test before this one would check nothing."""
    assert len(paths_in(WHOLE_GUIDE)) >= 5
    assert len(paths_in(text_of("CONTRIBUTING.md"))) >= 25


@cases("document", DOCUMENTS)
def test_tests_named_in_documents_exist(document: str) -> None:
    """Documents name a test as `path::name` where it is a proof."""
    for path, test in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text_of(document)):
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert test in names, f"{path}::{test}"


def test_every_page_of_the_guide_is_linked_from_the_readme() -> None:
    linked = {target.partition("#")[0] for target, _ in links_in("README.md")}
    assert {each for each in GUIDE if each != "README.md"} <= linked
    assert {"CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "tests/README.md"} <= linked


def test_contributing_is_at_most_110_lines() -> None:
    assert len(text_of("CONTRIBUTING.md").splitlines()) <= 110


def test_every_folder_of_tests_is_in_the_tests_readme() -> None:
    folders = {each.name for each in (ROOT / "tests").iterdir() if each.is_dir() and not each.name.startswith(("_", "."))}
    shown = {re.match(r"\[(\w+)\]", row[0])[1] for row in rows(text_of("tests/README.md"))}  # type: ignore[index]
    assert shown == folders


@cases("document", DOCUMENTS)
def test_make_targets_in_documents_exist(document: str) -> None:
    """Every `make NAME` is looked up."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    said = "\n".join([*code(text_of(document)), *blocks("sh", text_of(document))])
    assert set(re.findall(r"^make ([a-z][a-z-]*)\b", said, re.MULTILINE)) <= targets


def test_guide_names_the_main_make_targets() -> None:
    said = "\n".join([*code(WHOLE_GUIDE), *blocks("sh")])
    assert {"run", "smoke", "agent", "test", "check"} <= set(re.findall(r"^make ([a-z]+)\b", said, re.MULTILINE))


def test_make_passes_the_port_shown_in_the_readme() -> None:
    """PORT=9000 reaches both commands that the README gives it to."""
    for target, expected in (("run", "MANGA_PORT=9000"), ("smoke", "http://127.0.0.1:9000")):
        assert f"make {target} PORT=9000" in README
        done = subprocess.run(["make", "-n", target, "PORT=9000"], cwd=ROOT, capture_output=True, text=True, timeout=30)
        assert expected in done.stdout, done.stderr


def test_server_commands_in_the_guide_parse() -> None:
    """Every `python -m server …` is one that the command line takes."""
    commands = [each for each in code(WHOLE_GUIDE) if "-m server " in each and 'sh"' not in each]
    assert len(commands) >= 3
    for command in commands:
        words = shlex.split(command)
        _parser().parse_args(words[words.index("server") + 1 :])


@cases("document", DOCUMENTS)
def test_modules_run_in_documents_exist(document: str) -> None:
    """`-m NAME` in text, blocks and JSON, but for what is installed."""
    for module in set(re.findall(r"-m\"?,? \"?([a-z_]+(?:\.\w+)*)", text_of(document))) - {"pytest", "slow"}:
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module


def test_addresses_in_the_guide_have_the_default_ports() -> None:
    """Every address has the port that the server listens on by default, or that of what Compose puts beside it."""
    ports = {int(port) for port in re.findall(r"(?:127\.0\.0\.1|localhost):(\d+)", WHOLE_GUIDE)}
    published = {int(port) for port in re.findall(r"PORT:-(\d+)\}", text_of("docker-compose.yml"))}
    assert {PORT, AGENT_PORT} <= ports <= published
    assert next(each.default for each in fields(Settings) if each.name == "port") == PORT


async def test_http_paths_in_the_guide_are_routes(app: Application) -> None:
    """`GET /…`, `DELETE /…` and the addresses are served."""
    served = http_app(Settings(), app, PORT, Probes(app.lifecycle, app.dependencies, app.metrics)).asgi
    assert isinstance(served, Starlette)
    routes = [
        route.path for route in (*served.routes, *open_ops(Settings(), app).routes()) if isinstance(route, Route | Mount)
    ]
    said = re.findall(r"\b(?:GET|POST|DELETE) (/[a-z]+)", WHOLE_GUIDE) + re.findall(
        r"127\.0\.0\.1:\d+(/[a-z]+)", WHOLE_GUIDE
    )
    assert {"/sse", "/mcp", "/healthz", "/readyz", "/metrics", "/sessions"} <= set(said)
    for path in set(said) - {"/turns", "/door", "/token", "/zipkin"}:  # the agent's, the door's and the trace viewer's
        assert any(route == path or route.startswith(f"{path}/") for route in routes), path


def test_guide_names_all_tools_and_no_unknown_one() -> None:
    """What looks like a tool's name is one, or that of a fallback, of a prompt, or of what a client's library has."""
    verbs = "|".join({tool.name.split("_")[0] for tool in TOOLS})
    named = set(re.findall(rf"\b(?:{verbs})_[a-z]+(?:_[a-z]+)*\b", WHOLE_GUIDE))
    assert {tool.name for tool in TOOLS} <= named
    others = {each.name for each in PRIMITIVES} | {"get_prompt", "get_prompt_sync"}
    assert named <= {tool.name for tool in TOOLS} | {tool.fallback.name for tool in TOOLS if tool.fallback} | others


def test_table_of_codes_lists_every_failure() -> None:
    """It has every failure's code and name, and no other."""
    kinds = [kind for kind in vars(failures).values() if inspect.isclass(kind) and issubclass(kind, failures.Failure)]
    sent = {(kind.code, kind.name) for kind in kinds if hasattr(kind, "code")}
    shown = {(int(row[0]), row[1].strip("`")) for row in rows(after("codes"))}
    assert shown == sent


def test_metadata_keys_and_headers_in_the_guide_are_read_by_the_server() -> None:
    """Each `_meta` key beside its header, as `server/identity/request_metadata.py` reads them."""
    source = inspect.getsource(request_metadata.read_metadata)
    pairs = re.findall(r"`com\.mangaassist/(\w+)` \| `([\w-]+)`", WHOLE_GUIDE)
    assert len(pairs) == 7
    for key, header in pairs:
        assert f'"{key}"' in source, key
        assert f'"{header.lower()}"' in source, header


def test_every_word_of_degraded_is_documented() -> None:
    """The words are those that `degraded` can hold."""
    for word in (*SOURCE_NAMES, "session"):
        assert f"`{word}`" in text_of("infra/docs/answers.md"), word


@cases("document", DOCUMENTS)
def test_json_in_documents_is_valid(document: str) -> None:
    """Every block, and every request body in a shell block."""
    for block in blocks("json", text_of(document)):
        json.loads(block)
    for block in blocks("sh", text_of(document)):
        for body in re.findall(r"-d '([^']+)'", block):
            json.loads(body)


def test_the_task_of_the_deployment_leaves_a_slow_model_time() -> None:
    """By settings that the server takes, and it stops later than its longest turn."""
    task = next(json.loads(block) for block in blocks("json", text_of("infra/docs/deployment.md")))
    server = next(each for each in task["containerDefinitions"] if each["name"] == "manga-tools")
    settings = Settings.from_environment({each["name"]: each["value"] for each in server["environment"]})
    assert settings.turn_clock == "tools"
    assert Settings().turn_budget_ms < settings.turn_budget_ms < (server["stopTimeout"] - 2) * 1000


def test_records_on_the_page_for_shops_name_every_field_and_are_taken(tmp_path: Path) -> None:
    """By the schema and the loader of the shop whose settings the page begins with."""
    page = text_of("infra/docs/your-shop.md")
    settings = Settings.from_environment(dotenv.values(blocks("sh", page)[0]))
    shop, file = settings.identifiers, tmp_path / "record"
    read = {
        "catalog": lambda: load(file, None, shop.titles, shop.currency),
        "volumes": lambda: read_volumes(file, None, shop.currency),
        "orders": lambda: read_orders(file, shop.orders, shop.currency),
    }
    samples = [json.loads(block) for block in blocks("json", page)]
    for (kind, loaded), sample in zip(read.items(), samples, strict=True):
        file.write_text(json.dumps(sample), "utf-8")
        assert len(loaded()) == 1
        schema = schema_of(kind, shop)
        assert [error.message for error in Draft202012Validator(schema).iter_errors(sample)] == []
        assert names_in(schema) - set(re.findall(r'"(\w+)":', json.dumps(sample))) == set(), kind


def names_in(schema: Any) -> set[str]:
    """The names of all properties, of nested objects too."""
    inside = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    named = schema.get("properties", {}) if isinstance(schema, dict) else {}
    return set(named).union(*map(names_in, inside))


async def test_sample_results_have_the_shape_of_real_ones(app: Application) -> None:
    """The fields of `_meta` and of the envelope, taken from calls that are made here."""
    samples = [json.loads(block) for block in blocks("json")]
    assert len(samples) >= 4
    meta = next(sample[META_KEY] for sample in samples if META_KEY in sample)
    real = await called(app, "lookup_order", {"order_id": "MNG-DEMO1002"})
    assert set(meta) <= set(real["_meta"][META_KEY])
    assert set(meta["budget"]) == set(real["_meta"][META_KEY]["budget"])
    envelope = next(sample for sample in samples if "error" in sample)
    wrong = (await called(app, "get_recommendations", {"criteria": "swords", "count": 12}))["structuredContent"]
    envelope["error"]["data"]["request_id"] = wrong["error"]["data"]["request_id"]
    assert envelope == wrong


def takes(**settings: str) -> bool:
    """Whether the server knows such a setting's value."""
    try:
        Settings.from_environment({f"MANGA_{name.upper()}": value for name, value in settings.items()})
    except SettingError:
        return False
    return True


@cases(
    ("word", "there"),
    [
        ("OpenSearch", lambda: takes(catalog_url="https://search.example.com")),
        ("DynamoDB", lambda: takes(store_url="dynamodb://eu-west-1")),
        ("docker-compose.yml", lambda: (ROOT / "docker-compose.yml").exists()),
        ("CDK", lambda: (ROOT / "infra/cdk/app.py").exists()),
    ],
)
def test_features_documented_as_missing_are_missing(word: str, there: Callable[[], bool]) -> None:
    """Adding such a feature, or removing one, fails here until the document says so."""
    assert (word in after("not yet")) is not there()


def test_sample_titles_orders_and_customers_in_the_guide_exist() -> None:
    """The number of titles is checked too, and every customer and order by its name."""
    folder = ROOT / "infra/demo"
    titles = (folder / "catalog.jsonl").read_text("utf-8").splitlines()
    assert f"{len(titles)} real titles" in WHOLE_GUIDE
    orders = [json.loads(line) for line in (folder / "orders.jsonl").read_text("utf-8").splitlines()]
    assert set(re.findall(r"MNG-DEMO\w+", WHOLE_GUIDE)) <= {each["order_id"] for each in orders}
    assert set(re.findall(r"demo-user-\d", WHOLE_GUIDE)) <= {each["owner"] for each in orders}


def test_turn_budget_in_the_guide_is_the_default() -> None:
    """Every place in the guide that states the number is checked."""
    budget = next(each.default for each in fields(Settings) if each.name == "turn_budget_ms")
    assert f"A turn has {budget} ms" in WHOLE_GUIDE
