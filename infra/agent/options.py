"""The example's command line, apart from what it runs on."""

from __future__ import annotations

import argparse

BEDROCK_DEFAULT = "amazon.nova-lite-v1:0"


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
    return words
