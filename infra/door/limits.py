"""Limits of the customers' entry points: of AWS and the local gateway, or of the gateway alone where it is said."""

from __future__ import annotations

from infra.door.authorizer import SOCKET_SECONDS

MOST_BYTES = 16_384
"""Most bytes of one message, by WebSocket or POST."""
MOST_CHARACTERS = 2000
"""Most characters of a customer's question."""
SILENT_SECONDS = 600
"""Idle time in seconds after which API Gateway closes a socket; not configurable."""
LONGEST_SECONDS = SOCKET_SECONDS
IDLE_SECONDS = 60
"""Idle timeout of the load balancer: shorter than the agent's keep-alive (75), longer than its silence within an answer
(15)."""
MOST_CONNECTIONS = 400
"""At the local gateway alone, on each of its two ports. A further one replaces the longest silent HTTP connection."""
MESSAGES_A_CUSTOMER = 5
"""At the local gateway alone: messages a second of one customer, or of one address for those who prove nothing. Its burst is
as many questions as the agent lets one customer have open."""
SECONDS_OF_BURST = 2
"""Burst of messages, in seconds' worth."""
