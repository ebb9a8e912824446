"""Ports of this machine, for servers that are told theirs. Never one that the system gives to whoever asks for any: tests in
another process ask for those all the time, and one that was free would be taken before its server starts."""

from __future__ import annotations

from tests.stack.children import free_port

__all__ = ["free_port"]
