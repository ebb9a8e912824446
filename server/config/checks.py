"""What no single setting shows: whether together they say what can be done."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from server.config.addresses import is_loopback
from server.config.files import problem_of_file
from server.config.parsing import SettingError, parsed
from server.config.urls import file_of
from session.redis.address import RedisAddress
from tools.store.backends.dynamodb.address import DynamoAddress
from tools.store.backends.opensearch.address import OpenSearchAddress

if TYPE_CHECKING:
    from server.config.settings import Settings


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
