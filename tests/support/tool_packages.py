"""Packages that bring tools, installed as pip leaves them: modules and a `.dist-info` in a folder that is on the path."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

MODULE = '''\
"""A tool that says one word."""

from __future__ import annotations

from tools.contract import Json, Tool, ToolContext
from tools.schema.parts import answer, arguments

from .words import WORD


async def say(context: ToolContext, asked: Json) -> Json:
    return {{"word": WORD}}


def saying(name: str) -> Tool:
    return Tool(
        name=name,
        title="Say a word",
        description="Says one word, whoever asks. Use it to hear which version of it is there.",
        input_schema=arguments({{}}),
        output_schema=answer({{"word": {{"type": "string"}}}}, required=["word"]),
        handler=say,
        timeout_ms=500,
        summary=lambda result: "a word",
        instead="Say it yourself.",
    )


TOOLS = [saying(name) for name in {names!r}]
'''


def saying(word: str, *names: str) -> dict[str, str]:
    """The files of a package whose tools of these names answer with a word, which stands in a module of its own."""
    return {"__init__.py": MODULE.format(names=names), "words.py": f"WORD = {word!r}\n"}


class Site:
    """A folder for installed packages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def install(
        self,
        version: str,
        files: Mapping[str, str],
        *,
        name: str = "manga-words",
        module: str = "manga_words",
        points: Mapping[str, str] | None = None,
    ) -> None:
        """Puts this version in the place of any other. `points` are its entry points; by default all of TOOLS is one."""
        self.remove(name=name, module=module)
        home = self.folder.joinpath(*module.split("."))
        home.mkdir(parents=True)
        for path, text in files.items():
            (home / path).write_text(text, "utf-8")
        info = self.folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "utf-8")
        lines = [f"{point} = {value}\n" for point, value in (points or {"words": f"{module}:TOOLS"}).items()]
        (info / "entry_points.txt").write_text("[manga_tools.tools]\n" + "".join(lines), "utf-8")

    def forget_modules(self) -> None:
        """As a process that has imported nothing of it yet."""
        for name, module in list(sys.modules.items()):
            where = getattr(module, "__path__", None) or [getattr(module, "__file__", None) or ""]
            if any(str(each).startswith(str(self.folder)) for each in where):
                del sys.modules[name]

    def remove(self, *, name: str = "manga-words", module: str = "manga_words") -> None:
        shutil.rmtree(self.folder.joinpath(*module.split(".")), ignore_errors=True)
        for info in self.folder.glob(f"{name.replace('-', '_')}-*.dist-info"):
            shutil.rmtree(info)
