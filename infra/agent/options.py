"""Command line of the agent, and settings of its model and HTTP service, read from the environment."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import urlsplit

MODEL = "global.anthropic.claude-haiku-4-5-20251001-v1:0"
PORT = 8081
SILENCE_MS = 1400
MAX_TOKENS = 1000
"""Most tokens of a step of the model, more than any says in the time of a turn."""
TURN_TOKENS = 2000
TURN_CALLS = 3
CORE = ("search_manga_catalog", "get_manga_details", "check_inventory", "get_recommendations", "lookup_order")
PATIENCE_MS = 2800
"""Milliseconds for an answer; with the network's round trip a customer waits three seconds."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class WrongSetting(ValueError):
    """A setting has an invalid value; the message names the setting and its rule."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Settings AGENT_MODEL, AGENT_TEMPERATURE (None: the model's default), AGENT_MAX_TOKENS, AGENT_PROMPT_CACHE (on or off)
    and AGENT_MODEL_SILENCE_MS: milliseconds without data after which a model call fails."""

    model: str = MODEL
    temperature: float | None = None
    max_tokens: int = MAX_TOKENS
    prompt_cache: bool = True
    silence_ms: int = SILENCE_MS

    @classmethod
    def read(cls, environment: Mapping[str, str], model: str | None = None) -> ModelSettings:
        return cls(
            model or environment.get("AGENT_MODEL") or MODEL,
            _number(environment, "AGENT_TEMPERATURE", 0, 1),
            _whole(environment, "AGENT_MAX_TOKENS", 1, 8192) or MAX_TOKENS,
            _one_of(environment, "AGENT_PROMPT_CACHE", "on", "off") == "on",
            _whole(environment, "AGENT_MODEL_SILENCE_MS", 100, 60_000) or SILENCE_MS,
        )


@dataclass(frozen=True, slots=True)
class JwtSettings:
    """Settings AGENT_JWT_ISSUER, AGENT_JWT_AUDIENCE (comma-separated) and AGENT_JWT_JWKS_URL: all three, or none."""

    issuer: str
    audience: tuple[str, ...]
    keys: str


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Settings of the HTTP service.

    `jwt`: issuer of the tokens that authenticate customers at /turns; None, on loopback only, turns authentication off.
    `door_secret` (AGENT_DOOR_SECRET): authenticates the WebSocket gateway at /door. `callback` (AGENT_CALLBACK_URL): the
    gateway's address for answers. `store_token` (AGENT_STORE_TOKEN): the agent's own bearer token for the store.
    `turn_tokens` (AGENT_TURN_TOKENS), `turn_calls` (AGENT_TURN_CALLS): most tokens of tool results, and most tool calls, in
    a turn. `tools` (AGENT_TOOLS: all, core, or comma-separated names): the tools given to the model; None for all."""

    jwt: JwtSettings | None = None
    door_secret: str | None = None
    callback: str | None = None
    store_token: str | None = None
    turn_tokens: int = TURN_TOKENS
    turn_calls: int = TURN_CALLS
    tools: tuple[str, ...] | None = None

    @classmethod
    def read(cls, environment: Mapping[str, str], host: str) -> ServiceSettings:
        named = [environment.get(f"AGENT_JWT_{each}") or "" for each in ("ISSUER", "AUDIENCE", "JWKS_URL")]
        if any(named) and not all(named):
            raise WrongSetting("AGENT_JWT_ISSUER, AGENT_JWT_AUDIENCE and AGENT_JWT_JWKS_URL: set all three, or none")
        if not any(named) and host not in LOOPBACK:
            raise WrongSetting(f"on {host} customers have to be proven: set AGENT_JWT_ISSUER, _AUDIENCE and _JWKS_URL")
        secret, callback = environment.get("AGENT_DOOR_SECRET"), environment.get("AGENT_CALLBACK_URL")
        if bool(secret) is not bool(callback):
            raise WrongSetting("AGENT_DOOR_SECRET and AGENT_CALLBACK_URL: set both, or neither")
        if callback and urlsplit(callback).scheme not in ("http", "https", "lambda"):
            raise WrongSetting("AGENT_CALLBACK_URL has to be http://HOST:PORT or lambda:NAME")
        audience = tuple(each.strip() for each in named[1].split(",") if each.strip())
        return cls(
            JwtSettings(named[0], audience, named[2]) if any(named) else None,
            secret or None,
            callback or None,
            environment.get("AGENT_STORE_TOKEN") or None,
            _whole(environment, "AGENT_TURN_TOKENS", 150, 100_000) or TURN_TOKENS,
            _whole(environment, "AGENT_TURN_CALLS", 1, 20) or TURN_CALLS,
            _tools(environment.get("AGENT_TOOLS") or "all"),
        )


def parser() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(prog="python -m infra.agent.agent", description="A shop's agent, over SSE.")
    words.add_argument("--url", default="http://127.0.0.1:8080/sse", help="the server's SSE address (%(default)s)")
    words.add_argument(
        "--bedrock",
        nargs="?",
        const="",
        metavar="MODEL",
        help=f"ask a model of Amazon Bedrock instead of going by words (AGENT_MODEL, or {MODEL})",
    )
    words.add_argument("--user", default="demo-user-1", help="a customer of the shop (%(default)s)")
    words.add_argument("--order", help="the number of one of their orders (their latest)")
    words.add_argument(
        "--patience-ms", type=int, default=PATIENCE_MS, metavar="MS", help="in which a question is answered (%(default)s)"
    )
    served = words.add_argument_group("as a service, with POST /turns, POST /door and GET /healthz, until SIGTERM")
    served.add_argument("--serve", action="store_true", help="answer questions over HTTP, no conversation of its own")
    served.add_argument("--host", default="127.0.0.1", help="where to listen (%(default)s)")
    served.add_argument("--port", type=int, default=PORT, help="where to listen (%(default)s)")
    served.add_argument(
        "--thinking-ms", type=int, default=0, metavar="MS", help="of each step of the model without --bedrock (%(default)s)"
    )
    return words


def patience_ms(asked: argparse.Namespace) -> int:
    return max(1, int(asked.patience_ms))


def _tools(said: str) -> tuple[str, ...] | None:
    if said in ("all", "core"):
        return CORE if said == "core" else None
    return tuple(each.strip() for each in said.split(",") if each.strip())


def _whole(environment: Mapping[str, str], name: str, least: int, most: int) -> int | None:
    number = _number(environment, name, least, most)
    if number is not None and number != int(number):
        _refuse(name, f"a whole number from {least} to {most}")
    return None if number is None else int(number)


def _number(environment: Mapping[str, str], name: str, least: float, most: float) -> float | None:
    if not (said := environment.get(name)):
        return None
    try:
        number = float(said)
    except ValueError:
        number = least - 1
    return number if least <= number <= most else _refuse(name, f"a number from {least} to {most}")


def _one_of(environment: Mapping[str, str], name: str, *values: str) -> str:
    """Returns the setting, by default the first of `values`. Raises `WrongSetting` for a value not among them."""
    said = environment.get(name) or values[0]
    return said if said in values else _refuse(name, " or ".join(values))


def _refuse(name: str, right: str) -> NoReturn:
    raise WrongSetting(f"{name} has to be {right}")
