"""What a title costs on a day, with campaigns that come, go and come back."""

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
def test_a_campaign_runs_on_its_days_and_the_price_of_all_others_on_theirs(day: str, campaign: Campaign) -> None:
    own, others = running(campaign)
    runs = campaign.end(day) is not None
    assert (is_one_of(day, own), is_one_of(day, others)) == (runs, not runs)


@cases("campaign", CAMPAIGNS)
def test_on_no_day_in_particular_none_runs(campaign: Campaign) -> None:
    own, others = running(campaign)
    assert (is_one_of(None, own), is_one_of(None, others)) == (False, True)


@given(day=days, campaign=st.sampled_from([None, *CAMPAIGNS]), other=st.sampled_from([None, 350, 500, 700]))
def test_what_is_on_record_costs_on_a_day_what_live_stock_says(
    day: str, campaign: Campaign | None, other: int | None
) -> None:
    offers = [Offer("digital", 400, None, 600, campaign)] + ([] if other is None else [Offer("digital", other)])
    sold = price_for_day(Availability("t", tuple(offers), (), as_of="2026-01-01T00:00:00Z"), day)
    sale = sale_in(sales_on(day, sales_of(offers)), "digital")
    assert sale is not None
    assert sale.price == min(offer.price_jpy for offer in sold.offers)


def test_a_campaign_that_is_over_makes_no_title_cheap() -> None:
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
def test_a_campaign_lowers_no_price_that_a_publisher_has_fixed(format_: str) -> None:
    assert [sale.price for sale in sales_of([Offer(format_, 400, 1, 600, ONCE)])] == [600]
