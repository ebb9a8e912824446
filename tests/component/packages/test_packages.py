"""Tools from packages: loaded, replaced and withdrawn together, or refused together with the reason."""

from __future__ import annotations

import asyncio
import gc
import importlib
import logging
import sys
import threading
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pytest

from server.packages import loading
from server.packages import packages as module
from server.packages.packages import Packages
from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tests.support.pipeline import registry_of
from tests.support.tool_packages import Site, saying
from tests.support.valkey import eventually
from tools.contract import Tool, ToolContext
from tools.registry import TOOLS, Registry
from tools.store.store import Store

BUILT_IN = [tool.name for tool in TOOLS]
NO_STORE: Store = None  # type: ignore[assignment]  # these tools ask nobody


@pytest.fixture
def registry() -> Registry:
    return registry_of(TOOLS, version="built in")


@pytest.fixture
def packages(registry: Registry) -> Packages:
    return Packages(registry)


def names(registry: Registry) -> list[str]:
    return [tool.name for tool in registry if tool.name not in BUILT_IN]


async def said(registry: Registry, name: str = "say_word") -> tuple[str, str]:
    """The version of a tool, and what it answers."""
    found = registry.get(name)
    assert found is not None
    return found.version, (await answered(found.tool))["word"]


async def answered(tool: Tool) -> Any:
    return await tool.handler(ToolContext(NO_STORE, None, Deadline.after(1)), {})


async def problem(packages: Packages) -> str:
    health = await packages.health(Deadline.after(1))
    assert health.ok is (health.detail == "")
    return health.detail


async def test_reload_without_packages_reports_none(packages: Packages, registry: Registry, site: Site) -> None:
    report = await packages.reload()
    assert report.well
    assert str(report) == "no package that is installed brings tools (entry point group manga_tools.tools)"
    assert names(registry) == []


async def test_package_is_loaded_and_replaced_by_its_next_version(
    packages: Packages, registry: Registry, site: Site
) -> None:
    """Its submodules are replaced too: the version's word stands in one."""
    site.install("1.0", saying("one", "say_word", "say_more"))
    assert str(await packages.reload()) == "manga-words 1.0: loaded say_word, say_more"
    assert await said(registry) == ("1.0", "one")
    held = registry.get("say_word")
    site.install("2.0", saying("two", "say_word", "say_less"))
    report = await packages.reload()
    assert str(report) == "manga-words 2.0: loaded say_less; replaced say_word; withdrawn say_more"
    assert await said(registry) == ("2.0", "two")
    assert names(registry) == ["say_less", "say_word"]
    assert held is not None
    assert (await answered(held.tool))["word"] == "one", "who holds the version before goes on with it"
    assert "say_more" not in registry
    assert registry.get("say_more") is not None, "so that its callers are told what to use instead"


async def test_removed_package_withdraws_its_tools(packages: Packages, registry: Registry, site: Site) -> None:
    site.install("1.0", saying("one", "say_word"))
    await packages.reload()
    site.remove()
    assert str(await packages.reload()) == "manga-words 1.0: withdrawn say_word"
    assert names(registry) == []
    assert "manga_words" not in sys.modules
    assert (await packages.reload()).packages == []


async def test_package_may_have_single_tools_and_several_entry_points(
    packages: Packages, registry: Registry, site: Site
) -> None:
    text = saying("one", "say_word")["__init__.py"]
    files = {**saying("one", "say_word"), "one.py": text.replace("TOOLS = [", "ONE = [") + "\nONE = saying('say_one')\n"}
    site.install("1.0", files, points={"b": "manga_words:TOOLS", "a": "manga_words.one:ONE"})
    assert str(await packages.reload()) == "manga-words 1.0: loaded say_one, say_word"
    assert names(registry) == ["say_one", "say_word"]


async def test_package_may_have_fifty_tools_or_none(packages: Packages, registry: Registry, site: Site) -> None:
    """In a list or a tuple."""
    many = saying("one", *(f"say_{number}" for number in range(50)))
    site.install("1.0", {**many, "__init__.py": many["__init__.py"] + "TOOLS = tuple(TOOLS)\n"})
    assert (await packages.reload()).well
    assert len(names(registry)) == 50
    site.install("2.0", {"__init__.py": "TOOLS = []\n"})
    assert str(await packages.reload()).startswith("manga-words 2.0: withdrawn say_0, say_1, ")
    assert str(await packages.reload()) == "manga-words 2.0: brings no tools"


async def test_package_without_a_version_or_a_name_is_unknown(packages: Packages, registry: Registry, site: Site) -> None:
    site.install("1.0", saying("one", "say_word"))
    (metadata,) = site.folder.glob("*.dist-info/METADATA")
    metadata.write_text("Metadata-Version: 2.1\nName: Manga._Words\n")
    assert str(await packages.reload()) == "manga-words unknown: loaded say_word"


async def test_packages_are_reloaded_on_demand_in_the_background(packages: Packages, registry: Registry, site: Site) -> None:
    site.install("1.0", saying("one", "say_word"))
    running = asyncio.create_task(packages.run())
    await asyncio.sleep(0)
    assert names(registry) == []
    for version in ("1.0", "2.0"):
        site.install(version, saying("one", "say_word"))
        packages.reload_soon()
        await eventually(lambda: "say_word" in registry)
        while (await said(registry))[0] != version:
            await asyncio.sleep(0.001)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_reload_keeps_the_server_modules_and_shared_libraries(
    packages: Packages, registry: Registry, site: Site
) -> None:
    """The class of a tool has to be the same for the server and for every package."""
    site.folder.joinpath("manga_library.py").write_text("VALUE = object()\n")
    files = saying("one", "say_word")
    site.install("1.0", {**files, "words.py": "import manga_library\n" + files["words.py"]})
    await packages.reload()
    own = {name: module for name, module in sys.modules.items() if name.split(".")[0] in ("server", "tools", "session")}
    library, words = sys.modules["manga_library"], sys.modules["manga_words.words"]
    await packages.reload()
    assert all(sys.modules[name] is module for name, module in own.items())
    assert sys.modules["manga_library"] is library
    assert sys.modules["manga_words.words"] is not words


BROKEN: dict[str, tuple[dict[str, str], str]] = {
    "an import that fails": ({"__init__.py": "import no_such_thing\n"}, "No module named 'no_such_thing'"),
    "a submodule that fails": ({**saying("two", "say_word"), "words.py": "WORD = 1 / 0\n"}, "ZeroDivisionError: division by zero"),
    "a module that wants to end the process": ({"__init__.py": "raise SystemExit(3)\n"}, "SystemExit: 3"),
    "an error that cannot be told": (
        {"__init__.py": "class Mute(Exception):\n    def __str__(self):\n        raise RuntimeError\nraise Mute\n"},
        "the import of manga_words:TOOLS fails (Mute)",
    ),
    "an error that a terminal would obey": ({"__init__.py": "raise ValueError('\x1b[2J gone')\n"}, "ValueError: ?[2J gone"),
    "a list that cannot be gone through": (
        {"__init__.py": "class L(list):\n    def __iter__(self):\n        raise SystemExit(3)\nTOOLS = L([1])\n"},
        "its tools cannot be read (SystemExit: 3)",
    ),
    "more tools than a model can read": (saying("two", *(f"say_{n}" for n in range(51))), "it brings 51 tools"),
    "a syntax error": ({"__init__.py": "TOOLS = [\n"}, "SyntaxError"),
    "no such attribute": ({"__init__.py": "TOOL = 1\n"}, "manga_words:TOOLS is not there"),
    "an object that is no tool": ({"__init__.py": "TOOLS = ['say_word']\n"}, "manga_words:TOOLS holds a str: it has to be a"),
    "one of two that is no tool": (
        {**saying("two", "say_word"), "__init__.py": saying("two", "say_word")["__init__.py"] + "TOOLS.append(None)\n"},
        "holds a NoneType",
    ),
    "a bad schema": (
        {k: v.replace("arguments({})", "arguments({'a': {'type': 'text'}})") for k, v in saying("two", "say_word").items()},
        "say_word: its input schema is no JSON Schema",
    ),
    "a name that is none": (saying("two", "say word"), "'say word' is no name of a tool"),
    "the name of a built-in tool": (saying("two", "say_word", "lookup_order"), "lookup_order is the name of a built-in tool"),
    "a name twice": (saying("two", "say_word", "say_word"), "two of its tools are called say_word"),
}  # fmt: skip


@cases(("files", "reason"), BROKEN.values(), ids=BROKEN)
async def test_broken_version_is_refused_and_the_former_one_stays(
    files: dict[str, str], reason: str, packages: Packages, registry: Registry, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    """The former version keeps its tools, its modules and what its handlers import while they run."""
    site.install("1.0", saying("one", "say_word", "say_more"))
    await packages.reload()
    modules = {name: module for name, module in sys.modules.items() if name.startswith("manga_words")}
    site.install("2.0", files)
    report = await packages.reload()
    (only,) = report.packages
    assert not report.well
    assert reason in (only.refused or "")
    assert str(only).endswith("; version 1.0 stays")
    assert await said(registry) == ("1.0", "one")
    assert names(registry) == ["say_more", "say_word"]
    assert {name: module for name, module in sys.modules.items() if name.startswith("manga_words")} == modules
    assert await problem(packages)
    await packages.reload()
    assert [record.levelno for record in caplog.records].count(logging.WARNING) == 1, "said once"
    caplog.clear()
    site.install("3.0", saying("three", "say_word"))
    assert (await packages.reload()).well
    assert await said(registry) == ("3.0", "three")
    assert await problem(packages) == ""


TAKES_OUT = "import sys\nfor name in ('json', 'tools', 'tools.contract', 'made_by_hand', 'half_imported'):\n    sys.modules.pop(name, None)\n"


@cases("then", ["TOOLS = []\n", "raise ValueError\n"])
async def test_failing_package_cannot_remove_modules_of_others(
    then: str, packages: Packages, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later import would get other classes than those in use. What a thread is importing is that thread's own."""
    made, half = ModuleType("made_by_hand"), ModuleType("half_imported")
    half.__spec__ = ModuleSpec("half_imported", None)
    half.__spec__._initializing = True  # type: ignore[attr-defined]  # as importlib marks it
    for each in (made, half):
        monkeypatch.setitem(sys.modules, each.__name__, each)
    before = {name: sys.modules[name] for name in ("json", "tools", "tools.contract", "made_by_hand")}
    site.install("1.0", {"__init__.py": TAKES_OUT + then})
    await packages.reload()
    after = {name: sys.modules.get(name) for name in before}
    sys.modules.update(before)
    assert after == before
    assert "half_imported" not in sys.modules


async def test_text_of_a_package_error_is_not_shown_on_health(
    packages: Packages, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    """An exception's text may hold anything, and probes need no token."""
    reason = "the import of manga_words:TOOLS fails"
    site.install("1.0", {"__init__.py": "raise RuntimeError('password=hunter2')\n"})
    assert str(await packages.reload()) == f"manga-words 1.0: refused: {reason} (RuntimeError: password=hunter2)"
    assert await problem(packages) == f"manga-words: {reason}"
    site.install("1.0", {"__init__.py": "raise KeyError('x' * 999)\n"})
    (only,) = (await packages.reload()).packages
    assert only.refused == reason + " (KeyError: '" + "x" * 289 + ")", "of an error 300 characters are told"
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2, "another reason is said too"
    site.remove()
    assert (await packages.reload()).packages == []
    assert await problem(packages) == ""


async def test_refusal_of_a_tool_is_shown_on_health_and_an_error_of_its_code_is_not(packages: Packages, site: Site) -> None:
    files = saying("one", "say_word")
    bad = files["__init__.py"].replace("arguments({})", "arguments({'a': {'type': 'text'}})")
    site.install("1.0", {**files, "__init__.py": bad})
    await packages.reload()
    assert (await problem(packages)).startswith("manga-words: say_word: its input schema is no JSON Schema")
    worse = "class Odd(tuple):\n    def __iter__(self):\n        raise RuntimeError('secret')\n"
    worse += "from dataclasses import replace\nTOOLS = [replace(TOOLS[0], reads=Odd())]\n"
    site.install("1.0", {**files, "__init__.py": files["__init__.py"] + worse})
    assert "say_word: it cannot be compiled (RuntimeError: secret)" in str(await packages.reload())
    assert await problem(packages) == "manga-words: say_word: it cannot be compiled"


@cases("hangs", [False, True])
async def test_packages_that_cannot_be_listed_change_nothing(
    hangs: bool,
    packages: Packages,
    registry: Registry,
    site: Site,
    gate: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """That is said once, without a secret where anybody may look."""

    def unlisted() -> list[loading.Package]:
        assert not hangs or gate.wait(30)
        raise RuntimeError("secret")

    site.install("1.0", saying("one", "say_word"))
    await packages.reload()
    reason = "the packages that are installed cannot be read: nothing was changed"
    with monkeypatch.context() as patched:
        patched.setattr(module, "find_packages", unlisted)
        patched.setattr(packages, "_seconds", 0.05 if hangs else 30.0)
        for _ in range(2):
            report = await packages.reload()
            assert not report.well
            assert str(report) == f"{reason} ({'TimeoutError' if hangs else 'RuntimeError: secret'})"
            assert await problem(packages) == f"the packages: {reason}"
    assert [record.levelno for record in caplog.records].count(logging.WARNING) == 1
    caplog.clear()
    assert names(registry) == ["say_word"]
    assert (await packages.reload()).well
    assert await problem(packages) == ""


async def test_broken_package_does_not_stop_the_others(packages: Packages, registry: Registry, site: Site) -> None:
    site.install("1.0", {"__init__.py": "import no_such_thing\n"}, name="a-broken", module="a_broken")
    site.install("1.0", saying("one", "say_word"))
    report = await packages.reload()
    assert [each.refused is None for each in report.packages] == [False, True]
    assert names(registry) == ["say_word"]


async def test_tool_name_of_an_earlier_package_is_refused(packages: Packages, registry: Registry, site: Site) -> None:
    site.install("1.0", saying("one", "say_word"), name="a-words", module="a_words")
    await packages.reload()
    site.install("1.0", saying("two", "say_word"), name="z-words", module="z_words")
    assert "say_word is the name of a tool of a-words: give it another" in str(await packages.reload())
    assert await said(registry) == ("1.0", "one")


async def test_tool_name_of_another_package_is_refused(packages: Packages, registry: Registry, site: Site) -> None:
    """The name stays with the package that has it."""
    site.install("1.0", saying("one", "say_word"), name="z-words", module="z_words")
    await packages.reload()
    site.install("1.0", saying("two", "say_word", "say_two"), name="a-words", module="a_words")
    report = await packages.reload()
    assert "say_word is the name of a tool of z-words: give it another" in str(report)
    assert await said(registry) == ("1.0", "one")
    assert names(registry) == ["say_word"]
    assert "a_words" not in sys.modules
    site.remove(name="z-words", module="z_words")
    assert str(await packages.reload()) == "z-words 1.0: withdrawn say_word\na-words 1.0: loaded say_word, say_two"


@cases("module", ["json.tool", "tools.lookup_order", "jsonschema", "server"])
async def test_package_that_claims_a_module_of_the_server_is_refused(
    module: str, packages: Packages, registry: Registry, site: Site
) -> None:
    assert importlib.import_module(module.split(".")[0])
    before = dict(sys.modules)
    site.install("1.0", {}, points={"words": f"{module}:TOOL"})
    report = await packages.reload()
    assert f"its module {module.split('.')[0]} is the server's" in str(report)
    assert sys.modules == before


async def test_packages_may_use_each_other_in_any_load_order(packages: Packages, registry: Registry, site: Site) -> None:
    files = saying("one", "say_word")
    for name in ("a_user", "z_user"):
        uses = {
            **saying(name, f"say_{name}"),
            "words.py": f"from manga_words.words import WORD as USED\nWORD = '{name} ' + USED\n",
        }
        site.install("1.0", uses, name=name.replace("_", "-"), module=name)
    site.install("1.0", files)
    for version in ("1.0", "2.0"):
        site.install(version, files)
        assert (await packages.reload()).well
        assert await said(registry) == (version, "one")
        assert [(await said(registry, f"say_{name}"))[1] for name in ("a_user", "z_user")] == ["a_user one", "z_user one"]


async def test_package_that_claims_a_module_of_another_package_is_refused(
    packages: Packages, registry: Registry, site: Site
) -> None:
    site.install("1.0", saying("one", "say_word"))
    await packages.reload()
    for name in ("a-thief", "z-thief"):
        info = site.folder / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[manga_tools.tools]\nx = manga_words:TOOLS\n")
    thief, own, other = (await packages.reload()).packages
    assert own.refused is None
    for each in (thief, other):
        assert "its module manga_words is the server's or another package's" in str(each.refused)
    assert await said(registry) == ("1.0", "one")


async def test_packages_of_one_namespace_are_reloaded_apart(packages: Packages, registry: Registry, site: Site) -> None:
    """Each reload imports only its own package's modules anew."""
    for name in ("one", "two"):
        site.install("1.0", saying(name, f"say_{name}"), name=f"shop-{name}", module=f"shop.{name}")
    assert (await packages.reload()).well
    first = sys.modules["shop.one"]
    for files in ({"__init__.py": "raise OSError\n"}, saying("three", "say two")):
        site.install("2.0", files, name="shop-two", module="shop.two")
        site.install("1.0", files, name="shop-three", module="shop.three")
        assert [each.refused is None for each in (await packages.reload()).packages] == [True, False, False]
        assert await said(registry, "say_two") == ("1.0", "two")
        assert sys.modules["shop"].two is sys.modules["shop.two"]
        assert "shop.three" not in sys.modules
    assert sys.modules["shop.one"] is not first
    assert await said(registry, "say_one") == ("1.0", "one")


async def test_two_versions_in_one_folder_are_refused(packages: Packages, registry: Registry, site: Site) -> None:
    """`pip install --target --upgrade` leaves the metadata of the former version."""
    site.install("1.0", saying("one", "say_word"))
    assert (await packages.reload()).well
    left = (site.folder / "manga_words-1.0.dist-info").rename(site.folder / "left")
    site.install("2.0", saying("two", "say_word"))
    left.rename(site.folder / "manga_words-1.0.dist-info")
    assert "are in one folder: remove all but the last (dist-info); version 1.0 stays" in str(await packages.reload())
    assert await said(registry) == ("1.0", "one")


async def test_entry_point_to_a_missing_module_is_refused(packages: Packages, site: Site) -> None:
    site.install("1.0", {}, points={"words": "manga_nothing:TOOLS"})
    assert "manga_nothing cannot be found: correct the entry point words" in str(await packages.reload())


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """What a module can wait for while it is imported."""
    gate = threading.Event()
    monkeypatch.setattr(sys, "gate", gate, raising=False)
    yield gate
    gate.set()


HANGS = {
    **saying("late", "say_word"),
    "words.py": "import sys\nassert sys.gate.wait(30)\nfrom manga_words import more\nWORD = 'late'\n",
    "more.py": "",
}


async def test_hanging_import_is_abandoned_and_changes_nothing(
    registry: Registry, site: Site, gate: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    """It changes nothing even if it ends after all, and of its error then nothing is said."""
    packages = Packages(registry, import_seconds=0.5)
    site.install("1.0", saying("one", "say_word"))
    assert (await packages.reload()).well
    modules = {name: module for name, module in sys.modules.items() if name.startswith("manga_words")}
    site.install("2.0", HANGS)
    assert "its import takes more than 0.5 s" in str(await packages.reload())
    assert "the import of manga-words 2.0 has not ended" in str(await packages.reload())
    assert {name: module for name, module in sys.modules.items() if name.startswith("manga_words")} == modules
    (thread,) = [each for each in threading.enumerate() if each.name == "import of manga-words 2.0"]
    gate.set()
    thread.join(30)
    await asyncio.sleep(0)
    gc.collect()
    assert "never retrieved" not in caplog.text
    assert {name: module for name, module in sys.modules.items() if name.startswith("manga_words")} == modules
    assert await said(registry) == ("1.0", "one")
    site.install("3.0", saying("three", "say_word"))
    assert (await packages.reload()).well
    assert await said(registry) == ("3.0", "three")


async def test_output_of_a_module_goes_to_stderr(packages: Packages, site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """stdout belongs to the protocol or to a command."""
    site.install("1.0", {**saying("one", "say_word"), "words.py": "print('hello')\nWORD = 'one'\n"})
    assert (await packages.reload()).well
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "hello" in captured.err
