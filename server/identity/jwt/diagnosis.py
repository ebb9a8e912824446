"""The diagnosis of the issuer, for `doctor`."""

from __future__ import annotations

from server.identity.jwt.access_token import LEEWAY_SECONDS
from server.identity.jwt.keys import JwksError, KeySet, jwks_source
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import DEGRADED, OK, Diagnosis, Problem, network_problem

SETTING = "MANGA_JWT_JWKS_URL"


async def diagnose(url: str, deadline: Deadline) -> Diagnosis:
    async with jwks_source(url) as read:
        try:
            found = await read()
        except JwksError as error:
            told = Problem(str(error), f"check {SETTING}: it has to answer with the issuer's key set")
            return Diagnosis.from_problem(network_problem(error, SETTING) or told)
    if not found.keys:
        return Diagnosis.from_problem(
            Problem(
                f"none of its {found.unusable} keys is one for RS256 or ES256",
                "have the issuer sign with RSA of at least 2048 bits, or with P-256",
            )
        )
    if found.ahead_seconds is not None and abs(found.ahead_seconds) > LEEWAY_SECONDS:
        return Diagnosis.from_problem(_clocks(found.ahead_seconds), state=DEGRADED)
    return Diagnosis(OK, _kinds(found))


def _clocks(ahead: float) -> Problem:
    side = "ahead of" if ahead > 0 else "behind"
    remedy = f"set both by NTP: tokens are refused when clocks are more than {LEEWAY_SECONDS:.0f} s apart"
    return Problem(f"its clock is {abs(ahead):.0f} s {side} this machine's", remedy)


def _kinds(found: KeySet) -> str:
    algorithms = sorted({alg for _, alg in found.keys})
    return f"{len(found.keys)} keys for {' and '.join(algorithms)}"
