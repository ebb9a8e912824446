"""Why a package's tools were not taken."""

from __future__ import annotations

LONGEST = 300


class Refused(Exception):
    """`reason` is one line that says what is wrong and how to mend it, fit for everybody. `detail` is what the package's own
    code has raised, for whoever runs the server alone: nobody knows what is in it."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail

    @classmethod
    def by(cls, reason: str, error: BaseException) -> Refused:
        """Tells what was raised in one line."""
        return cls(reason, f"{type(error).__name__}: {_line_of(error)}"[:LONGEST].rstrip(": "))

    @property
    def whole(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


def _line_of(error: BaseException) -> str:
    """Without what a terminal would obey."""
    try:
        said = str(error)
    except BaseException:  # this is the package's own code too
        return ""
    return "".join(each if each.isprintable() else "?" for each in " ".join(said.split()))
