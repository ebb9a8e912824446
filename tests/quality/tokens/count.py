"""Counts tokens by the tokenizers of several makers, in the environment of `tokenizers.lock`: commands and answers are lines
of JSON (`tests/support/driver.py`). Asked to `count` texts, it answers a list of counts for each tokenizer."""

from __future__ import annotations

import json
import sys

from splintr import Tokenizer  # type: ignore[import-not-found]


def main() -> None:
    tokenizers = {name: Tokenizer.from_pretrained(name) for name in sys.argv[1:]}
    for line in sys.stdin:
        asked = json.loads(line)
        counts = {name: [len(each.encode(text)) for text in asked["texts"]] for name, each in tokenizers.items()}
        print(json.dumps({"id": asked["id"], "value": counts}), flush=True)


main()
