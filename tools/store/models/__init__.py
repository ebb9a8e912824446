"""The store's data models. Amounts are in the currency's smallest unit, with tax; ratings are 0 to 5; times are ISO 8601 in
UTC.

Formats of files, table items and cached values follow from the types and limits of the fields (`tools.store.shape`);
the tools' output schemas are checked against the models."""

from tools.store.models.catalog import Audience as Audience
from tools.store.models.catalog import Author as Author
from tools.store.models.catalog import CatalogPage as CatalogPage
from tools.store.models.catalog import CatalogQuery as CatalogQuery
from tools.store.models.catalog import CatalogTerms as CatalogTerms
from tools.store.models.catalog import Conditions as Conditions
from tools.store.models.catalog import NameMatches as NameMatches
from tools.store.models.catalog import Neighbour as Neighbour
from tools.store.models.catalog import Ordering as Ordering
from tools.store.models.catalog import Range as Range
from tools.store.models.catalog import ReaderQuery as ReaderQuery
from tools.store.models.catalog import Status as Status
from tools.store.models.catalog import Title as Title
from tools.store.models.catalog import WeighedTitle as WeighedTitle
from tools.store.models.offer import DIGITAL as DIGITAL
from tools.store.models.offer import PAPER as PAPER
from tools.store.models.offer import SET as SET
from tools.store.models.offer import USED_SET as USED_SET
from tools.store.models.offer import WHOLE as WHOLE
from tools.store.models.offer import Availability as Availability
from tools.store.models.offer import AvailabilityPage as AvailabilityPage
from tools.store.models.offer import Campaign as Campaign
from tools.store.models.offer import Offer as Offer
from tools.store.models.offer import Release as Release
from tools.store.models.offer import VolumeStock as VolumeStock
from tools.store.models.order import Classification as Classification
from tools.store.models.order import Health as Health
from tools.store.models.order import Order as Order
from tools.store.models.order import OrderLine as OrderLine
from tools.store.models.order import Page as Page
from tools.store.models.order import Preview as Preview
from tools.store.models.order import Shipment as Shipment
from tools.store.models.order import TrackingEvent as TrackingEvent
