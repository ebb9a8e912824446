"""Where the log goes, and whose lines are in it."""

from __future__ import annotations

import logging
import sys

from server.telemetry.log.filter import RepeatFilter

OWN_LOGGERS = ("server", "session", "tools", "infra", "manga")


def log_to_stderr(level: str, who: str = "") -> None:
    """stdout belongs to the protocol in stdio mode, and to results in the others. `who` names one of several processes.

    The level is for this server's own loggers, which say nothing of a customer. Libraries write down what they are given,
    order numbers and customers' words included, so of them only warnings are shown, whatever the level."""
    form = f"%(asctime)s %(levelname)s {who and who + ' '}%(name)s %(message)s"
    logging.basicConfig(stream=sys.stderr, format=form, force=True)
    logging.root.handlers[0].addFilter(RepeatFilter())
    logging.root.setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))
    for name in OWN_LOGGERS:
        logging.getLogger(name).setLevel(level.upper())
    logging.getLogger("mcp.server.sse").setLevel(logging.CRITICAL)  # it logs a malformed body as an error, with its content
