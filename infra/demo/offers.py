"""Sample offers of a title: paper, digital, and full sets of a finished series, new and used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infra.demo.drawing import share, whole
from infra.demo.prices import campaign, digital_price, used_set_price
from tools.store.models import DIGITAL, PAPER, SET, USED_SET, Offer, VolumeStock

_SET_VOLUMES = range(3, 61)
"""Numbers of volumes sold as a set: fewer are no set, more do not fit into a parcel."""
_SET_SHARE, _USED_SHARE = 0.8, 0.25


def offers_of(title_id: str, finished: bool, volumes: Sequence[VolumeStock]) -> tuple[Offer, ...]:
    """Returns the title's offers. Paper and digital prices are per volume; a set's price is for the whole set. Paper stock
    counts the copies of all volumes together, so at least one volume can be bought if it is above 0. A new set needs every
    volume, so its stock is that of the scarcest volume."""
    price = volumes[0].price_jpy
    paper = Offer(PAPER, price, sum(volume.stock for volume in volumes))
    sets = _sets(title_id, volumes) if finished and len(volumes) in _SET_VOLUMES else ()
    return (paper, _digital(title_id, price), *sets)


def _digital(title_id: str, paper: int) -> Offer:
    regular = digital_price(title_id, paper)
    reduced = campaign(title_id, regular)
    return Offer(DIGITAL, regular) if reduced is None else Offer(DIGITAL, reduced[0], None, regular, reduced[1])


def _sets(title_id: str, volumes: Sequence[VolumeStock]) -> Iterator[Offer]:
    singly = sum(volume.price_jpy for volume in volumes)
    if share("set", title_id) < _SET_SHARE:
        yield Offer(SET, singly, min(volume.stock for volume in volumes))
    if share("used", title_id) < _USED_SHARE:
        yield Offer(USED_SET, used_set_price(title_id, singly), whole(1, 2, "used copies", title_id))
