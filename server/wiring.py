"""The composition root: opens the application's parts and connects them. `server.backends` chooses the backend of each port.

`open_app` opens everything in order and closes it in reverse; `wire` composes the application from the opened parts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import fields, replace
from functools import partial

from server.application import Application, Environment
from server.backends.guarded_store import POLICIES, REDIS, guarded_store, stock_snapshot
from server.backends.opening import OpenPorts, open_ports, open_redis
from server.config.parsing import SettingError
from server.config.settings import Settings, describe_policies, read_policies
from server.config.sources import follow_file
from server.flags.follower import Follower, open_flags
from server.identity.caller_limits import CallerLimits
from server.identity.request_metadata import Identifier, TrustStated, TrustTokens
from server.identity.tool_access import ToolAccess
from server.packages.packages import Packages, Reloads
from server.pipeline import build_pipeline
from server.runtime.fleet_key import FleetKey
from server.runtime.health import Probe, dependencies
from server.runtime.lifecycle import Background, Lifecycle
from server.standby.opening import open_standby
from server.telemetry.audit import AuditLog, audit_sink
from server.telemetry.emf import EmfPublisher
from server.telemetry.log_calls import CallLog, ExhaustedTurns
from server.telemetry.log_output import dropped_lines
from server.telemetry.metrics import Metrics, log_breaker_changes
from server.tracing.opening import open_tracing
from server.transport.changes import SessionUpdates, SharedBus
from server.transport.mcp import Protocol
from server.transport.relay.relayed import open_router
from server.version import VERSION
from session.memory import SessionMemory
from session.resilience.breaker import CircuitBreaker
from session.resilience.deadline import Deadline
from session.resilience.rate_limit import LocalLimits, Rate
from session.turn import Turns
from tools.cards.extension import cards
from tools.primitive_registry import PRIMITIVES, PrimitiveRegistry
from tools.primitives.resource import Extension, Prompt
from tools.registry import CORE, TOOLS, Registry
from tools.resources.built_in import resources_of
from tools.skills.text import served_skills
from tools.store.guarded import Backend
from tools.store.identifiers import Identifiers
from tools.store.models.order import Health, Policies

EXTENSIONS: Sequence[Callable[[Sequence[str]], Extension]] = [
    cards,
    served_skills,
]
"""Factories of MCP extensions; each takes the host names of the shop's cover images."""


def with_resources(extensions: Sequence[Extension], identifiers: Identifiers, policies: Policies) -> PrimitiveRegistry:
    """Returns the registry of resources and prompts: the shop's policies, the built-in ones, and those of the extensions.
    The arguments of the built-in prompts describe ids in the shop's format."""

    def adapt(prompt: Prompt) -> Prompt:
        arguments = (replace(each, description=identifiers.adapt(each.description)) for each in prompt.arguments)
        return replace(prompt, arguments=tuple(arguments))

    built_in = (adapt(each) if isinstance(each, Prompt) else each for each in PRIMITIVES)
    return PrimitiveRegistry(
        (*resources_of(policies), *built_in, *(resource for each in extensions for resource in each.resources))
    )


def open_audit(settings: Settings, stack: AsyncExitStack) -> AuditLog:
    """Opens the audit log, which is closed with `stack`. Raises `SettingError` if the file cannot be written."""
    try:
        sink = stack.enter_context(audit_sink(settings.audit_log))
    except OSError as error:
        raise SettingError(f"MANGA_AUDIT_LOG: the file cannot be written: {error.strerror}") from None
    audit = AuditLog(sink, required=settings.audit == "required")
    stack.callback(audit.close)
    return audit


async def open_identifier(settings: Settings, stack: AsyncExitStack, background: Background, *, local: bool) -> Identifier:
    """Opens the identifier for MANGA_AUTH, without waiting for the issuer of tokens. If `local`, the identifier trusts the
    parent process instead. Raises `SettingError`."""
    if local or settings.auth == "none":
        return TrustStated(settings.user)
    if settings.auth == "token":
        tokens = TrustTokens(settings.tokens())
        if settings.auth_tokens_file is not None:
            background.run("tokens", lambda: tokens.follow(settings.tokens))
        return tokens
    from server.identity.jwt.keys import IssuerKeys, jwks_source
    from server.identity.jwt.verifier import AccessTokens, TrustIssuer, Verifier

    assert settings.jwt_jwks_url is not None
    assert settings.jwt_issuer is not None
    keys = IssuerKeys(await stack.enter_async_context(jwks_source(settings.jwt_jwks_url)))
    background.run("issuer's keys", keys.keep_fresh)
    return TrustIssuer(Verifier(keys, AccessTokens(settings.jwt_issuer, settings.jwt_audience)))


@asynccontextmanager
async def open_app(
    settings: Settings, *, local: bool = False, ports: OpenPorts = open_ports, reloads: Reloads | None = None
) -> AsyncIterator[Application]:
    """Opens the application, and closes it after the block. `local` is True for stdio and commands, where the parent process
    is trusted. `ports` opens the backends; `reloads` serves requests to reload tool packages. Unreachable backends do not
    prevent the start, and delay it by a few seconds at most. Raises `SettingError`, or the error of an invalid file."""
    async with AsyncExitStack() as stack:
        metrics = Metrics()
        background = Background(stack, metrics.count_background_death)
        env = await _open_env(settings, stack, metrics, background, ports, local=local)
        env = replace(env, reach=open_router(settings, env, stack, background, local=local))
        env = open_standby(settings, env, stack, background)
        env = open_tracing(settings, env, stack, os.environ)
        packages = Packages(env.registry)
        await packages.reload()  # a broken package does not stop the server
        follower = await open_flags(settings, env.flags, env.registry, env.redis, stack)
        probes = {**env.probes, "packages": packages.health, **({"flags": follower.health} if follower else {})}
        app = wire(settings, replace(env, probes=probes))
        stack.push_async_callback(app.pipeline.cache.aclose)
        stack.push_async_callback(app.pipeline.profile_queue.aclose)
        await asyncio.gather(app.pipeline.store.reader.warm(), app.pipeline.store.popular.warm())
        _run_beside(app, background, packages, follower)
        if settings.emf.lower() != "off":
            background.run("metrics for CloudWatch", EmfPublisher(settings.emf, metrics.registry).run)
        if reloads is not None:
            background.run("reload socket", partial(reloads, packages.reload))
        stack.callback(app.protocol.subscriptions.close)
        yield app


def _run_beside(app: Application, background: Background, packages: Packages, follower: Follower | None) -> None:
    changes = app.protocol.tool_list_changes
    background.run("popular titles", app.pipeline.store.popular.keep_warm)
    background.run("words of the catalogue", app.pipeline.store.reader.keep_warm)
    background.run("inventory snapshot", app.inventory.run)
    background.run("packages", packages.run)
    background.run("tool lists", changes.run)
    background.run("lists of resources and prompts", app.protocol.watchers.run)
    background.run("sessions", app.memory.run)
    background.run("dependencies", app.dependencies.run)
    background.run("grown histories", app.protocol.own_updates.run)
    if follower:
        app.metrics.lag.labels("flags").set_function(follower.lag)
        follower.when_reload(packages.reload_soon)
        changes.on_change(follower.read_soon)
        background.run("flags", partial(follower.watch, changes.publish_change))
        background.run("flags of the fleet", follower.share)


async def _open_env(
    settings: Settings, stack: AsyncExitStack, metrics: Metrics, background: Background, ports: OpenPorts, *, local: bool
) -> Environment:
    audit = open_audit(settings, stack)
    log_line = stack.enter_context(closing(CallLog(settings.log_tool_calls)))
    metrics.watch_lines(log=dropped_lines, audit=lambda: audit.sink.dropped)
    identifier, redis = await open_identifier(settings, stack, background, local=local), await open_redis(settings, stack)
    bus, identifiers = SharedBus(redis), settings.identifiers
    extensions = await asyncio.to_thread(lambda: [opened(settings.cover_hosts) for opened in EXTENSIONS])  # they read files
    background.run("changes", bus.run)
    key = FleetKey(settings.fleet_key, None if local else redis)
    policies = await asyncio.to_thread(read_policies, settings)
    background.run("key of the fleet", key.run)
    if settings.policies_file is not None:
        read = partial(read_policies, settings)
        background.run("policies", partial(follow_file, "MANGA_POLICIES_FILE", read, policies.take_texts))
    return Environment(
        identifier=identifier,
        redis=redis,
        ports=await ports(settings, stack),
        registry=Registry(
            TOOLS, version=VERSION, setting=settings.adult, text_fresh_seconds=settings.cache_ttl_s, identifiers=identifiers
        ),
        metrics=metrics,
        sinks=(log_line, ExhaustedTurns()),
        audit=audit,
        probes={"background": background.health, **_policies_probe(settings, policies)},
        primitives=with_resources(extensions, identifiers, policies),
        extensions=extensions,
        policies=policies,
        bus=bus,
        key=key,
    )


def _policies_probe(settings: Settings, policies: Policies) -> dict[str, Probe]:
    """Returns {"policies": probe}, {} for the demo shop. The probe describes the policies anew if their texts change."""
    told: tuple[object, str] = (None, "")

    async def describe(deadline: Deadline) -> Health:
        nonlocal told
        if told[0] is not policies.texts:
            told = policies.texts, await asyncio.to_thread(describe_policies, settings, policies)
        return Health(ok=True, detail=told[1])

    return {} if settings.is_demo_shop else {"policies": describe}


def wire(settings: Settings, env: Environment) -> Application:
    clock, metrics = env.clocks.monotonic, env.metrics
    on_change = log_breaker_changes(clock)
    backends = {name: Backend(name, policy, clock, on_change=on_change) for name, policy in POLICIES.items()}
    breakers = {name: backend.breaker for name, backend in backends.items()}
    breakers["redis"] = CircuitBreaker("redis", REDIS, clock, on_change=on_change)
    turns = Turns(settings.turn_budget_ms, clock, budget_tokens=settings.turn_tokens, counts=settings.turn_clock)
    rate = env.rate if settings.rate_limit else None
    memory = SessionMemory(env.redis, breakers["redis"], turns, rate, LocalLimits(rate or Rate(), clock), clock)
    store = guarded_store(settings, env.ports, backends, memory, env.clocks, env.policies)
    own_updates = SessionUpdates(env.bus, memory)
    limits = CallerLimits(rate, by_address=not settings.loopback, clock=clock)
    lifecycle = Lifecycle(flags_known=lambda: env.flags.known)
    access = ToolAccess(env.registry, env.flags, CORE if settings.tools == "core" else None)
    pipeline = build_pipeline(settings, env, store, memory, access, limits, own_updates.note_call)
    metrics.watch_breakers(breakers.values())
    embedder = env.ports.embedder
    probes = {"embedder": embedder.health, **env.probes} if embedder else env.probes
    metrics.watch(under_way=lambda: pipeline.shed.under_way, ready=lambda: lifecycle.serves)
    return Application(
        **{each.name: getattr(env, each.name) for each in fields(env)},
        protocol=Protocol(env, access, limits, pipeline, own_updates),
        pipeline=pipeline,
        caller_limits=limits,
        memory=memory,
        turns=turns,
        backends=backends,
        inventory=stock_snapshot(store, memory, env.ports.stock, env.clocks),
        dependencies=dependencies(store, memory, probes, breakers, clock),
        lifecycle=lifecycle,
    )
