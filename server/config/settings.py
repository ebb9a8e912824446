"""The settings: environment variables with the prefix MANGA_, read once, each with its rule. A wrong one stops the start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from server.config.parsing import (
    LEAST_TOKEN,
    Rule,
    SettingError,
    choice,
    classifier,
    embedder,
    file_to_write,
    fleet_key,
    folder,
    integer,
    listed,
    namespace,
    optional,
    parsed,
    path,
    problem_of_file,
    shop_name,
    switch,
    token_list,
    tokens_in,
    turn_clock,
    user_id,
)
from server.config.urls import (
    file_of,
    flags_url,
    host_name,
    hosts,
    is_loopback,
    jwks_url,
    networks,
    pages_url,
    standby_url,
    url_of,
)
from session.redis.address import SCHEMES as REDIS_SCHEMES
from session.redis.address import RedisAddress
from session.turn import TurnClock
from tools.store.backends.dynamodb.tables import DynamoAddress
from tools.store.backends.opensearch.address import OpenSearchAddress
from tools.store.identifiers import ORDER_ID, TITLE_ID, Identifiers, IdPattern

PREFIX = "MANGA_"


def setting(parse: Callable[[str], Any], default: Any, about: str, *, secret: bool = False) -> Any:
    """Declares one. `about` is what the documents say of it; the range that a `Rule` allows is added to it."""
    if isinstance(parse, Rule):
        about = f"{about} {parse.allowed}."
    return field(default=default, repr=not secret, metadata={"parse": parse, "about": about})


def stated(declared: Any, environment: Mapping[str, str]) -> dict[str, Any]:
    """Returns those of the `declared` dataclass that an environment states, by field. Raises `SettingError` for a value that
    cannot be used."""
    known = {PREFIX + each.name.upper(): each for each in fields(declared)}
    return {
        each.name: parsed(name, environment[name], each.metadata["parse"])
        for name, each in known.items()
        if environment.get(name, "").strip()
    }


AUTO = "auto"
LONGEST_FOLDER = 80
"""Of a Unix socket's path Linux takes 107 bytes; the name of a process is part of it."""


def relay(text: str) -> str:
    """Reads it. Raises `SettingError`."""
    if text in (AUTO, "off"):
        return text
    parts = urlsplit(text)
    if parts.scheme != "unix" or parts.netloc or not parts.path.startswith("/") or parts.query:
        raise SettingError("has to be auto, off or a folder, as in unix:///run/manga")
    if len(parts.path.encode()) > LONGEST_FOLDER:
        raise SettingError(f"names a folder whose path has more than {LONGEST_FOLDER} bytes")
    return text


def check(settings: Settings) -> None:
    """Raises `SettingError` for what cannot be done, though each value is one that may be given."""
    for name, file in _files_to_read(settings).items():
        if file is not None and (problem := problem_of_file(file)):
            raise SettingError(f"{name}: {problem}")
    if settings.redis_url != "embedded:":
        parsed("MANGA_REDIS_URL", settings.redis_url, RedisAddress.parse)
    if settings.catalog_url != "embedded:":
        parsed("MANGA_CATALOG_URL", settings.catalog_url, OpenSearchAddress.parse)
    if settings.store_url != "embedded:":
        parsed("MANGA_STORE_URL", settings.store_url, DynamoAddress.parse)
    if settings.audit == "required" and settings.audit_log is None:
        raise SettingError("MANGA_AUDIT=required needs MANGA_AUDIT_LOG: a file, or /dev/stderr")
    _check_relay(settings)
    _check_standby(settings)
    _check_tokens(settings)
    _check_jwt(settings)
    if settings.auth == "none" and not settings.loopback and not settings.allow_insecure:
        raise SettingError(
            f"MANGA_AUTH=none believes everybody, so it listens on loopback only, not on {settings.host}; "
            "set MANGA_AUTH=token or jwt, or MANGA_ALLOW_INSECURE=1 if something else keeps strangers out"
        )


def _files_to_read(settings: Settings) -> dict[str, Path | None]:
    keys = file_of(settings.jwt_jwks_url) if settings.jwt_jwks_url else None
    return {
        "MANGA_CATALOG_FILE": settings.catalog_file,
        "MANGA_ORDERS_FILE": settings.orders_file,
        "MANGA_VOLUMES_FILE": settings.volumes_file,
        "MANGA_POLICIES_FILE": settings.policies_file,
        "MANGA_TAGS_FILE": settings.tags_file,
        "MANGA_AUTH_TOKENS_FILE": settings.auth_tokens_file,
        "MANGA_JWT_JWKS_URL": keys,
    }


def _check_relay(settings: Settings) -> None:
    """What passes there is sealed, and still a network's to hold back, and who speaks to whom its to see."""
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


def _check_tokens(settings: Settings) -> None:
    given = {"MANGA_AUTH_TOKENS": settings.auth_tokens, "MANGA_AUTH_TOKENS_FILE": settings.auth_tokens_file}
    if settings.auth != "token":
        _refuse_idle(given, settings.auth, "token")
    elif not settings.tokens():
        raise SettingError("MANGA_AUTH=token needs a token in MANGA_AUTH_TOKENS or in the file MANGA_AUTH_TOKENS_FILE")


def _check_jwt(settings: Settings) -> None:
    given = {
        "MANGA_JWT_JWKS_URL": settings.jwt_jwks_url,
        "MANGA_JWT_ISSUER": settings.jwt_issuer,
        "MANGA_JWT_AUDIENCE": settings.jwt_audience,
    }
    if settings.auth == "jwt" and (missing := [name for name, value in given.items() if not value]):
        raise SettingError(f"MANGA_AUTH=jwt needs {' and '.join(missing)} too")
    if settings.auth != "jwt":
        _refuse_idle(given, settings.auth, "jwt")


def _refuse_idle(given: Mapping[str, object], auth: str, needed: str) -> None:
    """Refuses settings that have no effect: whoever sets them means them to have one. Raises `SettingError`."""
    if idle := [name for name, value in given.items() if value]:
        raise SettingError(f"{idle[0]} has no effect with MANGA_AUTH={auth}; set MANGA_AUTH={needed}, or leave it out")


ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "infra" / "demo"


@dataclass(frozen=True, slots=True)
class Settings:
    """One row a setting: its name and type, its rule with the range, its default, and what it is about. From these rows come
    the parsing, `.env.example` and the table of the documents (`make snapshots`)."""

    host: str = setting(host_name, "127.0.0.1", "Address to listen on.")
    port: int = setting(integer(0, 65535), 8080, "Port to listen on; 0 takes a free one.")
    workers: int = setting(
        integer(1, 64),
        1,
        "Processes that serve the port together; the limits below are of each, and what they load they share.",
    )
    allowed_hosts: tuple[str, ...] = setting(
        hosts, (), "Further Host (and Origin) names to accept, comma separated; name:* for any port."
    )
    catalog_url: str = setting(
        url_of("embedded", "http", "https", "aoss+https"),
        "embedded:",
        "Where titles are found: embedded:, http:// or https:// (OpenSearch), or aoss+https:// (Serverless).",
        secret=True,
    )
    catalog_file: Path = setting(path, DEMO / "catalog.jsonl", "Catalogue of the embedded backend, JSON lines or .gz.")
    store_url: str = setting(
        url_of("embedded", "dynamodb"),
        "embedded:",
        "Where stock and orders are: embedded: or dynamodb://REGION[?endpoint=URL][&table_prefix=PREFIX].",
    )
    pages_url: str = setting(
        pages_url,
        "embedded:",
        "Where preview pages are: embedded: (drawn, for the demo), file:///FOLDER, s3://BUCKET/PREFIX?region=REGION"
        "[&endpoint=URL].",
    )
    redis_url: str = setting(
        url_of("embedded", *REDIS_SCHEMES),
        "embedded:",
        "Session memory: embedded: (a Valkey of its own), redis://, rediss://, redis+cluster://, rediss+cluster://, unix://.",
        secret=True,
    )
    relay: str = setting(
        relay,
        AUTO,
        "How requests reach the process with their session: auto (by a Redis of its own), unix:///FOLDER, or off.",
    )
    fleet_key: str | None = setting(
        optional(fleet_key),
        None,
        "Secret of 32 characters or more by which processes seal what they tell one another and what clients bring back;"
        " without one they create it in their Redis.",
        secret=True,
    )
    embedder: str = setting(embedder, "local", "Search by meaning: local, bedrock:MODEL, or none for words alone.")
    orders_file: Path | None = setting(
        optional(path),
        None,
        "Orders of the embedded store, JSON lines; by default the demo's with the demo's catalogue.",
    )
    volumes_file: Path | None = setting(
        optional(path),
        None,
        "Volumes of the embedded store, JSON lines; by default the demo's with the demo's catalogue.",
    )
    order_pattern: IdPattern = setting(
        IdPattern,
        IdPattern(ORDER_ID),
        "Order numbers: letters, digits, . _ : -, sets such as [A-Z0-9], \\d, and counts such as {8}.",
    )
    title_pattern: IdPattern = setting(IdPattern, IdPattern(TITLE_ID), "The shop's title ids, written alike.")
    shop_name: str = setting(shop_name, "MangaAssist", "What the assistant calls the shop.")
    policies_file: Path = setting(
        path, DEMO / "policies.md", "The shop's own text on shipping, returns, payment and languages, Markdown."
    )
    tags_file: Path | None = setting(
        optional(path), None, "The shop's own tags: synonyms, audiences and aversions, TOML; added to the shipped table."
    )
    classifier: str = setting(
        classifier, "local", "Genres of texts: local (by titles that are like them), or bedrock:MODEL (Claude)."
    )
    flags_url: str | None = setting(
        optional(flags_url),
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
        optional(standby_url),
        None,
        "Where it is fetched from: file:///PATH, s3://BUCKET/KEY?region=REGION[&endpoint=URL], or redis: (MANGA_REDIS_URL).",
    )
    data_dir: Path | None = setting(
        optional(folder), None, "Where computed vectors are kept; by default the user's cache folder."
    )
    auth: str = setting(choice("none", "token", "jwt"), "none", "Who is believed: none (loopback only), token or jwt.")
    auth_tokens: tuple[str, ...] = setting(
        token_list,
        (),
        f"Accepted bearer secrets, comma separated, {LEAST_TOKEN} characters or more (MANGA_AUTH=token).",
        secret=True,
    )
    auth_tokens_file: Path | None = setting(
        optional(path), None, "The same from a file, one a line, read again when it changes."
    )
    jwt_jwks_url: str | None = setting(
        optional(jwks_url),
        None,
        "Where the issuer's public keys are: https:, file:, or http: on this machine (MANGA_AUTH=jwt).",
        secret=True,
    )
    jwt_issuer: str | None = setting(optional(str), None, "The issuer (iss) of the tokens, to the letter.")
    jwt_audience: tuple[str, ...] = setting(
        listed, (), "What tokens have to be meant for (aud; without one, client_id): any of these, comma separated."
    )
    user: str | None = setting(
        optional(user_id), None, "The customer, for a stdio host that can state none (python -m server stdio alone)."
    )
    trusted_proxies: tuple[str, ...] = setting(
        networks, (), "Addresses or networks of proxies whose X-Forwarded-For and -Proto are believed, comma separated."
    )
    allow_insecure: bool = setting(
        switch,
        False,
        "1 allows MANGA_AUTH=none on another address than loopback, and with another a relay over plain redis://.",
    )
    adult: str = setting(
        choice("on-request", "off", "on"),
        "on-request",
        "Titles for adults alone: on-request (when asked for by name or word), off (as if there were none) or on.",
    )
    turn_budget_ms: int = setting(integer(300, 60_000), 3000, "What a user's turn may take in all.")
    turn_clock: TurnClock = setting(
        turn_clock,
        TurnClock.WALL,
        "Which time of a turn counts: wall, the model's thinking between calls too, or tools, that inside calls alone.",
    )
    turn_tokens: int = setting(
        integer(0, 1_000_000), 0, "Tokens that the results of a user's turn may come to, by estimate; 0 for any number."
    )
    result_tokens: int = setting(
        integer(200, 100_000), 2000, "Tokens that one result may come to, by estimate; what is longer is shortened."
    )
    call_timeout_ms: int = setting(integer(100, 60_000), 5000, "What any one call may take, whatever the turn says.")
    cache: bool = setting(switch, True, "off answers everything live.")
    cache_ttl_s: int = setting(integer(1, 86_400), 300, "How long text about titles is fresh.")
    max_concurrent_calls: int = setting(integer(1, 10_000), 50, "Calls at once; more are answered SERVER_BUSY.")
    max_sse_sessions: int = setting(integer(1, 100_000), 1000, "Open SSE streams, and as many WebSockets; more get 503.")
    websocket: bool = setting(switch, False, "on serves MCP at /ws too, for WebSocket clients of the SDKs' 1.x lines.")
    ops: bool = setting(
        switch,
        True,
        "The operators' page at /ops, for callers on loopback or with a bearer (of a jwt, the scope mcp:manga-tools:ops).",
    )
    max_body_bytes: int = setting(
        integer(1024, 64 * 2**20),
        2**18,
        "Largest message: the longest valid arguments, every character escaped, take 185 KB, _meta 20 KB.",
    )
    rate_limit: bool = setting(
        switch, True, "off lifts the limits of 10 calls a second (burst 40) per user or session, refused calls included."
    )
    log_level: str = setting(
        choice("debug", "info", "warning", "error"), "info", "Least level that is logged: debug, info, warning or error."
    )
    log_tool_calls: str = setting(
        choice("off", "errors", "all"), "errors", "Which calls leave a log line: off, errors or all."
    )
    emf: str = setting(
        namespace, "off", "What alarms and scales as log lines for CloudWatch: off, or a namespace (MangaTools/prod)."
    )
    audit_log: Path | None = setting(
        optional(file_to_write),
        None,
        "File for the audit of order accesses, a JSON line each; by default they go to stderr.",
    )
    audit: str = setting(
        choice("best-effort", "required"),
        "best-effort",
        "What if a line of the audit cannot be written: best-effort answers, required shows no order (needs the file).",
    )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """Reads all of them. Raises `SettingError` for a value that cannot be used."""
        settings = cls(**stated(cls, environment))
        check(settings)
        return settings

    @property
    def identifiers(self) -> Identifiers:
        """The patterns of the shop's ids."""
        return Identifiers(self.title_pattern, self.order_pattern)

    @property
    def loopback(self) -> bool:
        return is_loopback(self.host)

    def tokens(self) -> tuple[str, ...]:
        """Returns the accepted secrets. Raises `SettingError` for a file that cannot be read, or that holds what is no
        token."""
        file = self.auth_tokens_file
        return self.auth_tokens if file is None else (*self.auth_tokens, *tokens_in(file))


def unknown_settings(environment: Mapping[str, str]) -> dict[str, str | None]:
    """Finds MANGA_ variables that are no settings, each with the setting that may have been meant. They stop nothing:
    other programs may share the prefix."""
    known = [PREFIX + each.name.upper() for each in fields(Settings)]
    unknown = (name for name in sorted(environment) if name.startswith(PREFIX) and name not in known)
    return {name: next(iter(get_close_matches(name, known, n=1, cutoff=0.8)), None) for name in unknown}
