"""The settings: environment variables with the prefix MANGA_, read and checked once. An invalid one prevents the start."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from server.config.parsing import (
    LEAST_TOKEN,
    FlagsItem,
    SettingError,
    address,
    allow_only,
    check_file,
    check_folder,
    check_http,
    check_loopback,
    check_tokens,
    choice,
    cover_hosts,
    file_of,
    file_problem,
    file_to_write,
    hosts,
    integer,
    is_host_name,
    is_loopback,
    match,
    networks,
    parse_setting,
    path,
    read_tokens,
    relay_url,
    require,
    split_list,
    standby_url,
    switch,
)
from session.redis.address import SCHEMES as REDIS_SCHEMES
from session.redis.address import RedisAddress
from session.turn import TurnClock
from tools.store.backends.aws_address import S3Address
from tools.store.backends.dynamodb.tables import DynamoAddress
from tools.store.backends.opensearch.address import OpenSearchAddress
from tools.store.currency import Currency
from tools.store.identifiers import ORDER_ID, TITLE_ID, Identifiers, IdPattern
from tools.store.models.order import Policies
from tools.store.records.policies_file import PoliciesFileError, load
from tools.store.tags import TagsFileError, Vocabulary, load_vocabulary

logger = logging.getLogger(__name__)

PREFIX = "MANGA_"
ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "infra" / "demo"
EMBEDDED = allow_only("embedded:")
BEDROCK = r"bedrock:[^\s?#]+"
REPLACED = {
    "MANGA_DATA_DIR": "set XDG_CACHE_HOME: the server keeps its files in the folder manga-tools there",
    "MANGA_MAX_BODY_BYTES": "leave it out: a message has at most 262144 bytes",
    "MANGA_USER": "use `python -m server stdio --user ID`",
}
"""Removed settings of earlier versions, each with advice on its replacement."""


def setting(parse: Callable[[str], Any], default: Any, about: str, *, secret: bool = False) -> Any:
    """Declares a setting. `parse` converts its text; `about` describes it. A `secret` value is not in the repr."""
    return field(default=default, repr=not secret, metadata={"parse": parse, "about": about})


def number(least: int, most: int, default: int, about: str) -> Any:
    return setting(integer(least, most), default, f"{about} From {least} to {most}.")


@dataclass(frozen=True, slots=True)
class Settings:
    """One field per setting: name, type, parser, default and description. `make snapshots` generates `.env.example` and the
    documents' table from the fields. Fields without a parser are set only by code."""

    host: str = setting(
        require(is_host_name, "has to be one name or address, without scheme, port, path or brackets"),
        "127.0.0.1",
        "Address to listen on.",
    )
    port: int = number(0, 65535, 8080, "Port to listen on; 0 takes a free one.")
    workers: int = number(
        1, 64, 1, "Processes that serve the port together. They share loaded data; the limits below are of each."
    )
    allowed_hosts: tuple[str, ...] = setting(
        hosts, (), "Further Host (and Origin) names to accept, comma separated; name:* for any port."
    )
    catalog_url: str = setting(
        address({"embedded": EMBEDDED, **dict.fromkeys(("http", "https", "aoss+https"), OpenSearchAddress.parse)}),
        "embedded:",
        "Where titles are found: embedded:, http:// or https:// (OpenSearch), or aoss+https:// (Serverless).",
        secret=True,
    )
    catalog_file: Path = setting(path, DEMO / "catalog.jsonl", "Catalogue of the embedded backend, JSON lines or .gz.")
    store_url: str = setting(
        address({"embedded": EMBEDDED, "dynamodb": DynamoAddress.parse}),
        "embedded:",
        "Where stock and orders are: embedded: or dynamodb://REGION[?endpoint=URL][&table_prefix=PREFIX].",
    )
    pages_url: str = setting(
        address({"embedded": EMBEDDED, "file": check_folder, "s3": S3Address.parse}),
        "embedded:",
        "Where preview pages are: embedded: (drawn, for the demo), file:///FOLDER, s3://BUCKET/PREFIX?region=REGION"
        "[&endpoint=URL].",
    )
    redis_url: str = setting(
        address({"embedded": EMBEDDED, **dict.fromkeys(REDIS_SCHEMES, RedisAddress.parse)}),
        "embedded:",
        "Session memory: embedded: (a Valkey of its own), redis://, rediss://, redis+cluster://, rediss+cluster://, unix://.",
        secret=True,
    )
    relay: str = setting(
        relay_url,
        "auto",
        "How requests reach the process with their session: auto (by a Redis of its own), unix:///FOLDER, or off.",
    )
    fleet_key: str | None = setting(
        require(lambda text: len(text) >= 32, "is too short; use at least 32 random characters"),
        None,
        "Secret of 32 characters or more that seals messages between processes and state that clients bring back (without it"
        " they create one in their Redis), and answers kept for idempotency keys.",
        secret=True,
    )
    embedder: str = setting(
        match(rf"local|none|{BEDROCK}", "has to be local, none or bedrock:MODEL"),
        "local",
        "Search by meaning: local, bedrock:MODEL, or none for words alone.",
    )
    orders_file: Path | None = setting(
        path, None, "Orders of the embedded store, JSON lines; by default the demo's with the demo's catalogue."
    )
    volumes_file: Path | None = setting(
        path, None, "Volumes of the embedded store, JSON lines; by default the demo's with the demo's catalogue."
    )
    order_pattern: IdPattern = setting(
        IdPattern,
        IdPattern(ORDER_ID),
        "Order numbers: letters, digits, . _ : -, sets such as [A-Z0-9], \\d, and counts such as {8}.",
    )
    title_pattern: IdPattern = setting(IdPattern, IdPattern(TITLE_ID), "The shop's title ids, written alike.")
    currency: Currency = setting(
        Currency.parse, Currency(), "The shop's one currency, by ISO 4217: fields of amounts end in it (price_usd)."
    )
    shop_name: str = setting(
        require(lambda text: text.isprintable() and 0 < len(text) <= 60, "has to be one line of at most 60 characters"),
        "MangaAssist",
        "The shop's name, as the assistant says it.",
    )
    policies_file: Path | None = setting(
        path,
        None,
        "The shop's own text on shipping, returns or any other topic, Markdown; by default the demo's where catalogue and "
        "store are the demo's in this process, and else none.",
    )
    cover_hosts: tuple[str, ...] = setting(
        cover_hosts, (), "Hosts that cards may load covers (cover_url) from, comma separated."
    )
    tags_file: Path | None = setting(
        path, None, "The shop's own tags: synonyms, audiences and aversions, TOML; added to the shipped table."
    )
    classifier: str = setting(
        match(rf"local|{BEDROCK}", "has to be local or bedrock:MODEL"),
        "local",
        "Genres of texts: local (by titles that are like them), or bedrock:MODEL (Claude).",
    )
    flags_url: str | None = setting(
        address({"file": check_file, "http": check_http, "https": check_http, "dynamodb": FlagsItem.parse}),
        None,
        "Which tools are on for whom, followed: file:///PATH, http(s)://HOST/PATH, dynamodb://REGION/TABLE/KEY[?endpoint=URL].",
        secret=True,
    )
    standby: str = setting(
        choice("off", "names", "full"),
        "off",
        "A catalogue in each task for when OpenSearch is away: off, names (found by name), or full (by words and meaning).",
    )
    standby_url: str | None = setting(
        standby_url,
        None,
        "Where it is fetched from: file:///PATH, s3://BUCKET/KEY?region=REGION[&endpoint=URL], or redis: (MANGA_REDIS_URL).",
    )
    auth: str = setting(choice("none", "token", "jwt"), "none", "Who is believed: none (loopback only), token or jwt.")
    auth_tokens: tuple[str, ...] = setting(
        lambda text: check_tokens(split_list(text)),
        (),
        f"Accepted bearer secrets, comma separated, {LEAST_TOKEN} characters or more (MANGA_AUTH=token).",
        secret=True,
    )
    auth_tokens_file: Path | None = setting(path, None, "The same from a file, one a line, read again when it changes.")
    jwt_jwks_url: str | None = setting(
        address({"https": check_http, "http": check_loopback, "file": check_file}),
        None,
        "Where the issuer's public keys are: https:, file:, or http: on this machine (MANGA_AUTH=jwt).",
        secret=True,
    )
    jwt_issuer: str | None = setting(str, None, "The issuer (iss) of the tokens, to the letter.")
    jwt_audience: tuple[str, ...] = setting(
        split_list, (), "Audiences of accepted tokens (aud; without one, client_id), comma separated."
    )
    trusted_proxies: tuple[str, ...] = setting(
        networks, (), "Addresses or networks of proxies whose X-Forwarded-For and -Proto are believed, comma separated."
    )
    allow_insecure: bool = setting(
        switch,
        False,
        "1 allows MANGA_AUTH=none on another address than loopback, and with another a relay over plain redis://.",
    )
    tools: str = setting(
        choice("all", "core"),
        "all",
        "Which tools there are: all, or core: search, details, stock, recommendations and orders alone.",
    )
    adult: str = setting(
        choice("on-request", "off", "on"),
        "on-request",
        "Titles for adults alone: on-request (when asked for by name or word), off (as if there were none) or on.",
    )
    turn_budget_ms: int = number(300, 60_000, 3000, "Time of a user's turn in all.")
    turn_clock: TurnClock = setting(
        lambda text: TurnClock(choice(*TurnClock)(text)),
        TurnClock.WALL,
        "Which time of a turn counts: wall, the model's thinking between calls too, or tools, that inside calls alone.",
    )
    turn_tokens: int = number(
        0, 1_000_000, 0, "Tokens that the results of a user's turn may come to, by estimate; 0 for any number."
    )
    result_tokens: int = number(200, 100_000, 2000, "Most tokens of one result, by estimate; longer results are shortened.")
    call_timeout_ms: int = number(100, 60_000, 5000, "Longest time of any one call, whatever the turn has left.")
    cache: bool = setting(switch, True, "off answers everything live.")
    cache_ttl_s: int = number(1, 86_400, 300, "How long text about titles is fresh.")
    max_concurrent_calls: int = number(1, 10_000, 50, "Calls at once; more are answered SERVER_BUSY.")
    max_sse_sessions: int = number(1, 100_000, 1000, "Open SSE streams, and as many WebSockets; more get 503.")
    websocket: bool = setting(switch, False, "on serves MCP at /ws too, for WebSocket clients of the SDKs' 1.x lines.")
    ops: bool = setting(
        switch,
        True,
        "The operators' page at /ops, for callers on loopback or with a bearer (of a jwt, the scope mcp:manga-tools:ops).",
    )
    rate_limit: bool = setting(
        switch,
        True,
        "off lifts the limits of 10 calls a second (burst 40) per user or session, refused ones included; "
        "120 letters count as one.",
    )
    log_level: str = setting(
        choice("debug", "info", "warning", "error"), "info", "Least level that is logged: debug, info, warning or error."
    )
    log_tool_calls: str = setting(
        choice("off", "errors", "all"), "errors", "Which calls leave a log line: off, errors or all."
    )
    emf: str = setting(
        match(
            r"(?i)(?!AWS/|(?:1|on|yes|true|0|no|false)$)[\w.#:/-]{1,255}",
            "has to be off, or a namespace of CloudWatch: letters, digits and ._#:/- alone, not AWS/",
        ),
        "off",
        "Metrics for alarms and scaling as log lines for CloudWatch: off, or a namespace (MangaTools/prod).",
    )
    audit_log: Path | None = setting(
        file_to_write, None, "File for the audit of order accesses, a JSON line each; by default they go to stderr."
    )
    audit: str = setting(
        choice("best-effort", "required"),
        "best-effort",
        "If a line of the audit cannot be written: best-effort answers, required shows no order (needs the file).",
    )

    data_dir: Path | None = None
    """Folder for computed vectors; None for the user's cache folder."""
    user: str | None = None
    """The customer of calls over stdio that state none."""
    max_body_bytes: int = 2**18
    """Maximum bytes of a message. The longest valid arguments, all escaped, take 185 KB, and `_meta` 20 KB."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """Reads and checks all settings; blank ones count as unset. Raises `SettingError` for the first wrong one."""
        given = {name: text for name, text in environment.items() if name.startswith(PREFIX) and text.strip()}
        if replaced := next((name for name in REPLACED if name in given), None):
            raise SettingError(f"{replaced}: it is no setting any more; {REPLACED[replaced]}")
        stated = {each.name: (name, each.metadata["parse"]) for name, each in DECLARED.items() if name in given}
        settings = cls(**{field: parse_setting(name, given[name], parse) for field, (name, parse) in stated.items()})
        _check(settings)
        return settings

    @property
    def identifiers(self) -> Identifiers:
        return Identifiers(self.title_pattern, self.order_pattern, self.currency)

    @property
    def is_demo(self) -> bool:
        """True if the embedded backend serves the demo catalogue."""
        return self.catalog_url == "embedded:" and self.catalog_file.resolve() == (DEMO / "catalog.jsonl").resolve()

    @property
    def is_demo_shop(self) -> bool:
        """True if the demo catalogue is served with the embedded store, whose orders are then the demo's by default."""
        return self.is_demo and self.store_url == "embedded:"

    @property
    def loopback(self) -> bool:
        return is_loopback(self.host)

    def tokens(self) -> tuple[str, ...]:
        """Reads the accepted tokens of both settings. Raises `SettingError` for an unreadable file or a malformed token."""
        file = self.auth_tokens_file
        return self.auth_tokens if file is None else (*self.auth_tokens, *read_tokens(file))


DECLARED = {PREFIX + each.name.upper(): each for each in fields(Settings) if each.metadata}
"""The fields of `Settings` by environment variable."""


def warn_of_unknown_settings(environment: Mapping[str, str]) -> None:
    """Logs a warning for each MANGA_ variable that is not a setting. Other programs may use the prefix too."""
    for name, meant in unknown_settings(environment).items():
        hint = f"; did you mean {meant}?" if meant else ""
        logger.warning("%s is not a setting of this server and is ignored%s", name, hint)


def unknown_settings(environment: Mapping[str, str]) -> dict[str, str | None]:
    """Returns the MANGA_ variables that are not settings, each with the most similar setting, or None."""
    unknown = (name for name in sorted(environment) if name.startswith(PREFIX) and name not in DECLARED)
    return {name: next(iter(get_close_matches(name, DECLARED, n=1, cutoff=0.8)), None) for name in unknown}


def _check(settings: Settings) -> None:
    keys = file_of(settings.jwt_jwks_url) if settings.jwt_jwks_url else None
    names = ("catalog_file", "orders_file", "volumes_file", "policies_file", "tags_file", "auth_tokens_file")
    for name, file in [*((name, getattr(settings, name)) for name in names), ("jwt_jwks_url", keys)]:
        if file is not None and (problem := file_problem(file)):
            raise SettingError(f"{PREFIX}{name.upper()}: {problem}")
    if settings.audit == "required" and settings.audit_log is None:
        raise SettingError("MANGA_AUDIT=required needs MANGA_AUDIT_LOG: a file, or /dev/stderr")
    _check_relay(settings)
    _check_standby(settings)
    _check_auth(settings)


def _check_relay(settings: Settings) -> None:
    """Raises `SettingError` if authentication is on and the relay would use a network without TLS, where requests could be
    observed and delayed, unless MANGA_ALLOW_INSECURE allows it."""
    if settings.auth == "none" or settings.allow_insecure or settings.relay != "auto" or settings.redis_url == "embedded:":
        return
    address = RedisAddress.parse(settings.redis_url)
    if address.path is None and address.tls is None and not is_loopback(address.host):
        raise SettingError(
            f"MANGA_RELAY=auto passes requests on by {address.host}, and with MANGA_AUTH={settings.auth} that needs TLS: "
            "take rediss:// in MANGA_REDIS_URL, MANGA_RELAY=unix:///FOLDER for processes of one machine, "
            "MANGA_RELAY=off with a balancer that is sticky, or MANGA_ALLOW_INSECURE=1 if something else keeps strangers out"
        )


def _check_standby(settings: Settings) -> None:
    if settings.standby == "off":
        if settings.standby_url:
            raise SettingError("MANGA_STANDBY_URL has no effect with MANGA_STANDBY=off; set names or full, or leave it out")
    elif settings.standby_url is None:
        raise SettingError(f"MANGA_STANDBY={settings.standby} needs MANGA_STANDBY_URL: where the catalogue is fetched from")
    elif settings.catalog_url == "embedded:":
        raise SettingError(f"MANGA_STANDBY={settings.standby} stands by for OpenSearch; MANGA_CATALOG_URL names none")


def _check_auth(settings: Settings) -> None:
    names = {"token": ("auth_tokens", "auth_tokens_file"), "jwt": ("jwt_jwks_url", "jwt_issuer", "jwt_audience")}
    for auth, needed in names.items():
        missing = [f"{PREFIX}{name.upper()}" for name in needed if not getattr(settings, name)]
        idle = [f"{PREFIX}{name.upper()}" for name in needed if getattr(settings, name)]
        if idle and settings.auth != auth:  # an operator set it and expects an effect
            raise SettingError(
                f"{idle[0]} has no effect with MANGA_AUTH={settings.auth}; set MANGA_AUTH={auth}, or leave it out"
            )
        if settings.auth == auth == "jwt" and missing:
            raise SettingError(f"MANGA_AUTH=jwt needs {' and '.join(missing)} too")
    if settings.auth == "token" and not settings.tokens():
        raise SettingError("MANGA_AUTH=token needs a token in MANGA_AUTH_TOKENS or in the file MANGA_AUTH_TOKENS_FILE")
    if settings.auth == "none" and not settings.loopback and not settings.allow_insecure:
        raise SettingError(
            f"MANGA_AUTH=none believes everybody, so it listens on loopback only, not on {settings.host}; "
            "set MANGA_AUTH=token or jwt, or MANGA_ALLOW_INSECURE=1 if something else keeps strangers out"
        )


def read_policies(settings: Settings) -> Policies:
    """Reads the shop's policies from MANGA_POLICIES_FILE, or the demo's file for the demo shop; without either there are
    none. Raises `SettingError` for an unusable file."""
    file = settings.policies_file or (DEMO / "policies.md" if settings.is_demo_shop else None)
    try:
        return replace(load(file) if file else Policies(), shop=settings.shop_name)
    except PoliciesFileError as error:
        raise SettingError(f"MANGA_POLICIES_FILE: {error}") from None


def describe_policies(settings: Settings, policies: Policies) -> str:
    """Describes the policies for operators: the numbers of topics and languages, and for any shop but the demo's, which of
    the demo's texts are still in use, and whether the demo's name is."""
    languages = len({language for _, language in policies.texts})
    none = "none: nothing is said of shipping and returns until MANGA_POLICIES_FILE names yours"
    told = [f"{len(policies.topics)} topics in {languages} languages" if policies.topics else none]
    if not settings.is_demo_shop:
        demo: Mapping[tuple[str, str], str] = {}
        with suppress(PoliciesFileError):  # an image may be without the demo
            demo = load(DEMO / "policies.md").texts
        if same := dict.fromkeys(topic for (topic, _), _ in policies.texts.items() & demo.items()):
            told.append(f"{', '.join(sorted(same))}: the demo shop's texts, until MANGA_POLICIES_FILE names yours")
        if policies.shop == Policies().shop:
            told.append(f"{policies.shop} is the demo shop's name, until MANGA_SHOP_NAME states yours")
    return "; ".join(told)


def read_vocabulary(settings: Settings) -> Vocabulary:
    """Reads the shipped vocabulary of tags, with MANGA_TAGS_FILE added. Raises `SettingError` for an unusable file."""
    try:
        return load_vocabulary(settings.tags_file)
    except TagsFileError as error:
        raise SettingError(f"MANGA_TAGS_FILE: {error}") from None
