"""The store as tools see it."""

from __future__ import annotations

from dataclasses import dataclass, field

from session.resilience.clocks import Now, utc_now
from session.stated_preferences import StatedPreferences
from tools.store.audience import Adult
from tools.store.catalog.catalog import TitleNames, TitleReader
from tools.store.catalog.popular import PopularTitles
from tools.store.classification import TextClassifier
from tools.store.currency import Currency
from tools.store.identifiers import Identifiers
from tools.store.models.order import Policies
from tools.store.ports import CatalogPort, OrdersPort, PagesPort, ProfilePort, StockPort, TitlesPort
from tools.store.preferences import PreferenceReader
from tools.store.releases import ReleaseReader
from tools.store.search.reading.reader import Reader
from tools.store.stock import StockReader


@dataclass(frozen=True, slots=True)
class Store:
    """Everything a tool may reach. All of it is guarded: a call through it ends by its deadline.

    `titles` reads by id, through `catalog` and `records`. `stock_port` is the port under `stock`, for its health. `reader`
    reads shoppers' words, `preference_reader` the preferences they state, which `preferences` keeps. `classifying` finds
    readerships and tags of a text. `adult`: where titles for adults may appear; `policies`: the shop's own texts;
    `identifiers`: the patterns of its ids; `now`: the wall clock."""

    catalog: CatalogPort
    stock: StockReader
    releases: ReleaseReader
    orders: OrdersPort
    popular: PopularTitles
    stock_port: StockPort
    profiles: ProfilePort
    preferences: StatedPreferences
    preference_reader: PreferenceReader
    titles: TitleReader
    records: TitlesPort
    reader: Reader
    pages: PagesPort
    classifying: TextClassifier
    adult: Adult = Adult.ON_REQUEST
    policies: Policies = field(default_factory=Policies)
    names: TitleNames = field(default_factory=TitleNames)
    identifiers: Identifiers = field(default_factory=Identifiers)
    now: Now = utc_now

    @property
    def currency(self) -> Currency:
        return self.identifiers.currency
