"""The example's command line, apart from what it runs on."""

from __future__ import annotations

import argparse

BEDROCK_DEFAULT = "amazon.nova-lite-v1:0"
PORT = 8081
PATIENCE_MS = 2000
"""Of a customer, where the model is a script: with the way there and back, and on a busy machine, three seconds."""
PATIENCE_WITH_BEDROCK_MS = 10_000


def parser() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(prog="python -m infra.agent.agent", description="An example agent over SSE.")
    words.add_argument("--url", default="http://127.0.0.1:8080/sse", help="the server's SSE address (%(default)s)")
    words.add_argument(
        "--bedrock",
        nargs="?",
        const=BEDROCK_DEFAULT,
        metavar="MODEL",
        help=f"ask a model of Amazon Bedrock instead of reading the script (default model: {BEDROCK_DEFAULT})",
    )
    served = words.add_argument_group("as a service, with POST /chat and GET /healthz, until SIGTERM")
    served.add_argument("--serve", action="store_true", help="answer questions over HTTP, no conversation of its own")
    served.add_argument("--host", default="127.0.0.1", help="where to listen (%(default)s)")
    served.add_argument("--port", type=int, default=PORT, help="where to listen (%(default)s)")
    served.add_argument(
        "--patience-ms",
        type=int,
        metavar="MS",
        help=f"after which a question is answered in any case ({PATIENCE_MS}, with --bedrock {PATIENCE_WITH_BEDROCK_MS})",
    )
    served.add_argument(
        "--thinking-ms", type=int, default=0, metavar="MS", help="of each step of the model without --bedrock (%(default)s)"
    )
    return words


def patience_ms(asked: argparse.Namespace) -> int:
    """Milliseconds from a question to its answer."""
    if asked.patience_ms is not None:
        return max(1, int(asked.patience_ms))
    return PATIENCE_MS if asked.bedrock is None else PATIENCE_WITH_BEDROCK_MS
