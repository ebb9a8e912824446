"""A card as one page of HTML that needs nothing from anywhere: style, script and pictures are in it.

Its parts stand in this order: `frame.css`, `NAME.css`; `NAME.html`; `bridge.js`, the other scripts that cards share by
their names, `NAME.js`. The page states a policy of its own beside the host's (Content Security Policy, level 3): its one
script runs by its hash, so that nothing that gets into the page otherwise does, and no request leaves it.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Collection
from hashlib import sha256
from html import escape
from importlib.resources import files

from tools.schema.text import visible

Read = Callable[[str], str]
FRAME, BRIDGE = "frame.css", "bridge.js"
MOST_CHARACTERS = 128 * 1024
"""Of a page: hosts keep it for each conversation."""
ENDS = re.compile(r"</|<!--", re.IGNORECASE)
"""What would end a script or a style, or turn the rest of it into something else, in the middle."""
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'sha256-{}'",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
)


def read_part(name: str) -> str:
    """A file that stands beside this one."""
    return files(__package__).joinpath(name).read_text("utf-8")


def shared_scripts(cards: Collection[str]) -> list[str]:
    """The scripts beside this file that are no card's own, but for the bridge, by their names."""
    names = sorted(each.name for each in files(__package__).iterdir() if each.name.endswith(".js"))
    return [name for name in names if name != BRIDGE and name.removesuffix(".js") not in cards]


def page(name: str, title: str, shared: Collection[str], read: Read = read_part) -> str:
    """Raises ValueError for parts that would not be what they seem, or are too long together."""
    style = _inner(read, FRAME, f"{name}.css")
    script = _inner(read, BRIDGE, *shared, f"{name}.js")
    script = f'\n(() => {{\n"use strict";\n{script}}})();\n'
    hashed = b64encode(sha256(script.encode()).digest()).decode()
    whole = "\n".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY.format(hashed)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>",
            f"{read(f'{name}.html').strip()}\n<script>{script}</script>\n</body>\n</html>\n",
        )
    )
    if whole != visible(whole):
        raise ValueError(f"the card {name} has characters that nobody sees: write them as escapes")
    if len(whole) > MOST_CHARACTERS:
        raise ValueError(f"the card {name} has {len(whole)} characters: {MOST_CHARACTERS} is the most")
    return whole


def _inner(read: Read, *names: str) -> str:
    """The files, one behind the other."""
    parts = {name: read(name) for name in names}
    for name, part in parts.items():
        if found := ENDS.search(part):
            raise ValueError(f"{name} has {found[0]!r} in it, which would end it: write it another way")
    return "".join(f"{part.rstrip()}\n" for part in parts.values())
