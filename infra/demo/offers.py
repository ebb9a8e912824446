"""Sample offers of a title: paper, digital, and the full set of a finished series."""

from __future__ import annotations

from collections.abc import Sequence

from infra.demo.drawing import share
from infra.demo.prices import digital_price
from tools.store.models import Offer, VolumeStock

_SET_VOLUMES = range(3, 61)
"""Fewer are no set, more don't fit into a parcel."""
_SET_SHARE = 0.8


def offers_of(title_id: str, finished: bool, volumes: Sequence[VolumeStock]) -> tuple[Offer, ...]:
    """Paper and digital prices are a volume's, the set's is the set's.

    Paper stock is the copies of all volumes together: above 0 means that at least one volume can be bought. A set
    needs every volume, so as many sets are there as there are copies of the scarcest.
    """
    price = volumes[0].price_jpy
    offers = [
        Offer("physical", price, sum(volume.stock for volume in volumes)),
        Offer("digital", digital_price(title_id, price), None),
    ]
    if finished and len(volumes) in _SET_VOLUMES and share("set", title_id) < _SET_SHARE:
        offers.append(Offer("set", price * len(volumes), min(volume.stock for volume in volumes)))
    return tuple(offers)
