"""The limits of the door, on AWS and on one machine alike."""

from __future__ import annotations

from infra.door.authorizer import SOCKET_SECONDS

MOST_BYTES = 16_384
"""Of one message, on a socket or posted."""
MOST_CHARACTERS = 2000
"""Of what a customer says in it."""
SILENT_SECONDS = 600
"""After which API Gateway closes a socket; it has no setting for it."""
LONGEST_SECONDS = SOCKET_SECONDS
IDLE_SECONDS = 60
"""Of the balancer: shorter than the agent keeps an idle connection (75), longer than it is silent while it answers (15)."""
SECONDS_OF_BURST = 2
"""How many seconds' worth of messages may come at once."""
