"""The page: one document of several files, and the headers that keep it to itself."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

FOLDER = Path(__file__).parent / "page"
STYLE = re.compile(r'<link rel="stylesheet" href="(\w+\.css)">')
SCRIPT = re.compile(r'<script src="(\w+\.js)"></script>')
"""What stands in page.html for each of the others."""
ENDS = {"style": ("</style",), "script": ("</script", "<!--")}
"""What would end such an element, or keep it from ending (HTML, section 4.12.1.3)."""
GUARDED = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""What every answer of the room says."""
POLICY = b"content-security-policy"
NONE = "'none'"
DEFAULT, NO_FRAME = f"default-src {NONE}", f"frame-ancestors {NONE}"
NOTHING = f"{DEFAULT}; {NO_FRAME}".encode()


def page(folder: Path = FOLDER) -> tuple[bytes, bytes]:
    """Returns the document and its Content-Security-Policy, which lets run what is in it by hash and nothing else (CSP Level
    3, section 2.3.1), and lets it ask nobody but this server. Raises `OSError`, and `ValueError` for a file that cannot
    stand inside the page."""
    allowed: dict[str, list[str]] = {"style": [], "script": []}

    def inside(element: str, name: str) -> str:
        text = (folder / name).read_text("utf-8")
        if any(end in text.lower() for end in ENDS[element]):
            raise ValueError(f"{name} cannot stand inside the page")
        allowed[element].append(_hash(text))
        return f"<{element}>{text}</{element}>"

    html = (folder / "page.html").read_text("utf-8")
    html = STYLE.sub(lambda found: inside("style", found[1]), html)
    html = SCRIPT.sub(lambda found: inside("script", found[1]), html)
    sources = " ".join(f"{element}-src {' '.join(dict.fromkeys(hashes)) or NONE};" for element, hashes in allowed.items())
    policy = f"{DEFAULT}; {sources} img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; {NO_FRAME}"
    return html.encode(), policy.encode()


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
