"""Themes that need not be: "it doesn't have to be romance", 恋愛じゃなくてもいい. Searched for, their words would ask for
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.store.search.reading.claim import Claim
from tools.store.search.reading.freedom import Freedom
from tools.store.search.reading.optional import unneeded
from tools.store.search.reading.vocabulary import Vocabulary

_MAY_SAY_SO = re.compile(r"\b(?:have to|need|necessar|required|matter|whether|care if)|[な無]く|必[要須]|問わ|問いま|こだわ")


class Needless:
    """Finds them. They state nothing."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def __call__(self, text: str) -> Iterator[Claim]:
        if not _MAY_SAY_SO.search(text):
            return
        for named in self._vocabulary.named(text):
            if span := unneeded(text, named.start, named.end):
                yield Claim(*span, says=f"not necessarily {text[named.start : named.end]}", freedom=Freedom())
