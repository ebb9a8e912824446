"""What clients, operators and stored data rely on changes only by addition against the last release."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from server.config.settings import ROOT
from server.version import CONTRACT, VERSION
from tests.release.archive import ARCHIVE, MOST_BYTES, unpack
from tests.release.comparison import MEND, differences
from tests.release.surface import surface
from tests.release.write import LAST
from tests.support.cases import cases

BEFORE: dict[str, Any] = json.loads(LAST.read_text("utf-8"))
SEARCH = "search_manga_catalog"


def test_everything_that_the_last_release_had_is_there() -> None:
    if BEFORE["contract"] < CONTRACT:
        return
    found = differences(BEFORE, surface())
    assert not found, f"since {BEFORE['version']}: {'; '.join(found)}. {MEND}"


def test_a_contract_that_is_raised_is_told_in_the_changelog() -> None:
    assert BEFORE["contract"] <= CONTRACT
    told = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert BEFORE["contract"] == CONTRACT or f"contract is {CONTRACT}" in told


def test_the_version_is_later_than_the_last_release() -> None:
    assert _numbers(VERSION) > _numbers(BEFORE["version"])


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def test_the_archive_is_small_and_that_of_the_last_release(tmp_path: Path) -> None:
    assert ARCHIVE.stat().st_size <= MOST_BYTES
    assert f'version = "{BEFORE["version"]}"' in (unpack(tmp_path) / "pyproject.toml").read_text("utf-8")


Change = Callable[[dict[str, Any]], Any]
HARM: dict[str, tuple[Change, str]] = {
    "a tool": (lambda now: now["tools"].pop("get_ratings"), "the tool get_ratings is gone"),
    "an argument": (
        lambda now: _arguments(now)["properties"].pop("max_results"),
        "search_manga_catalog, argument max_results is gone",
    ),
    "a new required argument": (
        lambda now: _arguments(now)["required"].append("genre"),
        "search_manga_catalog, argument genre is required, and was not",
    ),
    "a narrower type": (
        lambda now: _arguments(now)["properties"]["max_results"].update(type="string"),
        "search_manga_catalog, argument max_results is no longer of type integer",
    ),
    "a value of an enum": (
        lambda now: _arguments(now)["properties"]["genre"]["enum"].remove("kodomo"),
        "search_manga_catalog, argument genre takes fewer values",
    ),
    "a lower maximum": (
        lambda now: _arguments(now)["properties"]["max_results"].update(maximum=1),
        "search_manga_catalog, argument max_results has a maximum of 1",
    ),
    "a pattern": (
        lambda now: _arguments(now)["properties"]["query"].update(pattern="^a"),
        "search_manga_catalog, argument query has the pattern ^a, and had none",
    ),
    "a field of a result": (
        lambda now: _results(now)["properties"].pop("price_jpy"),
        "search_manga_catalog, result results [] price_jpy is gone",
    ),
    "a field that may be missing": (
        lambda now: now["tools"][SEARCH]["output"]["anyOf"][0]["required"].remove("total"),
        "search_manga_catalog, result total may be missing, and could not",
    ),
    "a field of a wider type": (
        lambda now: _results(now)["properties"].update(rating={"type": ["number", "string", "null"]}),
        "search_manga_catalog, result results [] rating may be string, and could not",
    ),
    "an error code": (lambda now: now["errors"].update(TIMEOUT=-1), "the error code TIMEOUT was -32001 and is -1"),
    "a prompt": (lambda now: now["prompts"].pop("find_a_gift"), "the prompt find_a_gift is gone"),
    "a prompt's required argument": (
        lambda now: now["prompts"]["find_a_gift"].update(age=True),
        "the prompt find_a_gift, argument age is required, and was not",
    ),
    "a resource": (lambda now: now["resources"].pop("manga://profile"), "the resource manga://profile is gone"),
    "a key of _meta": (
        lambda now: now["metadata"].remove("com.mangaassist/turnId"),
        "the key or header com.mangaassist/turnId is gone",
    ),
    "a setting": (lambda now: now["settings"].remove("MANGA_PORT"), "the setting MANGA_PORT is gone"),
    "a field of a file": (
        lambda now: now["files"]["catalog"]["properties"].pop("tags"),
        "the catalog file, field tags is gone",
    ),
    "a key of Redis": (
        lambda now: now["redis"]["keys"].update(limit="x"),
        "the form of Redis's key limit was manga:mcp:limit:",
    ),
    "a field of the history": (
        lambda now: now["redis"]["fields"]["history"].remove("summary"),
        "in Redis, history, the field summary is gone",
    ),
    "a table": (lambda now: now["dynamodb"].pop("orders"), "the table orders is gone"),
    "an attribute": (
        lambda now: now["dynamodb"]["orders"]["attributes"].remove("lines"),
        "the table orders, attribute lines is gone",
    ),
    "a key of a table": (lambda now: now["dynamodb"]["stock"].update(key=["id", None]), "the table stock has another key"),
    "a column of a table's index": (
        lambda now: now["dynamodb"]["orders"]["indexes"]["by_time"].remove("status"),
        "the table orders, index by_time is gone, or lacks what it had",
    ),
    "the index's format": (lambda now: now["opensearch"].update(format="4"), "the index has another format"),
    "a field of the index": (
        lambda now: now["opensearch"]["fields"].update(tags="text"),
        "the index's field tags was keyword and is text",
    ),
    "the standby bundle": (lambda now: now["standby"].update(layout=2), "the standby bundle's layout was 1 and is 2"),
}


def _arguments(now: dict[str, Any]) -> Any:
    return now["tools"][SEARCH]["input"]


def _results(now: dict[str, Any]) -> Any:
    return now["tools"][SEARCH]["output"]["properties"]["results"]["items"]


@cases("harm", HARM)
def test_what_is_taken_away_or_narrowed_is_found(harm: str) -> None:
    now = copy.deepcopy(BEFORE)
    change, told = HARM[harm]
    change(now)
    (found,) = differences(BEFORE, now)
    assert found.startswith(told), found


def test_what_is_added_is_no_difference() -> None:
    now = copy.deepcopy(BEFORE)
    now["tools"]["new_tool"] = {"input": {}, "output": {}}
    _arguments(now)["properties"]["colour"] = {"type": "string", "enum": ["red"]}
    _arguments(now)["properties"]["max_results"]["maximum"] = 1_000
    _arguments(now)["properties"]["genre"]["enum"].append("all")
    _results(now)["properties"]["cover"] = {"type": "string"}
    now["errors"]["NEW"] = -32099
    now["prompts"]["find_a_gift"]["colour"] = False
    now["settings"].append("MANGA_NEW")
    now["redis"]["fields"]["history"].append("colour")
    now["dynamodb"]["orders"]["attributes"].append("gift")
    now["opensearch"]["fields"]["colour"] = "keyword"
    assert differences(BEFORE, now) == []
