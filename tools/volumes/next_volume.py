"""Which volume "the next one" is: after the last that the customer ordered, else what comes out next, else the latest."""

from __future__ import annotations

from dataclasses import dataclass

from tools.contract import ToolContext
from tools.store.failures import BackendFailure
from tools.store.models import WHOLE, Availability


@dataclass(frozen=True, slots=True)
class Ordered:
    """What a customer has of a title: the highest volume, None for none, and whether they have the set of all."""

    highest: int | None = None
    whole_set: bool = False


NOTHING = Ordered()


@dataclass(frozen=True, slots=True)
class NextVolume:
    """`meaning` says what "next" was taken for. `number` is None where nothing follows what the customer has."""

    number: int | None
    meaning: str


async def ordered(context: ToolContext, title_id: str) -> Ordered:
    """By the orders of the proven user and nobody else. Nothing for anonymous callers, and, labelled, where orders do not
    answer."""
    if context.user is None:
        return NOTHING
    half = context.deadline.within(context.deadline.remaining() / 2)  # the rest is for the volumes themselves
    try:
        lines = await context.store.orders.bought(context.user, title_id, half)
    except BackendFailure:
        context.degraded.add("orders")
        return NOTHING
    numbers = [line.volume for line in lines if line.volume is not None]
    return Ordered(max(numbers, default=None), whole_set=any(line.format in WHOLE for line in lines))


def next_volume(sold: Availability, has: Ordered, format_: str | None) -> NextVolume:
    """`sold` has at least one volume, and none but in the format that is asked for."""
    nothing = f"No further volume is announced{f' as {format_}' if format_ else ''}."
    if has.highest is not None and not has.whole_set:
        return _after(sold, has.highest, nothing)
    coming = [volume for volume in sold.volumes if sold.awaited(volume)]
    whose = "The customer ordered the complete set. " if has.whole_set else ""
    if coming:
        first = min(coming, key=lambda volume: (volume.release_date, volume.volume))
        return NextVolume(first.volume, f"{whose}Next is what comes out next.")
    if has.whole_set:
        return NextVolume(None, f"{whose}{nothing}")
    return NextVolume(max(volume.volume for volume in sold.volumes), f"{nothing} This is the latest.")


def _after(sold: Availability, highest: int, nothing: str) -> NextVolume:
    last = f"Volume {highest} is the last that this customer ordered"
    number = min((volume.volume for volume in sold.volumes if volume.volume > highest), default=None)
    if number is not None:
        return NextVolume(number, f"{last}. Next is the one after that.")
    if any(volume.volume == highest and sold.awaited(volume) for volume in sold.volumes):
        return NextVolume(highest, f"{last}, and it is still to come out: this is that one. {nothing}")
    return NextVolume(None, f"{last}. {nothing}")
