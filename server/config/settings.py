"""The settings: environment variables with the prefix MANGA_, read once, each with its rule. A wrong one stops the start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from server.config.addresses import host_name, hosts, is_loopback, networks
from server.config.bearer_secrets import LEAST_TOKEN, fleet_key, token_list, tokens_in
from server.config.checks import check
from server.config.declaration import setting, stated
from server.config.files import file_to_write, folder, path
from server.config.flags_url import flags_url
from server.config.pages_url import pages_url
from server.config.parsing import (
    choice,
    classifier,
    embedder,
    integer,
    listed,
    namespace,
    optional,
    shop_name,
    switch,
    turn_clock,
    user_id,
)
from server.config.relay import AUTO, relay
from server.config.standby_url import standby_url
from server.config.urls import jwks_url, url_of
from session.redis.address import SCHEMES as REDIS_SCHEMES
from session.turn import TurnClock
from tools.store.identifiers import ORDER_ID, TITLE_ID, Identifiers, IdPattern

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
