"""The settings of the agent's service: read once, and a wrong one is told by name."""

from __future__ import annotations

import pytest

from infra.agent.options import CORE, MODEL, ModelSettings, ServiceSettings, WrongSetting, parser, patience_ms
from tests.support.cases import cases

JWT = {"AGENT_JWT_ISSUER": "https://i", "AGENT_JWT_AUDIENCE": "a, b", "AGENT_JWT_JWKS_URL": "https://i/keys"}
HOME = "127.0.0.1"


def test_settings_without_environment_are_a_claude_model_on_loopback() -> None:
    assert ModelSettings.read({}) == ModelSettings(MODEL)
    assert "claude" in MODEL
    assert ServiceSettings.read({}, HOME) == ServiceSettings()
    assert patience_ms(parser().parse_args([])) < 3000


def test_every_setting_is_read_from_its_variable() -> None:
    said = {"AGENT_MODEL": "m", "AGENT_TEMPERATURE": "0", "AGENT_MAX_TOKENS": "300", "AGENT_PROMPT_CACHE": "off"}
    assert ModelSettings.read(said | {"AGENT_MODEL_SILENCE_MS": "900"}) == ModelSettings("m", 0.0, 300, False, 900)
    assert ModelSettings.read(said, "another").model == "another"
    door = {"AGENT_DOOR_SECRET": "s", "AGENT_CALLBACK_URL": "lambda:outside"}
    more = {"AGENT_STORE_TOKEN": "t", "AGENT_TURN_TOKENS": "900", "AGENT_TURN_CALLS": "5", "AGENT_TOOLS": "core"}
    read = ServiceSettings.read(JWT | door | more, "0.0.0.0")
    assert read.jwt is not None
    assert read.jwt.audience == ("a", "b")
    assert (read.door_secret, read.callback, read.store_token) == ("s", "lambda:outside", "t")
    assert (read.turn_tokens, read.turn_calls, read.tools) == (900, 5, CORE)
    assert ServiceSettings.read({"AGENT_TOOLS": "lookup_order, get_ratings"}, HOME).tools == ("lookup_order", "get_ratings")


@cases(
    ("said", "host", "named"),
    [
        ({}, "0.0.0.0", "AGENT_JWT_ISSUER"),
        ({"AGENT_JWT_ISSUER": "https://i"}, HOME, "AGENT_JWT_JWKS_URL"),
        ({"AGENT_DOOR_SECRET": "s"}, HOME, "AGENT_CALLBACK_URL"),
        ({"AGENT_DOOR_SECRET": "s", "AGENT_CALLBACK_URL": "ws://x"}, HOME, "AGENT_CALLBACK_URL"),
        ({"AGENT_TURN_CALLS": "0"}, HOME, "AGENT_TURN_CALLS"),
        ({"AGENT_TURN_TOKENS": "2.5"}, HOME, "AGENT_TURN_TOKENS"),
    ],
)
def test_wrong_service_setting_is_refused_by_name(said: dict[str, str], host: str, named: str) -> None:
    with pytest.raises(WrongSetting, match=named):
        ServiceSettings.read(said, host)


@cases("said", [{"AGENT_TEMPERATURE": "1.5"}, {"AGENT_MAX_TOKENS": "many"}, {"AGENT_PROMPT_CACHE": "yes"}])
def test_wrong_model_setting_is_refused_by_name(said: dict[str, str]) -> None:
    with pytest.raises(WrongSetting, match=next(iter(said))):
        ModelSettings.read(said)
