"""What a customer has said, inside a prompt.

It stands there as a string of JSON: on one line, its quotation marks escaped, so that no text can end its quotation and go
on as if it were the prompt (spotlighting by delimiting, Hines et al., "Defending Against Indirect Prompt Injection Attacks
With Spotlighting", 2024). The rules say what quotations are: data.
"""

from __future__ import annotations

import json

LONGEST = 300
"""Characters; a query has 500 at most, and a prompt is paid for in each turn."""


def shortened(text: str) -> str:
    """One line of at most 300 characters; what was cut ends with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1].rstrip() + "…"


def quoted(text: str) -> str:
    return json.dumps(shortened(text), ensure_ascii=False)
