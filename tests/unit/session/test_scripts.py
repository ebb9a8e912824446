"""The Lua scripts: shared code stands in one file, and every key is declared for a cluster."""

from __future__ import annotations

import re
from importlib.resources import files

from session.scripts import Script
from tests.support.cases import cases

FILES = {
    file.name.removesuffix(".lua"): file.read_text("utf-8")
    for file in files("session.scripts").iterdir()
    if file.name.endswith(".lua")
}
SCRIPTS = sorted(FILES.keys() - {"bucket"})
CALL = re.compile(r"redis\.p?call\('(\w+)'(?:, (\w+(?:\[\d\])?))?")


@cases("name", ["begin", "limit"])
def test_both_rate_limit_scripts_include_the_one_token_bucket(name: str) -> None:
    """The include is expanded once into the text sent to Redis, and its directive is gone."""
    text = Script.load(name).text
    assert text.count(FILES["bucket"]) == 1
    assert "-- include" not in text
    assert "take(KEYS[1]," in text


def test_token_bucket_is_defined_in_one_script_file_only() -> None:
    """No other file has its arithmetic or its fields."""
    assert [name for name, text in FILES.items() if "'refilled'" in text or "function take" in text] == ["bucket"]


@cases("name", SCRIPTS)
def test_every_key_of_a_script_is_a_declared_one(name: str) -> None:
    """None is made up inside: a cluster, and ElastiCache Serverless above all, has to know them beforehand. The function of
    the bucket is given its key by those who include it."""
    called = CALL.findall(Script.load(name).text)
    assert called
    for command, key in called:
        assert command == "TIME" or re.fullmatch(r"KEYS\[\d\]|key", key), f"{command} {key}"
    assert "take(" not in FILES[name] or re.search(r"take\(KEYS\[\d\],", FILES[name])
