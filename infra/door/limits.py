"""The limits of the door, on AWS and on one machine alike."""

from __future__ import annotations

from infra.door.authorizer import SOCKET_SECONDS

MOST_BYTES = 16_384
"""Most bytes of one message, on a socket or posted."""
MOST_CHARACTERS = 2000
"""Most characters of a customer's question."""
SILENT_SECONDS = 600
"""Silence after which API Gateway closes a socket; it has no setting for it."""
LONGEST_SECONDS = SOCKET_SECONDS
IDLE_SECONDS = 60
"""The balancer's idle timeout: shorter than the agent keeps an idle connection (75), longer than it is silent in an answer
(15)."""
SECONDS_OF_BURST = 2
"""Seconds' worth of messages that may come at once."""
