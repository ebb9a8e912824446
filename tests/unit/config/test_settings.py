"""Every setting: its default, its rule, the message for a wrong value. A refused start is tested with the lifecycle."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from server.backends.opening import default_data_dir
from server.config.parsing import FlagsItem, SettingError, file_of, without_query
from server.config.settings import (
    DECLARED,
    DEMO,
    PREFIX,
    ROOT,
    Settings,
    describe_policies,
    read_policies,
    unknown_settings,
)
from tests.snapshots.derived import env_example
from tests.support.cases import cases
from tools.store.audience import Adult

EXAMPLE = (ROOT / ".env.example").read_text("utf-8")
APPCONFIG = "http://localhost:2772/applications/store/environments/prod/configurations/tools"
SETTINGS = DECLARED


def stated_in_example() -> dict[str, str]:
    return dict(re.findall(rf"^#({PREFIX}\w+)=(.*)$", EXAMPLE, re.MULTILINE))


def test_committed_env_example_is_generated_from_the_settings() -> None:
    """It lists every setting in order, with its purpose, its range and its default."""
    assert env_example() == EXAMPLE, "make snapshots writes it anew"
    assert list(stated_in_example()) == list(SETTINGS)


@cases("name", [name for name, each in SETTINGS.items() if each.type == "int"])
def test_both_ends_of_a_stated_range_are_accepted_and_values_beyond_are_refused(name: str) -> None:
    """The refusal states the same range in words."""
    least, most = map(int, re.search(r" From (\d+) to (\d+)\.$", SETTINGS[name].metadata["about"]).groups())  # type: ignore[union-attr]
    for inside in (least, most):
        Settings.from_environment({name: str(inside)})
    for outside in (least - 1, most + 1):
        with pytest.raises(SettingError, match=f"^{name}: .*from {least} to {most}$"):
            Settings.from_environment({name: str(outside)})


def test_every_line_of_the_example_is_a_comment() -> None:
    """A copied file sets the defaults only."""
    assert all(not line or line.startswith("#") for line in EXAMPLE.splitlines())


def test_values_of_the_example_are_the_defaults() -> None:
    environment = stated_in_example()
    environment["MANGA_CATALOG_FILE"] = str(ROOT / environment["MANGA_CATALOG_FILE"])
    assert Settings.from_environment(environment) == Settings()


@cases("name", SETTINGS)
def test_empty_value_means_the_default(name: str) -> None:
    assert Settings.from_environment({name: " "}) == Settings()


NUMBERS = {name: each for name, each in SETTINGS.items() if each.type == "int"}


def wrong_values() -> list[tuple[str, str]]:
    numbers = [(name, text) for name in NUMBERS for text in ("-1", "x", "1.5", "1e3", "99999999999999", "0x10", "٣٣ x")]
    switches = [(name, text) for name, each in SETTINGS.items() if each.type == "bool" for text in ("2", "maybe", "None")]
    return numbers + switches


@cases(("name", "text"), wrong_values())
def test_wrong_number_or_switch_is_refused_in_one_line_that_names_its_setting(name: str, text: str) -> None:
    with pytest.raises(SettingError) as caught:
        Settings.from_environment({name: text})
    message = str(caught.value)
    assert message.startswith(f"{name}: ")
    assert "\n" not in message


@cases("where", list(Adult))
def test_manga_adult_accepts_each_of_its_values(where: Adult) -> None:
    assert Settings.from_environment({"MANGA_ADULT": where}).adult == where


def test_every_setting_has_a_parser_and_a_description() -> None:
    for each in SETTINGS.values():
        assert callable(each.metadata["parse"])
        assert each.metadata["about"].endswith((".", ":"))


@cases("text", ["1", "on", "TRUE", "Yes"])
def test_switch_accepts_1_on_true_and_yes_in_any_case(text: str) -> None:
    assert Settings.from_environment({"MANGA_ALLOW_INSECURE": text}).allow_insecure
    assert not Settings.from_environment({"MANGA_CACHE": {"1": "0", "on": "off", "TRUE": "FALSE", "Yes": "No"}[text]}).cache


SECRET = "hunter2"


def test_repr_of_settings_shows_no_secret() -> None:
    settings = Settings(
        redis_url=f"redis://u:{SECRET}@h", catalog_url=f"https://u:{SECRET}@h", auth="token", auth_tokens=(SECRET,)
    )
    assert SECRET not in repr(settings)
    assert SECRET not in str(settings)


def test_fields_with_secrets_are_left_out_of_the_repr() -> None:
    hidden = {each.name for each in fields(Settings) if not each.repr}
    assert {"auth_tokens", "redis_url", "catalog_url"} <= hidden


@cases(
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
        {"MANGA_FLAGS_URL": f"http://h:{SECRET}/"},
        {"MANGA_FLAGS_URL": f"dynamodb://{SECRET}/table/key"},
        {"MANGA_AUTH": SECRET},
        {"MANGA_JWT_JWKS_URL": f"https://u:{SECRET}@issuer.example/jwks"},
        {"MANGA_JWT_JWKS_URL": f"https://issuer.example:{SECRET}/jwks"},
        {"MANGA_JWT_JWKS_URL": f"http://issuer.example/{SECRET}"},
        {"MANGA_JWT_JWKS_URL": f"ftp://issuer.example/{SECRET}"},
        {"MANGA_JWT_JWKS_URL": f"https:///{SECRET}"},
        {"MANGA_LOG_LEVEL": SECRET},
    ],
)
def test_error_about_a_setting_shows_no_secret(environment: dict[str, str]) -> None:
    with pytest.raises(SettingError) as caught:
        Settings.from_environment(environment)
    assert SECRET not in str(caught.value)
    assert str(caught.value).startswith(f"{next(iter(environment))}: ")
    assert caught.value.__cause__ is None


TOKENS = ("first-of-three", "second-of-three", "third-of-three==")


def test_tokens_are_read_from_the_setting_and_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"{TOKENS[1]}\n{TOKENS[2]}\n\n")
    settings = Settings.from_environment(
        {"MANGA_AUTH": "token", "MANGA_AUTH_TOKENS": f"{TOKENS[0]}, ,", "MANGA_AUTH_TOKENS_FILE": str(file)}
    )
    assert settings.tokens() == TOKENS


@cases("content", [b"", b" \n", b"\xff\xfe\x00"])
def test_tokens_file_without_a_token_is_refused(tmp_path: Path, content: bytes) -> None:
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


def test_settings_of_jwt_are_read() -> None:
    settings = Settings.from_environment(JWT)
    assert (settings.jwt_jwks_url, settings.jwt_issuer) == (JWT["MANGA_JWT_JWKS_URL"], "https://issuer.example/")
    assert settings.jwt_audience == ("https://tools.example/mcp", "web-shop")


@cases("missing", [name for name in JWT if name.startswith("MANGA_JWT")])
def test_jwt_without_one_of_its_settings_is_refused_by_name(missing: str) -> None:
    """Without it a token of any issuer, or for any audience, would be accepted."""
    for empty in ({name: value for name, value in JWT.items() if name != missing}, {**JWT, missing: " , "[:1]}):
        with pytest.raises(SettingError, match=f"^MANGA_AUTH=jwt needs {missing} too$"):
            Settings.from_environment(empty)
    with pytest.raises(SettingError, match="MANGA_JWT_JWKS_URL and MANGA_JWT_ISSUER and MANGA_JWT_AUDIENCE"):
        Settings.from_environment({"MANGA_AUTH": "jwt"})


@cases("auth", [{}, {"MANGA_AUTH": "token", "MANGA_AUTH_TOKENS": "x" * 12}])
def test_jwt_settings_without_manga_auth_jwt_are_refused(auth: dict[str, str]) -> None:
    """An operator who sets an issuer means tokens to be checked."""
    for name in (name for name in JWT if name.startswith("MANGA_JWT")):
        with pytest.raises(SettingError, match=f"{name} has no effect"):
            Settings.from_environment({name: JWT[name], **auth})


@cases("url", ["http://127.0.0.1:1/jwks", "http://localhost/jwks", "http://[::1]:1/jwks", "https://x/a?p=b"])
def test_keys_address_may_be_https_or_local(url: str) -> None:
    assert Settings.from_environment({**JWT, "MANGA_JWT_JWKS_URL": url}).jwt_jwks_url == url


def test_missing_keys_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "keys ü.json"
    with pytest.raises(SettingError, match="MANGA_JWT_JWKS_URL: there is no file"):
        Settings.from_environment({**JWT, "MANGA_JWT_JWKS_URL": file.as_uri()})
    file.write_text("{}")
    Settings.from_environment({**JWT, "MANGA_JWT_JWKS_URL": file.as_uri()})


@cases(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("shop.example", False)],
)  # fmt: skip
def test_host_beyond_loopback_is_refused_without_authentication(host: str, loopback: bool) -> None:
    assert Settings(host=host).loopback is loopback
    environment = {"MANGA_HOST": host}
    if not loopback:
        with pytest.raises(SettingError, match="loopback"):
            Settings.from_environment(environment)
    Settings.from_environment({**environment, "MANGA_ALLOW_INSECURE": "1"})
    Settings.from_environment({**environment, "MANGA_AUTH": "token", "MANGA_AUTH_TOKENS": "x" * 12})
    Settings.from_environment({**environment, **JWT})


def test_flags_file_may_have_spaces_and_umlauts_in_its_name(tmp_path: Path) -> None:
    file = tmp_path / "my flags ü.json"
    file.write_text("{}")
    settings = Settings.from_environment({"MANGA_FLAGS_URL": file.as_uri()})
    assert file_of(settings.flags_url or "") == file


@cases(
    ("url", "said"),
    [
        (APPCONFIG, APPCONFIG),
        ("https://flags.example/tools.json?key=hunter2", "https://flags.example/tools.json"),
        (
            "dynamodb://eu-west-1/manga-flags/production?endpoint=http://127.0.0.1:8000",
            "dynamodb://eu-west-1/manga-flags/production",
        ),
    ],
)
def test_flags_address_is_shown_without_its_query(url: str, said: str) -> None:
    """The query may hold a secret."""
    settings = Settings.from_environment({"MANGA_FLAGS_URL": url})
    assert settings.flags_url == url
    assert without_query(url) == said
    assert "hunter2" not in str(settings)


def test_flags_item_is_parsed_into_region_endpoint_table_and_key() -> None:
    item = FlagsItem.parse("dynamodb://eu-west-1/manga-flags/a%2Fb?endpoint=http://h:8000")
    assert (item.address.region, item.address.endpoint, item.table, item.key) == (
        "eu-west-1", "http://h:8000", "manga-flags", "a/b",
    )  # fmt: skip


def test_unknown_manga_variable_is_named_with_the_nearest_setting() -> None:
    environment = {"MANGA_PROT": "1", "MANGA_TOOLS_SERVICE_HOST": "x", "MANGA_PORT": "1", "HOME": "/"}
    assert unknown_settings(environment) == {"MANGA_PROT": "MANGA_PORT", "MANGA_TOOLS_SERVICE_HOST": None}


def wrong_texts(folder: Path) -> list[tuple[str, str, str]]:
    """(setting, a plausible wrong value, what the message has to say), for each setting that is neither number nor switch."""
    (folder / "file").write_text("x")
    short, odd, empty, bytes_ = (folder / name for name in ("short", "odd", "empty", "bytes"))
    short.write_text("first-of-three\nx\n")
    odd.write_text("päss-wörter-sind\n")
    empty.write_text("\n")
    bytes_.write_bytes(b"\xff\xfe")
    file, nowhere = f"{folder}/file", f"{folder}/none/there"
    return [
        *(("MANGA_HOST", text, "one name or address") for text in ("http://h", "h:80", "[::1]", "a b", "h/p", "a,b", "-h")),
        *(
            ("MANGA_ALLOWED_HOSTS", text, "has to be names")
            for text in (
                "http://foo.com/",
                "foo.com/",
                "*",
                "*.foo.com",
                "foo:0",
                "foo:99999",
                "foo:http",
                "::1",
                "[::1",
                "a b",
            )
        ),
        ("MANGA_ALLOWED_HOSTS", "foo.com, http://bar.com", "has to be names"),
        *(("MANGA_CATALOG_URL", text, "address") for text in ("embedded", "embedded:x", "search.example", "localhost:9200")),
        ("MANGA_CATALOG_URL", "https://", "a host is missing"),
        ("MANGA_CATALOG_URL", "https://u:p@", "a host is missing"),
        ("MANGA_CATALOG_URL", "https://h:0", "host is missing"),
        ("MANGA_CATALOG_URL", "https://h:x", "port"),
        ("MANGA_CATALOG_URL", "https://h?index=x", "unknown parameter"),
        ("MANGA_CATALOG_URL", "https://h?alias=A", "alias"),
        ("MANGA_CATALOG_URL", "http://h?ca=/x.pem", "https:// only"),
        ("MANGA_CATALOG_FILE", nowhere, "there is no file"),
        ("MANGA_CATALOG_FILE", str(folder), "is a folder"),
        ("MANGA_POLICIES_FILE", nowhere, "there is no file"),
        ("MANGA_ORDERS_FILE", nowhere, "there is no file"),
        ("MANGA_TAGS_FILE", nowhere, "there is no file"),
        ("MANGA_VOLUMES_FILE", str(folder), "is a folder"),
        ("MANGA_ORDER_PATTERN", "(A+)+", "cannot use '('"),
        ("MANGA_ORDER_PATTERN", "ORDER", "needs a set"),
        ("MANGA_TITLE_PATTERN", "[a-z]{1,40}[a-z]{1,40}", "at most 64"),
        ("MANGA_TITLE_PATTERN", "-[0-9]{4}", "begin with a letter or digit"),
        *(("MANGA_CURRENCY", text, "code by ISO 4217, such as JPY") for text in ("dollars", "$", "XXX")),
        *(("MANGA_SHOP_NAME", text, "one line of at most 60") for text in ("x" * 61, "two\nlines", "\u200b")),
        *(("MANGA_STORE_URL", text, "address") for text in ("embedded", "eu-west-1", "https://dynamodb")),
        *(("MANGA_COVER_HOSTS", text, "img.shop.example") for text in ("*.shop.example", "img.shop.example:*", "[::1]")),
        ("MANGA_COVER_HOSTS", "https://img.shop.example", "no scheme"),
        ("MANGA_STORE_URL", "dynamodb://", "region"),
        ("MANGA_STORE_URL", "dynamodb:eu-west-1", "region"),
        ("MANGA_STORE_URL", "dynamodb://eu-west-1?endpoint=localhost:8000", "endpoint"),
        *(("MANGA_PAGES_URL", text, "address") for text in ("embedded", str(folder), "https://s3.example/pages")),
        ("MANGA_PAGES_URL", "file:pages", "whole path"),
        *(
            ("MANGA_RELAY", text, "folder")
            for text in ("redis", "unix:", "unix:run", "unix://run/manga", "unix:///run?db=1")
        ),
        ("MANGA_RELAY", f"unix:///{81 * 'x'}", "more than 80 bytes"),
        ("MANGA_FLEET_KEY", 31 * "x", "too short"),
        ("MANGA_PAGES_URL", f"file://{nowhere}", "there is no folder"),
        *(("MANGA_STANDBY", text, "one of off, names, full") for text in ("on", "1", "vectors")),
        ("MANGA_TURN_CLOCK", "sun", "wall, tools"),
        *(("MANGA_STANDBY_URL", text, "address") for text in ("redis", str(folder), "https://s3.example/standby")),
        ("MANGA_STANDBY_URL", "redis://cache:6379", "redis: alone"),
        ("MANGA_STANDBY_URL", "file:standby.bundle", "whole path"),
        ("MANGA_STANDBY_URL", "s3://standby?region=eu-west-1", "an object"),
        ("MANGA_STANDBY_URL", "s3://standby/manga.bundle", "region"),
        ("MANGA_PAGES_URL", f"file://{file}", "there is no folder"),
        ("MANGA_PAGES_URL", "s3://pages", "region"),
        ("MANGA_PAGES_URL", "s3:///pages?region=eu-west-1", "bucket"),
        ("MANGA_PAGES_URL", "s3://pages?region=eu-west-1&endpoint=localhost:9000", "endpoint"),
        *(("MANGA_REDIS_URL", text, "address") for text in ("embedded", "cache:6379", "localhost", "http://cache")),
        *(
            ("MANGA_REDIS_URL", text, "a host is missing")
            for text in ("redis://", "redis://user:pw@", "redis:///0", "rediss://:pw@:6379")
        ),
        *(("MANGA_REDIS_URL", f"redis://h:{text}", "port") for text in ("0", "x", "99999", "-1")),
        ("MANGA_REDIS_URL", "redis://h/x", "database"),
        ("MANGA_REDIS_URL", "redis://h?db=1", "unix:// only"),
        ("MANGA_REDIS_URL", "redis://h?ssl_ca_certs=/x", "rediss://"),
        *(("MANGA_REDIS_URL", text, "whole path") for text in ("unix:", "unix://", "unix://run/redis.sock")),
        *(
            ("MANGA_EMBEDDER", text, "local, none or bedrock:MODEL")
            for text in ("bedrock", "bedrock:", "bedrock:a b", "Local", "titan")
        ),
        *(
            ("MANGA_CLASSIFIER", text, "local or bedrock:MODEL")
            for text in ("none", "bedrock", "bedrock:", "bedrock:a b", "claude")
        ),
        *(("MANGA_FLAGS_URL", text, "address") for text in ("flags.json", "/etc/flags.json")),
        *(
            ("MANGA_FLAGS_URL", text, "whole path")
            for text in ("file://flags.json", "file:flags.json", "file:", "file://other/f")
        ),
        ("MANGA_FLAGS_URL", "http:///flags", "no host"),
        ("MANGA_FLAGS_URL", "https://h:x/flags", "no address"),
        ("MANGA_FLAGS_URL", "https://u@h/flags", "name or password"),
        *(("MANGA_FLAGS_URL", f"dynamodb://{text}", "region") for text in ("", "/table/key", "tokyo/table/key")),
        *(
            ("MANGA_FLAGS_URL", f"dynamodb://eu-west-1{text}", "table and item")
            for text in ("", "/", "/table", "/table/a/b", "/no table/key")
        ),
        ("MANGA_FLAGS_URL", "dynamodb://eu-west-1/table/", "1 to 255"),
        ("MANGA_FLAGS_URL", "dynamodb://eu-west-1/table/key?endpoint=localhost:8000", "endpoint"),
        ("MANGA_FLAGS_URL", "dynamodb://eu-west-1/table/key?table_prefix=x", "table_prefix"),
        ("MANGA_ORDERS_FILE", "~nobody-of-this-name", "home folder"),
        ("MANGA_ADULT", "sometimes", "on-request, off, on"),
        ("MANGA_AUTH", "tokens", "none, token, jwt"),
        ("MANGA_AUTH_TOKENS", "x", "token 1 is too short"),
        ("MANGA_AUTH_TOKENS", "first-of-three,x", "token 2 is too short"),
        ("MANGA_AUTH_TOKENS", "Bearer first-of-three", "characters"),
        ("MANGA_AUTH_TOKENS", "päss-wörter-sind", "characters"),
        ("MANGA_AUTH_TOKENS", "first-of-three", "no effect with MANGA_AUTH=none"),
        ("MANGA_AUTH_TOKENS_FILE", file, "no effect with MANGA_AUTH=none"),
        ("MANGA_AUTH_TOKENS_FILE", nowhere, f"there is no file {nowhere}"),
        ("MANGA_AUTH_TOKENS_FILE", str(folder), f"{folder} is a folder"),
        ("MANGA_AUTH_TOKENS_FILE", str(short), f"{short}: token 2 is too short"),
        ("MANGA_AUTH_TOKENS_FILE", str(odd), f"{odd}: token 1 has characters"),
        ("MANGA_AUTH_TOKENS_FILE", str(bytes_), f"{bytes_} cannot be read: it is not UTF-8"),
        ("MANGA_AUTH_TOKENS_FILE", str(empty), "needs a token"),
        *(("MANGA_JWT_JWKS_URL", text, "address") for text in ("issuer.example/jwks", "/etc/jwks.json")),
        ("MANGA_JWT_JWKS_URL", "https:///jwks", "names no host"),
        ("MANGA_JWT_JWKS_URL", "file://jwks.json", "whole path"),
        ("MANGA_JWT_JWKS_URL", "http://issuer.example/jwks", "https"),
        ("MANGA_JWT_ISSUER", "https://issuer.example/", "no effect with MANGA_AUTH=none"),
        ("MANGA_JWT_AUDIENCE", "web-shop", "no effect with MANGA_AUTH=none"),
        ("MANGA_LOG_LEVEL", "verbose", "debug, info, warning, error"),
        ("MANGA_LOG_TOOL_CALLS", "on", "off, errors, all"),
        ("MANGA_TRUSTED_PROXIES", "proxy.example", "IP addresses or networks"),
        ("MANGA_TRUSTED_PROXIES", "10.0.0.1/8", "IP addresses or networks"),
        ("MANGA_EMF", "on", "a namespace"),
        ("MANGA_EMF", "AWS/ECS", "not AWS/"),
        ("MANGA_EMF", "Manga Tools", "a namespace"),
        ("MANGA_AUDIT", "always", "best-effort, required"),
        ("MANGA_AUDIT", "required", "needs MANGA_AUDIT_LOG"),
        ("MANGA_TOOLS", "five", "all, core"),
        ("MANGA_AUDIT_LOG", str(folder), "is a folder"),
        ("MANGA_AUDIT_LOG", nowhere, "there is no folder"),
    ]


def test_every_wrong_value_is_refused_in_one_line_with_setting_and_reason(tmp_path: Path) -> None:
    """Other settings are set to whatever makes the wrong one matter."""
    silent = []
    for name, text, reason in wrong_texts(tmp_path):
        idle = "no effect" in reason
        auth = "jwt" if name.startswith("MANGA_JWT") else "token"
        others = {} if idle or not name.startswith(("MANGA_AUTH_", "MANGA_JWT")) else {"MANGA_AUTH": auth}
        try:
            Settings.from_environment({**others, name: text})
        except SettingError as error:
            said = str(error)
            assert name in said, (name, text, said)
            assert reason in said, (name, text, said)
            assert "\n" not in said
        else:
            silent.append((name, text))
    assert not silent, "accepted silently"


def test_every_setting_has_a_row_in_the_table_of_wrong_values(tmp_path: Path) -> None:
    tabled = {name for name, _, _ in wrong_texts(tmp_path)} | {name for name, _ in wrong_values()}
    assert set(SETTINGS) == tabled


def test_valid_values_are_accepted(tmp_path: Path) -> None:
    for name, text in [
        ("MANGA_HOST", "::1"),
        ("MANGA_HOST", "localhost"),
        ("MANGA_ALLOWED_HOSTS", "shop.example, tools_server:8080, api.example:*, [2001:db8::1]:443, 10.0.0.7"),
        ("MANGA_REDIS_URL", "redis://u%40x:p%2Fw@cache:7000/3"),
        ("MANGA_REDIS_URL", "unix:///run/redis.sock?db=4"),
        ("MANGA_EMBEDDER", "bedrock:arn:aws:bedrock:eu-west-1:1:provisioned-model/x"),
        ("MANGA_CLASSIFIER", "bedrock:anthropic.claude-haiku-4-5-20251001-v1:0"),
        ("MANGA_AUDIT_LOG", f"{tmp_path}/audit.jsonl"),
        ("MANGA_EMF", "MangaTools/prod"),
    ]:
        Settings.from_environment({name: text})


def test_allowed_hosts_are_kept_in_lower_case() -> None:
    """Host headers are compared in lower case."""
    assert Settings.from_environment({"MANGA_ALLOWED_HOSTS": "Shop.Example:*"}).allowed_hosts == ("shop.example:*",)


def test_relay_over_a_network_redis_needs_tls_when_authentication_is_on() -> None:
    proving = {"MANGA_AUTH": "token", "MANGA_AUTH_TOKENS": "secret-of-the-agent"}
    for url in ("redis://cache:6379", "redis+cluster://10.0.0.7:6379"):
        with pytest.raises(SettingError, match="needs TLS"):
            Settings.from_environment({**proving, "MANGA_REDIS_URL": url})
        Settings.from_environment({"MANGA_REDIS_URL": url})
        for relay in ("off", "unix:///run/manga"):
            Settings.from_environment({**proving, "MANGA_REDIS_URL": url, "MANGA_RELAY": relay})
    for url in ("rediss://cache:6379", "redis://127.0.0.1:6379", "redis://localhost:6379", "unix:///run/redis.sock"):
        Settings.from_environment({**proving, "MANGA_REDIS_URL": url})
    Settings.from_environment({**proving, "MANGA_REDIS_URL": "redis://cache:6379", "MANGA_ALLOW_INSECURE": "1"})


@cases(
    "own", [{"store_url": "dynamodb://eu-west-1"}, {"catalog_url": "https://search.example"}, {"catalog_file": ROOT / "x"}]
)
def test_a_shop_with_a_backend_or_a_catalogue_of_its_own_is_told_no_text_of_the_demo(own: dict[str, Any]) -> None:
    assert read_policies(Settings()).topics
    assert not read_policies(Settings(**own)).topics
    assert "until MANGA_POLICIES_FILE names yours" in describe_policies(Settings(**own), read_policies(Settings(**own)))


def test_what_is_copied_of_the_demo_is_named_by_its_content(tmp_path: Path) -> None:
    """A text of one's own among copies is none."""
    file = tmp_path / "ours.md"
    demo = (DEMO / "policies.md").read_text("utf-8")
    file.write_text(re.sub(r"(?m)^# shipping ..$", r"\g<0>\nOurs.\n", demo), "utf-8")
    settings = Settings(store_url="dynamodb://eu-west-1", policies_file=file)
    told = describe_policies(settings, read_policies(settings))
    assert "; languages, payment, returns: the demo shop's texts, until" in told
    assert "MangaAssist is the demo shop's name, until MANGA_SHOP_NAME states yours" in told
    file.write_text("# shipping en\nOurs.\n", "utf-8")
    settings = replace(settings, shop_name="Halfmoon Books")
    assert describe_policies(settings, read_policies(settings)) == "1 topics in 1 languages"


@cases(("stated", "folder"), [("", ".cache/manga-tools"), ("elsewhere", "elsewhere/manga-tools")])
def test_data_folder_is_in_the_cache_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stated: str, folder: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", stated and str(tmp_path / stated))
    assert default_data_dir() == tmp_path / folder
