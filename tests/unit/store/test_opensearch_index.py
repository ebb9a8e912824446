"""Parts of the OpenSearch catalogue without a cluster: addresses, documents, index names, scores."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.seed.index import identity_of
from server.config.settings import DEMO
from tests.support.addresses import refused
from tests.support.cases import cases
from tests.support.conditions import conditions as any_conditions
from tools.store.backends.opensearch import definition as module
from tools.store.backends.opensearch.address import OpenSearchAddress
from tools.store.backends.opensearch.definition import (
    HEADLINE,
    Identity,
    creation,
    definition,
    index_name,
    is_index_of,
)
from tools.store.backends.opensearch.documents import card_from, direction_from, document, titles_from
from tools.store.backends.opensearch.dsl import cosine_of
from tools.store.models import Author, Conditions, Offer, Title
from tools.store.records.catalog_file import Record, parse, record_of
from tools.store.records.catalog_file import load as read_records
from tools.store.search.conditions.check import Check, Facts, satisfies
from tools.store.search.ranking.names import SeriesIndex
from tools.store.search.titles.document import prose_terms
from tools.store.search.titles.names import NameKeys, prior

CATALOG = DEMO / "catalog.jsonl"
RECORDS = read_records(CATALOG)
NODES, SERVERLESS = False, True
SERVERLESS_URL = "aoss+https://abc123.ap-northeast-1.aoss.amazonaws.com"

WRONG_ADDRESSES = {
    "ftp://h": "scheme",
    "http://": "host",
    "http://h:99999": "port",
    "http://h:0": "host",
    "http://h?alias=A": "alias",
    "http://h?alias=a&alias=b": "more than once",
    "http://h?password=x": "unknown parameter",
    "http://h?region=us-east-1": "region",
    "aoss+https://h": "Serverless needs",
    "aoss+https://h?region=somewhere": "Serverless needs",
    "aoss+https://u:secret@h?region=us-east-1": "credentials",
    "aoss+http://h?region=us-east-1": "stand-in",
}


@cases(
    ("url", "said"),
    [
        ("http://localhost", "http://localhost:9200, alias manga-titles"),
        ("https://u:p%40ss@search.example:9443/front/?alias=shop", "https://search.example:9443/front, alias shop"),
        ("https://search.example", "https://search.example:443, alias manga-titles"),
        ("http://[::1]:9200", "http://[::1]:9200, alias manga-titles"),
        (SERVERLESS_URL, "aoss+https://abc123.ap-northeast-1.aoss.amazonaws.com:443, alias manga-titles"),
        (
            f"{SERVERLESS_URL}?region=us-east-1",
            "aoss+https://abc123.ap-northeast-1.aoss.amazonaws.com:443, alias manga-titles",
        ),
        ("aoss+http://127.0.0.1:1?region=us-east-1", "aoss+http://127.0.0.1:1, alias manga-titles"),
    ],
)
def test_opensearch_address_is_shown_without_its_password(url: str, said: str) -> None:
    address = OpenSearchAddress.parse(url)
    assert str(address) == said
    assert "p@ss" not in repr(address)


def test_parts_of_an_opensearch_address_are_decoded() -> None:
    address = OpenSearchAddress.parse("https://u%40x:p%40ss@h?ca=/etc/ca.pem")
    assert (address.user, address.password, address.ca, address.serverless) == ("u@x", "p@ss", "/etc/ca.pem", False)
    assert OpenSearchAddress.parse(SERVERLESS_URL).region == "ap-northeast-1"


@cases(("url", "problem"), WRONG_ADDRESSES.items())
def test_wrong_opensearch_address_is_refused_by_its_part(url: str, problem: str) -> None:
    refused(OpenSearchAddress.parse, url, problem)


def test_title_and_offers_survive_the_record_format() -> None:
    for title, offers in RECORDS:
        assert parse(json.dumps(record_of(title, offers)).encode()) == ((title, offers),)


texts = st.text(min_size=1, max_size=20)
maybe = st.none() | texts
any_title = st.builds(
    Title,
    title_id=st.from_regex(r"[a-z0-9][a-z0-9-]{0,19}", fullmatch=True),
    en=texts,
    ja=maybe,
    kana=maybe,
    alt_titles=st.lists(texts, max_size=3).map(tuple),
    authors=st.lists(st.builds(Author, texts, maybe, maybe, maybe), max_size=2).map(tuple),
    genre=st.none() | st.sampled_from(["shonen", "josei"]),
    tags=st.lists(texts, max_size=3).map(tuple),
    synopsis_en=maybe,
    rating=st.none() | st.floats(0, 5),
    rating_count=st.none() | st.integers(0, 10**9),
)
offers = st.lists(st.builds(Offer, texts, st.integers(0, 10**6), st.none() | st.integers(0, 100)), max_size=2).map(tuple)


@given(any_title, offers)
def test_any_title_survives_the_index_document(title: Title, sold: tuple[Offer, ...]) -> None:
    made = json.loads(json.dumps(document(title, sold, 7, ("sequel",), None)))
    assert titles_from([made["packed"].rstrip("=")]) == (title,)
    card = card_from(made["card"])
    assert (card.names, card.prior) == (NameKeys.of(title), prior(title))
    assert (card.place, card.series) == (7, ("sequel",))
    assert card.facts == Facts.from_title(title, sold)
    assert card.prose == prose_terms(title)


@given(st.sampled_from(RECORDS), any_conditions(RECORDS))
def test_card_passes_the_check_exactly_when_its_title_satisfies_the_conditions(record: Record, asked: Conditions) -> None:
    title, sold = record
    card = card_from(document(title, sold, 0, (), None)["card"])
    assert Check(asked).admit(card.facts) == satisfies(title, asked, sold)


def test_sense_vectors_reproduce_the_fused_cosines() -> None:
    rng = np.random.default_rng(1)
    vectors, query = (
        m / np.linalg.norm(m, axis=1, keepdims=True) for m in (rng.normal(size=(3, 8)), rng.normal(size=(1, 8)))
    )
    made = document(RECORDS[0][0], (), 0, (), vectors.astype(np.float32))
    cosines = vectors @ query[0]
    wanted = (cosines[1:] + HEADLINE * cosines[0]) / (1 + HEADLINE)
    assert np.allclose([np.dot(sense["vector"], query[0]) for sense in made["senses"]], wanted, atol=1e-5)
    direction = direction_from(made["direction"])
    assert direction is not None
    assert np.linalg.norm(direction) == pytest.approx(1, abs=1e-2)


def test_title_without_a_synopsis_has_one_sense_of_its_headline() -> None:
    made = document(Title("a", en="A"), (), 0, (), np.array([[1.0, 0.0]], np.float32))
    assert made["senses"] == [{"vector": [pytest.approx(HEADLINE / (1 + HEADLINE), abs=1e-6), 0.0]}]


@given(st.floats(-1, 1))
def test_cosine_is_computed_back_from_the_opensearch_score(cosine: float) -> None:
    score = 1 + cosine if cosine >= 0 else 1 / (1 - cosine)
    assert cosine_of(score) == pytest.approx(cosine, abs=1e-9)


def test_series_contains_titles_that_begin_with_the_name_and_related_ones() -> None:
    titles = [
        Title("a", en="Paper Lighthouse"),
        Title("b", en="Paper Lighthouse: Summer", rating_count=5),
        Title("c", en="Paper Lighthouse 2", rating_count=900),
        Title("d", en="Iron Gloria", related=("a", "gone")),
        Title("e", en="Iron"),
    ]
    index = SeriesIndex(titles)
    assert [index.list_series(row) for row in range(5)] == [("c", "b"), ("c", "a"), (), ("a",), ()]


CHANGED = {"format": "0", "definition": "x", "embedder": "m", "dimensions": 512, "titles": 1, "content": "x"}


def test_index_name_depends_on_everything_the_index_is_built_from() -> None:
    whole, part = identity_of(RECORDS, None, NODES), identity_of(RECORDS[:-1], None, NODES)
    assert identity_of(list(RECORDS), None, NODES) == whole
    others = [replace(whole, **{name: value}) for name, value in CHANGED.items()]
    assert len({index_name("a", identity) for identity in (whole, part, *others)}) == 2 + len(CHANGED)
    assert is_index_of("a", index_name("a", whole))
    assert not is_index_of("a", "a-notes")
    assert not is_index_of("a", index_name("a-b", whole))
    assert Identity.from_meta(json.loads(json.dumps(whole.meta()))) == whole


def turned_around(value: Any) -> Any:
    """The same, with every object's keys in the other order."""
    if isinstance(value, dict):
        return {key: turned_around(value[key]) for key in reversed(value)}
    return value


def test_index_definition_hash_ignores_key_order_and_catalogue_contents(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index name holds a mark of the catalogue besides."""
    now = definition(512, NODES)
    for name in ("_settings", "_mappings"):
        original = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *of, original=original: turned_around(original(*of)))
    assert definition(512, NODES) == now
    assert creation(identity_of(RECORDS, None, NODES), NODES)["mappings"]["_meta"]["definition"] == definition(0, NODES)


@pytest.mark.parametrize("change", ["setting", "analysis", "field", "mapping", "vectors", "engine", "headline"])
def test_changed_definition_gives_another_index_name(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, dimensions, serverless = identity_of(RECORDS, None, NODES), 0, NODES
    if change == "setting":
        settings = module._settings(NODES)
        monkeypatch.setattr(module, "_settings", lambda _: settings | {"number_of_shards": 3})
    elif change == "analysis":
        monkeypatch.setattr(module, "_terms", lambda *_: {"type": "text", "analyzer": "kuromoji"})
    elif change == "field":
        facts = module._facts()
        monkeypatch.setattr(module, "_facts", lambda: facts | {"publisher": {"type": "keyword"}})
    elif change == "mapping":
        monkeypatch.setattr(module, "_LONGEST_TERM", 100)
    elif change == "vectors":
        dimensions = 512
    elif change == "engine":
        serverless = SERVERLESS
    else:
        monkeypatch.setattr(module, "HEADLINE", HEADLINE + 0.1)
    assert definition(dimensions, serverless) != before.definition
    if not dimensions:
        assert index_name("a", identity_of(RECORDS, None, serverless)) != index_name("a", before)


def test_serverless_index_is_created_without_unsupported_settings() -> None:
    identity = Identity("1", "d", "model", 512, 1, "x")
    mine, theirs = (creation(identity, serverless) for serverless in (NODES, SERVERLESS))
    assert theirs["settings"] == {"index": {"knn": True}}
    assert "similarity" not in json.dumps(theirs)
    vectors = [each["mappings"]["properties"]["senses"]["properties"]["vector"] for each in (mine, theirs)]
    assert [(v["dimension"], v["space_type"], v["method"]["engine"]) for v in vectors] == [
        (512, "innerproduct", "lucene"),
        (512, "innerproduct", "faiss"),
    ]
    assert "senses" not in creation(Identity("1", "d", None, 0, 1, "x"), NODES)["mappings"]["properties"]
