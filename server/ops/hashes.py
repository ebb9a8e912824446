"""What stands for a turn, a session or a customer on the page."""

from __future__ import annotations

import secrets
from hashlib import blake2b

BYTES = 4


class Hashes:
    """Under a key of this process's own: the same for the same for as long as it lives, and nothing that anybody could look
    up or try out elsewhere."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(16)

    def of(self, kind: str, text: str) -> str:
        """Returns 8 hexadecimal digits. What is of another `kind` has another hash."""
        said = f"{kind}\0{text}".encode("utf-8", "surrogatepass")
        return blake2b(said, digest_size=BYTES, key=self._key).hexdigest()
