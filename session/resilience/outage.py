"""An outage in the log: told when it begins and when it is over, and not once for each call that meets it."""

from __future__ import annotations

import logging
import time

from session.resilience.clocks import Clock


class Outage:
    """Of one thing, by its name. It begins with the n-th failure in a row; `why` is for a person and carries no secret."""

    def __init__(self, logger: logging.Logger, name: str, after: int = 1, clock: Clock = time.monotonic) -> None:
        self._logger = logger
        self._name = name
        self._after = after
        self._clock = clock
        self._in_a_row = 0
        self._since = 0.0
        self.why: str | None = None
        """None while all is well."""

    def failed(self, why: str, *, for_good: bool = False) -> None:
        """`for_good` is a failure that the next attempt cannot mend: one is enough."""
        self._in_a_row += 1
        if self.why is None and (for_good or self._in_a_row >= self._after):
            self.why, self._since = why, self._clock()
            self._logger.warning("%s is lost: %s", self._name, why)

    def over(self) -> None:
        self._in_a_row = 0
        if self.why is not None:
            self.why = None
            self._logger.info("%s is back after %.1f s", self._name, self._clock() - self._since)
