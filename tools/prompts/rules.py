"""The rules of the trade, read from beside this file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from tools.prompts.rule import Rule
from tools.prompts.saying import Saying


@cache
def rules() -> Mapping[str, Rule]:
    """Those of `rules.toml` by name, in the order in which they are said."""
    stated = tomllib.loads(files(__package__).joinpath("rules.toml").read_text("utf-8"))
    return {name: _rule(name, **each) for name, each in stated.items()}


def _rule(name: str, *, en: str, ja: str, more: list[dict[str, Any]] | None = None, prompt_only: bool = False) -> Rule:
    return Rule(name, Saying(en, ja), tuple(Saying(**each) for each in more or ()), prompt_only)
