"""What tests of the store share besides."""

from __future__ import annotations

from tests.support.embedded import file

__all__ = ["file"]
