"""The price of a title on a day, with campaigns that begin, end and return."""

from __future__ import annotations

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import cases
from tools.store.models import Availability, Campaign, Conditions, Offer, Range, Title
from tools.store.search.conditions.check import is_one_of, running, sale_in, sales_of, sales_on, satisfies
from tools.store.stock import price_for_day

ONCE = Campaign("2026-12-15", "2026-11-15")
SUMMER, WINTER = Campaign("09-15", "03-16"), Campaign("03-15", "09-16")
LONG = Campaign("2026-12-15")
CAMPAIGNS = [ONCE, SUMMER, WINTER, LONG]
days = st.dates(date(2024, 1, 1), date(2030, 12, 31)).map(date.isoformat)


@given(day=days, campaign=st.sampled_from(CAMPAIGNS))
def test_campaign_price_applies_on_campaign_days_and_the_list_price_on_others(day: str, campaign: Campaign) -> None:
    own, others = running(campaign)
    runs = campaign.end(day) is not None
    assert (is_one_of(day, own), is_one_of(day, others)) == (runs, not runs)


@cases("campaign", CAMPAIGNS)
def test_no_campaign_runs_without_a_day(campaign: Campaign) -> None:
    own, others = running(campaign)
    assert (is_one_of(None, own), is_one_of(None, others)) == (False, True)


@given(day=days, campaign=st.sampled_from([None, *CAMPAIGNS]), other=st.sampled_from([None, 350, 500, 700]))
def test_recorded_price_of_a_day_equals_that_of_live_stock(day: str, campaign: Campaign | None, other: int | None) -> None:
    offers = [Offer("digital", 400, None, 600, campaign)] + ([] if other is None else [Offer("digital", other)])
    sold = price_for_day(Availability("t", tuple(offers), (), as_of="2026-01-01T00:00:00Z"), day)
    sale = sale_in(sales_on(day, sales_of(offers)), "digital")
    assert sale is not None
    assert sale.price == min(offer.price_jpy for offer in sold.offers)


def test_title_is_cheap_only_on_the_days_of_its_campaign() -> None:
    title, offers = Title("t-1", en="One"), (Offer("digital", 400, None, 600, ONCE),)
    first = date(2026, 11, 14)
    cheap = []
    for n in range(34):
        day = (first + timedelta(n)).isoformat()
        if satisfies(title, Conditions(price=Range(most=500), day=day), offers):
            cheap.append(day)
    assert (cheap[0], cheap[-1], len(cheap)) == ("2026-11-15", "2026-12-15", 31)
    assert not satisfies(title, Conditions(price=Range(most=500)), offers)


@cases("format_", ["physical", "set"])
def test_campaign_does_not_lower_a_fixed_price(format_: str) -> None:
    assert [sale.price for sale in sales_of([Offer(format_, 400, 1, 600, ONCE)])] == [600]
