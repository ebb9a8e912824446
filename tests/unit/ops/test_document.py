"""The operators' page is assembled into one document; a wrong page file is refused."""

from __future__ import annotations

import base64
from hashlib import sha256
from pathlib import Path

import pytest

from server.ops.room import page

HTML = '<head><link rel="stylesheet" href="a.css"></head><script src="b.js"></script><script src="c.js"></script>'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"page.html": HTML, "a.css": "p{}", "b.js": "one()", "c.js": "two()"}.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"


def test_page_files_are_inlined_and_allowed_by_their_hashes_alone(folder: Path) -> None:
    html, policy = page(folder)
    assert html.decode() == "<head><style>p{}</style></head><script>one()</script><script>two()</script>"
    said = policy.decode()
    assert f"style-src {hashed('p{}')}; script-src {hashed('one()')} {hashed('two()')};" in said
    assert "unsafe" not in said


def test_page_without_scripts_allows_no_script(folder: Path) -> None:
    (folder / "page.html").write_text("<p>", "utf-8")
    assert b"style-src 'none'; script-src 'none';" in page(folder)[1]


@pytest.mark.parametrize(
    ("name", "text"), [("b.js", "'</script>'"), ("b.js", "'</SCRIPT'"), ("c.js", "'<!--'"), ("a.css", "/*</style*/")]
)
def test_file_that_would_close_its_own_tag_is_refused_by_name(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, "utf-8")
    with pytest.raises(ValueError, match=f"^{name} cannot stand inside the page$"):
        page(folder)


def test_missing_page_file_is_an_error(folder: Path) -> None:
    (folder / "c.js").unlink()
    with pytest.raises(FileNotFoundError):
        page(folder)
