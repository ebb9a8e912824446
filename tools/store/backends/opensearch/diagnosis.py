from __future__ import annotations

from opensearchpy.exceptions import ConnectionTimeout, SerializationError, TransportError

from session.resilience.deadline import Deadline
from session.resilience.diagnosis import DEGRADED, DOWN, OK, Diagnosis, Problem, network_problem, silence
from tools.store.backends.opensearch.address import OpenSearchAddress
from tools.store.backends.opensearch.client import Client, IndexMissing, MalformedAnswer, answering
from tools.store.backends.opensearch.definition import ID, definition
from tools.store.backends.opensearch.dsl import columns
from tools.store.backends.opensearch.state import IndexState, hit_keys
from tools.store.failures import BackendFailure, DependencyFailure, TimedOut
from tools.store.identifiers import IdPattern
from tools.store.ports import Embedder

SETTING = "MANGA_CATALOG_URL"
TITLE_SETTING = "MANGA_TITLE_PATTERN"
SEED = "run: python -m infra.seed"
_NO_SUCH_PAGE = (301, 302, 307, 308, 400, 404, 405, 501)
"""Statuses of other servers for `GET /`; OpenSearch answers with its version, or asks for credentials."""


class NotOpenSearch(DependencyFailure):
    """The address belongs to a server other than OpenSearch, which `what` describes."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the address belongs to {what}", dependency="catalog")


async def diagnose(
    address: OpenSearchAddress, embedder: Embedder | None, deadline: Deadline, titles: IdPattern | None = None
) -> Diagnosis:
    """Diagnoses the cluster, its index, and whether `embedder` and the pattern of title ids match the index; an argument of
    None is not compared. Failures become problems in the diagnosis. Does not call the embedder."""
    try:
        client = Client(address)
    except ValueError as error:
        return Diagnosis(DOWN, str(error), f"correct {SETTING}, or give the task a role")
    version: str | None = None
    try:
        # Two steps of one time budget, so that the version is known even if the second step fails.
        version = await identify(client, deadline.earlier_by(1.5))
        return await _examine_index(client, embedder, titles, version, deadline.earlier_by(0.8))
    except BackendFailure as failure:
        return Diagnosis.from_problem(await _problem(failure, client, version, deadline), version)
    finally:
        await client.aclose()


def problem_of(failure: BackendFailure, address: OpenSearchAddress) -> Problem:
    """Describes a failed request to the cluster as a problem that an operator can fix."""
    cause = failure.__cause__
    if isinstance(failure, NotOpenSearch):
        return Problem(failure.message, f"check host, port and path in {SETTING}")
    if isinstance(failure, IndexMissing):
        return Problem(f"there is no index behind the alias {address.alias}", SEED)
    if isinstance(failure, TimedOut):
        return Problem("it did not answer in time", "look at its load and log")
    if cause is not None and (known := network_problem(cause, SETTING)):
        return known
    if isinstance(cause, TransportError) and isinstance(cause.status_code, int):
        return _refusal(cause.status_code, cause.error, address)
    # Other failures have messages of our own, which name the cause: a format, another server's index.
    return Problem(failure.message, f"look at what answers there, and at its log; for an index of another version {SEED}")


async def identify(client: Client, deadline: Deadline) -> str | None:
    """Returns the name and version of the server; None for Serverless, or if the user may not ask (403). Raises
    NotOpenSearch for any other HTTP server, BackendFailure if the request fails."""
    if client.address.serverless:
        return None
    try:
        told = (await client.call("GET", "/", deadline=deadline)).get("version")
    except BackendFailure as failure:
        cause = failure.__cause__
        status = getattr(cause, "status_code", None)
        if status == 403:
            return None
        if status in _NO_SUCH_PAGE or isinstance(cause, (SerializationError, MalformedAnswer)):
            raise NotOpenSearch("another server than OpenSearch") from cause
        raise
    if not isinstance(told, dict) or not isinstance(told.get("number"), str):
        raise NotOpenSearch("another server than OpenSearch")
    if told.get("distribution") != "opensearch":
        raise NotOpenSearch(f"another server than OpenSearch, of version {told['number'][:20]}")
    return f"OpenSearch {told['number']}"


async def _examine_index(
    client: Client, embedder: Embedder | None, titles: IdPattern | None, version: str | None, deadline: Deadline
) -> Diagnosis:
    async with answering(deadline):
        statistics = await IndexState(client).statistics(deadline)
        title_ids = [key for _, key in hit_keys(await client.searches([{"size": 1, **columns(ID)}], deadline))]
    identity = statistics.identity
    if titles is not None and (odd := next((each for each in title_ids if not titles.matches(each)), None)):
        remedy = f"set {TITLE_SETTING} to the shop's own, or {SEED}"
        return Diagnosis(DOWN, titles.mismatch(odd, TITLE_SETTING), remedy, version)
    if statistics.titles != identity.titles:
        what = f"the index has {statistics.titles:,} of its {identity.titles:,} titles"
        return Diagnosis(DEGRADED, what, SEED, version)
    if embedder is not None and (disagreement := identity.disagreement(embedder)):
        what, _, remedy = disagreement.partition(": ")
        return Diagnosis(DEGRADED, f"searched by words alone: {what}", f"{remedy} ({SEED})", version)
    if identity.definition != definition(identity.dimensions, client.address.serverless):
        return Diagnosis(DEGRADED, "the index was made by another definition than this server's", SEED, version)
    how = "by words" if embedder is None else "by words and meaning"
    return Diagnosis(OK, f"{statistics.titles:,} titles in {statistics.name}, searched {how}", version=version)


async def _problem(failure: BackendFailure, client: Client, version: str | None, deadline: Deadline) -> Problem:
    address = client.address
    if version is None and isinstance(failure.__cause__, (TimeoutError, ConnectionTimeout)):
        return await silence(address.host, address.port, SETTING)
    said = problem_of(failure, address)
    if version is None:
        return said
    try:
        health = (await client.call("GET", "/_cluster/health", deadline=deadline.within(0.6))).get("status")
    except BackendFailure as unanswered:
        health = "without a manager" if getattr(unanswered.__cause__, "status_code", None) == 503 else None
    if health not in ("red", "without a manager"):
        return said
    return Problem(f"the cluster is {health}: {said.what}", "look at its nodes and at _cluster/allocation/explain")


def _refusal(status: int, error: object, address: OpenSearchAddress) -> Problem:
    if status == 401:
        return Problem("it refuses user and password (401)", f"put the right ones into {SETTING}")
    if status == 403:
        allow = (
            "aoss:APIAccessAll and a data access policy" if address.serverless else f"reading and writing {address.alias}*"
        )
        return Problem("its user may not do this (403)", f"allow {allow}")
    if status == 429:
        return Problem("it is too busy (429)", "wait, or give it more nodes")
    if status == 503:
        return Problem("it cannot serve at the moment (503)", "wait if it is starting; else look at its log")
    kind = f", {error}" if isinstance(error, str) and error.replace("_", "").isalnum() else ""
    return Problem(f"it answers {status}{kind}", f"check what listens at {SETTING}")
