"""A card as one page of HTML that needs nothing from anywhere: style, script and pictures are in it.

Its files stand in this order: `frame.css`, `PART.css` of each part that has one, `NAME.css`; `NAME.html`; `bridge.js`,
`PART.js` of each part, `NAME.js`. The page states a policy of its own beside the host's (Content Security Policy, level 3):
its one script runs by its hash, so that nothing that gets into the page otherwise does, and no request leaves it.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from html import escape
from importlib.resources import files

from tools.cards.card import Card
from tools.schema.text import visible

Read = Callable[[str], str | None]
"""What is in a file of this name, None where there is none."""
FRAME, BRIDGE = "frame.css", "bridge.js"
MOST_CHARACTERS = 128 * 1024
"""Of a page: hosts keep it for each conversation."""
ENDS = re.compile(r"</|<!--", re.IGNORECASE)
"""What would end a script or a style, or turn the rest of it into something else, in the middle."""
ASIDE = re.compile(r"//.*|/\*.*\*/")
"""A line that is all comment. None of the files has a text over several lines, in which one could look so."""
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


def read_file(name: str) -> str | None:
    """One that stands beside this one."""
    file = files(__package__).joinpath(name)
    return file.read_text("utf-8") if file.is_file() else None


def page(card: Card, read: Read = read_file) -> str:
    """Raises ValueError for files that are missing, that would not be what they seem, or that are too long together."""
    styles = [f"{part}.css" for part in card.parts]
    style = _inner(read, FRAME, *(each for each in styles if read(each) is not None), f"{card.name}.css")
    script = _inner(read, BRIDGE, *(f"{part}.js" for part in card.parts), f"{card.name}.js")
    script = f'\n(() => {{\n"use strict";\n{script}}})();\n'
    hashed = b64encode(sha256(script.encode()).digest()).decode()
    whole = "\n".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY.format(hashed)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(card.title)}</title>\n<style>\n{style}</style>\n</head>\n<body>",
            f"{_there(read, f'{card.name}.html').strip()}\n<script>{script}</script>\n</body>\n</html>\n",
        )
    )
    if whole != visible(whole):
        raise ValueError(f"the card {card.name} has characters that nobody sees: write them as escapes")
    if len(whole) > MOST_CHARACTERS:
        raise ValueError(f"the card {card.name} has {len(whole)} characters: {MOST_CHARACTERS} is the most")
    return whole


def _inner(read: Read, *names: str) -> str:
    """The files, one behind the other."""
    texts = {name: _there(read, name) for name in names}
    for name, text in texts.items():
        if found := ENDS.search(text):
            raise ValueError(f"{name} has {found[0]!r} in it, which would end it: write it another way")
    return "".join(f"{line}\n" for text in texts.values() for line in _lean(text))


def _lean(text: str) -> Iterator[str]:
    """Its lines as a host needs them: without indentation, and without those that only tell a reader why."""
    lines = (line.strip() for line in text.splitlines())
    return (line for line in lines if line and not ASIDE.fullmatch(line))


def _there(read: Read, name: str) -> str:
    if (text := read(name)) is None:
        raise ValueError(f"{name} is missing beside the other files of the cards")
    return text
