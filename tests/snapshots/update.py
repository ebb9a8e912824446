"""Writes anew what follows from the code: `make snapshots`, which is `python -m tests.snapshots.update`."""

from __future__ import annotations

from tests.snapshots.derived import SNAPSHOTS, derived


def main() -> None:
    files = derived()
    for old in SNAPSHOTS.glob("*.json"):
        if old not in files:
            old.unlink()
    for file, text in files.items():
        if not file.exists() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")
            print(f"written: {file.name}")


if __name__ == "__main__":
    main()
