"""The doctor's report on the relay between replicas: over Redis with or without channels, and in a folder."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from server.commands.doctor import relay
from server.commands.doctor.relay import diagnose, relay_check
from server.config.settings import Settings
from session.redis.keyvalue import Reply, Step
from session.redis.multiplexed import Dialer
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import DOWN, OK, Diagnosis, always
from tests.support.ports import free_port
from tests.support.redis_kinds import all_keys, as_cluster_of_one, reached
from tests.support.valkey import PrivateValkey, ask, connected, private_valkey

ALONE = ("resetchannels", "~manga:mcp:*", "&manga:mcp:*", "-@all", "+ping")
WELL = always(Diagnosis(OK, "read and written"))
RIGHTS = ("+publish", "+subscribe", "+get", "+getdel", "+exists", "+set", "+del")


async def told(**settings: object) -> Diagnosis:
    (_, check) = relay_check(Settings(**settings), WELL)["relay"]  # type: ignore[arg-type]
    return await check(Deadline.after(30))


async def told_with(own: PrivateValkey, *rights: str) -> Diagnosis:
    """With these rights and no others for whoever comes without a name, as long as it asks."""
    async with connected(own.address) as admin:
        await _allowed(admin, "reset", "on", "nopass", *ALONE, *rights)
        return await told(redis_url=f"redis://127.0.0.1:{own.port}")


async def _allowed(admin: object, *rules: str) -> Reply:
    return await ask(admin, "ACL", "SETUSER", "default", *rules)  # type: ignore[arg-type]


async def test_relay_over_redis_is_ok_and_leaves_no_key() -> None:
    with private_valkey() as own:
        assert await told(redis_url=f"redis://127.0.0.1:{own.port}") == Diagnosis(OK, "published and received")
        async with reached(own.address) as redis:
            assert await all_keys(redis) == []


@pytest.mark.parametrize("missing", RIGHTS)
async def test_missing_redis_right_is_reported_by_its_name(missing: str) -> None:
    with private_valkey() as own:
        found = await told_with(own, *(each for each in RIGHTS if each != missing))
    command = missing.removeprefix("+").upper()
    assert (found.state, found.detail) == (DOWN, f"its user may not {command} there")
    assert missing in (found.remedy or "")


async def test_documented_redis_rights_are_sufficient() -> None:
    with private_valkey() as own:
        assert (await told_with(own, *RIGHTS)).state == OK


async def test_access_list_without_channels_is_reported() -> None:
    """A Redis access list that names no channels forbids them."""
    with private_valkey() as own:
        found = await told_with(own, "+@all", "resetchannels")
    assert (found.state, found.detail) == (DOWN, "its user may not SUBSCRIBE there")


@dataclass(frozen=True, slots=True)
class Divided:
    """Behind a proxy: what is heard comes from one server, and what is said goes to another."""

    dialer_of: Callable[[str], Dialer]
    trip: Callable[[Sequence[Step], Deadline], Awaitable[list[Reply | Exception]]]
    is_sharded: bool = False


async def test_published_message_that_does_not_arrive_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "HEARD_SECONDS", 0.05)
    with private_valkey() as one, private_valkey() as other:
        async with connected(one.address) as heard, connected(other.address) as said:
            found = await diagnose(Divided(heard.dialer_of, said.trip), Deadline.after(30))  # type: ignore[arg-type]
    assert (found.state, found.detail) == (DOWN, "published messages do not arrive")


async def test_relay_is_reported_down_while_redis_is() -> None:
    """Redis may be known to be down, or go down now."""
    settings = Settings(redis_url=f"redis://127.0.0.1:{free_port()}")
    for redis_is in (always(Diagnosis(DOWN, "it does not answer")), WELL):
        found = await relay_check(settings, redis_is)["relay"][1](Deadline.after(30))
        assert (found.state, found.detail) == (DOWN, "Redis cannot be asked")


async def test_relay_is_not_examined_for_one_process_and_off_recommends_sticky_sessions() -> None:
    assert relay_check(Settings(), WELL) == {}
    assert "sticky" in (await told(relay="off")).detail


async def test_relay_folder_has_to_be_private_to_its_user(tmp_path: Path) -> None:
    folder = tmp_path / "relay"
    assert (await told(relay=f"unix://{folder}")).state == OK
    folder.mkdir(mode=0o755)
    found = await told(relay=f"unix://{folder}")
    assert (found.state, found.remedy) == (DOWN, f"chmod 700 {folder}")
    (tmp_path / "file").touch()
    assert (await told(relay=f"unix://{tmp_path / 'file'}")).state == DOWN


async def test_relay_over_a_redis_cluster_uses_sharded_channels() -> None:
    with private_valkey("--cluster-enabled", "yes") as own:
        await as_cluster_of_one(own.address)
        found = await told(redis_url=f"redis+cluster://127.0.0.1:{own.port}")
    assert found == Diagnosis(OK, "published and received, in the channel's own shard")
