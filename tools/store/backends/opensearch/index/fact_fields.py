"""The facts of a title as fields that conditions are asked of and titles are put in order by (queries/conditions.py)."""

from __future__ import annotations

from typing import Any

from tools.store.search.conditions.facts import Facts
from tools.store.search.conditions.sales import series_price

Json = dict[str, Any]


def fact_fields(facts: Facts) -> Json:
    """What is not known has no field. `length`: the volumes of a title that has any, which is what short ones are put in
    order by. `sales`: one a format and day, with the days that it is so; `usual` marks those that count where no
    format is asked for."""
    numbers = {"rating": facts.rating, "start_year": facts.year, "volumes": facts.volumes, "length": facts.volumes or None}
    words = {"genre": facts.genre, "status": facts.status, "audience": facts.audience, "magazine": facts.magazine}
    known = {name: value for name, value in {**numbers, **words}.items() if value is not None}
    return {"title_id": facts.title_id, **known, "tags": sorted(facts.tags), "sales": _sales(facts)}


def _sales(facts: Facts) -> list[Json]:
    usual = facts.sold_as(None)
    return [
        {
            "format": sale.format,
            "usual": usual is not None and sale.format == usual.format,
            "price": sale.price,
            **({} if (whole := series_price(sale, facts.volumes)) is None else {"series_price": whole}),
            "stocked": sale.stocked,
            "days": [{"gte": first, "lte": last} for first, last in sale.days],
        }
        for sale in facts.sales
    ]
