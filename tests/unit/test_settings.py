"""Every setting: its default, its rule, and what a wrong value is told. How a start ends is tested with the lifecycle."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from server.parsing import SettingError
from server.settings import PREFIX, ROOT, Settings, unknown_settings

EXAMPLE = (ROOT / ".env.example").read_text("utf-8")
SETTINGS = {PREFIX + each.name.upper(): each for each in fields(Settings)}


def shown(value: Any) -> str:
    """A default as one would write it."""
    if value is None or value == ():
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value.relative_to(ROOT)) if isinstance(value, Path) else str(value)


def stated_in_example() -> dict[str, tuple[str, str]]:
    """name: (what is said above it, its value)."""
    found: dict[str, tuple[str, str]] = {}
    lines = EXAMPLE.splitlines()
    for above, line in zip(lines, lines[1:], strict=False):
        if line.startswith(f"#{PREFIX}"):
            name, _, value = line.removeprefix("#").partition("=")
            assert name not in found
            found[name] = (above.removeprefix("# "), value)
    return found


def test_the_example_lists_exactly_the_settings_in_their_order() -> None:
    assert list(stated_in_example()) == list(SETTINGS)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_example_tells_what_a_setting_is_about_and_its_true_default(name: str) -> None:
    each = SETTINGS[name]
    assert stated_in_example()[name] == (each.metadata["about"], shown(each.default))


def test_every_line_of_the_example_is_a_comment() -> None:
    """Whoever copies it gets the defaults."""
    assert all(not line or line.startswith("#") for line in EXAMPLE.splitlines())


def test_the_examples_values_are_the_defaults_when_they_are_read() -> None:
    environment = {name: value for name, (_, value) in stated_in_example().items()}
    environment["MANGA_CATALOG_FILE"] = str(ROOT / environment["MANGA_CATALOG_FILE"])
    assert Settings.from_environment(environment) == Settings()


@pytest.mark.parametrize("name", SETTINGS)
def test_an_empty_value_is_the_default(name: str) -> None:
    assert Settings.from_environment({name: " "}) == Settings()


NUMBERS = {name: each for name, each in SETTINGS.items() if each.type == "int"}


def wrong_values() -> list[tuple[str, str]]:
    numbers = [(name, text) for name in NUMBERS for text in ("-1", "x", "1.5", "1e3", "99999999999999", "0x10", "٣٣ x")]
    switches = [(name, text) for name, each in SETTINGS.items() if each.type == "bool" for text in ("2", "maybe", "None")]
    return numbers + switches


@pytest.mark.parametrize(("name", "text"), wrong_values())
def test_a_wrong_number_or_switch_is_told_in_one_line_that_does_not_repeat_it(name: str, text: str) -> None:
    with pytest.raises(SettingError) as caught:
        Settings.from_environment({name: text})
    message = str(caught.value)
    assert message.startswith(f"{name}: ")
    assert "\n" not in message


def test_every_field_has_a_rule_and_words() -> None:
    for each in SETTINGS.values():
        assert callable(each.metadata["parse"])
        assert each.metadata["about"].endswith((".", ":"))


@pytest.mark.parametrize("text", ["1", "on", "TRUE", "Yes"])
def test_a_switch_is_read_as_people_write_it(text: str) -> None:
    assert Settings.from_environment({"MANGA_ALLOW_INSECURE": text}).allow_insecure
    assert not Settings.from_environment({"MANGA_CACHE": {"1": "0", "on": "off", "TRUE": "FALSE", "Yes": "No"}[text]}).cache


SECRET = "hunter2"


def test_no_text_of_the_settings_shows_a_secret() -> None:
    settings = Settings(
        redis_url=f"redis://u:{SECRET}@h", catalog_url=f"https://u:{SECRET}@h", auth="token", auth_tokens=(SECRET,)
    )
    assert SECRET not in repr(settings)
    assert SECRET not in str(settings)


def test_whatever_may_hold_a_secret_is_not_shown() -> None:
    hidden = {each.name for each in fields(Settings) if not each.repr}
    assert {"auth_tokens", "redis_url", "catalog_url"} <= hidden


@pytest.mark.parametrize(
    "environment",
    [
        {"MANGA_REDIS_URL": f"redis://u:{SECRET}@h:port"},
        {"MANGA_REDIS_URL": f"redis://u:{SECRET}@h℀"},
        {"MANGA_REDIS_URL": f"redis://u:{SECRET}@[h"},
        {"MANGA_REDIS_URL": f"memcached://u:{SECRET}@h"},
        {"MANGA_REDIS_URL": f"rediss://u:{SECRET}@h/?ssl_ca_certs=/no/such/file"},
        {"MANGA_CATALOG_URL": f"ftp://u:{SECRET}@h"},
        {"MANGA_STORE_URL": f"dynamo://{SECRET}"},
        {"MANGA_FLAGS_URL": f"https://u:{SECRET}@h"},
        {"MANGA_AUTH": SECRET},
        {"MANGA_JWT_JWKS_URL": f"https://u:{SECRET}@issuer.example/jwks"},
        {"MANGA_JWT_JWKS_URL": f"https://issuer.example:{SECRET}/jwks"},
        {"MANGA_JWT_JWKS_URL": f"http://issuer.example/{SECRET}"},
        {"MANGA_JWT_JWKS_URL": f"ftp://issuer.example/{SECRET}"},
        {"MANGA_JWT_JWKS_URL": f"https:///{SECRET}"},
        {"MANGA_LOG_LEVEL": SECRET},
    ],
)
def test_no_message_shows_a_secret(environment: dict[str, str]) -> None:
    with pytest.raises(SettingError) as caught:
        Settings.from_environment(environment)
    assert SECRET not in str(caught.value)
    assert str(caught.value).startswith(f"{next(iter(environment))}: ")
    assert caught.value.__cause__ is None


def test_tokens_come_from_the_setting_and_the_file(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("two\nthree\n\n")
    settings = Settings.from_environment(
        {"MANGA_AUTH": "token", "MANGA_AUTH_TOKENS": "one, ,", "MANGA_AUTH_TOKENS_FILE": str(file)}
    )
    assert settings.tokens() == ("one", "two", "three")


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe\x00"])
def test_a_file_without_a_token_in_it_proves_nobody(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "tokens"
    file.write_bytes(content)
    with pytest.raises(SettingError, match="MANGA_AUTH_TOKENS"):
        Settings.from_environment({"MANGA_AUTH": "token", "MANGA_AUTH_TOKENS_FILE": str(file)})


JWT = {
    "MANGA_AUTH": "jwt",
    "MANGA_JWT_JWKS_URL": "https://issuer.example/jwks.json",
    "MANGA_JWT_ISSUER": "https://issuer.example/",
    "MANGA_JWT_AUDIENCE": "https://tools.example/mcp, web-shop",
}


def test_what_jwt_needs_is_read() -> None:
    settings = Settings.from_environment(JWT)
    assert (settings.jwt_jwks_url, settings.jwt_issuer) == (JWT["MANGA_JWT_JWKS_URL"], "https://issuer.example/")
    assert settings.jwt_audience == ("https://tools.example/mcp", "web-shop")


@pytest.mark.parametrize("missing", [name for name in JWT if name.startswith("MANGA_JWT")])
def test_jwt_without_one_of_its_settings_is_told(missing: str) -> None:
    """A token of anybody, or for anybody, would be believed."""
    for empty in ({name: value for name, value in JWT.items() if name != missing}, {**JWT, missing: " , "[:1]}):
        with pytest.raises(SettingError, match=f"^MANGA_AUTH=jwt needs {missing} too$"):
            Settings.from_environment(empty)
    with pytest.raises(SettingError, match="MANGA_JWT_JWKS_URL and MANGA_JWT_ISSUER and MANGA_JWT_AUDIENCE"):
        Settings.from_environment({"MANGA_AUTH": "jwt"})


@pytest.mark.parametrize("auth", [{}, {"MANGA_AUTH": "token", "MANGA_AUTH_TOKENS": "x"}])
def test_settings_of_jwt_that_would_do_nothing_stop_the_start(auth: dict[str, str]) -> None:
    """Whoever sets an issuer means it to be asked."""
    for name in (name for name in JWT if name.startswith("MANGA_JWT")):
        with pytest.raises(SettingError, match=f"{name} has no effect"):
            Settings.from_environment({name: JWT[name], **auth})


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/jwks", "http://localhost/jwks", "http://[::1]:1/jwks", "https://x/a?p=b"]
)
def test_keys_come_by_https_or_from_this_machine(url: str) -> None:
    assert Settings.from_environment({**JWT, "MANGA_JWT_JWKS_URL": url}).jwt_jwks_url == url


def test_keys_from_a_file_that_is_not_there_are_told(tmp_path: Path) -> None:
    file = tmp_path / "keys ü.json"
    with pytest.raises(SettingError, match="MANGA_JWT_JWKS_URL: there is no file"):
        Settings.from_environment({**JWT, "MANGA_JWT_JWKS_URL": file.as_uri()})
    file.write_text("{}")
    Settings.from_environment({**JWT, "MANGA_JWT_JWKS_URL": file.as_uri()})


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("shop.example", False)],
)  # fmt: skip
def test_without_proof_only_loopback_is_listened_on(host: str, loopback: bool) -> None:
    assert Settings(host=host).loopback is loopback
    environment = {"MANGA_HOST": host}
    if not loopback:
        with pytest.raises(SettingError, match="loopback"):
            Settings.from_environment(environment)
    Settings.from_environment({**environment, "MANGA_ALLOW_INSECURE": "1"})
    Settings.from_environment({**environment, "MANGA_AUTH": "token", "MANGA_AUTH_TOKENS": "x"})
    Settings.from_environment({**environment, **JWT})


def test_a_flags_file_may_have_any_name(tmp_path: Path) -> None:
    file = tmp_path / "my flags ü.json"
    file.write_text("{}")
    settings = Settings.from_environment({"MANGA_FLAGS_URL": file.as_uri()})
    assert settings.flags_file() == file


def test_a_variable_that_is_no_setting_is_told_with_what_may_have_been_meant() -> None:
    environment = {"MANGA_PROT": "1", "MANGA_TOOLS_SERVICE_HOST": "x", "MANGA_PORT": "1", "HOME": "/"}
    assert unknown_settings(environment) == {"MANGA_PROT": "MANGA_PORT", "MANGA_TOOLS_SERVICE_HOST": None}
