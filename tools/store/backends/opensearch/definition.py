"""The definition of the catalogue's index, for loading, searches and diagnosis.

An index is built once, from a whole catalogue, and never changed. Its name ends with a fingerprint of its inputs, and an
alias points to the index in service, so that a new catalogue takes over in one atomic step.

Terms are computed by `tools.store.search` and not by the cluster's analyzers, so that every backend finds titles by the same
rules, Japanese included. The cluster needs no plugin except k-NN."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from pydantic import TypeAdapter

from tools.store.ports import Embedder
from tools.store.search.ranking.weights import WEIGHTS

FORMAT = "3"
"""The version of the documents' columns, their content and packing. Raise it when these change, since a server cannot read
another version. Changed settings of the index need no new version (`definition`)."""
_FINGERPRINT = 16
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Identity:
    """The inputs of an index: indices of equal identity have equal documents. `definition` and `content` are digests of the
    index's settings and of the catalogue's records. `embedder` is None for an index without vectors."""

    format: str
    definition: str
    embedder: str | None
    dimensions: int
    titles: int
    content: str

    @property
    def fingerprint(self) -> str:
        return digest(self.meta())

    def meta(self) -> Json:
        return asdict(self)

    @classmethod
    def from_meta(cls, meta: Json) -> Identity:
        """Decodes the `_meta` of an index. Raises ValueError if it has another shape."""
        return _IDENTITY.validate_python(meta)

    def disagreement(self, embedder: Embedder) -> str | None:
        """Returns why vectors of `embedder` cannot be compared with those of the index; None if they can."""
        if self.embedder is None:
            return "the index has no vectors: load the catalogue again with an embedder"
        if (self.embedder, self.dimensions) == (embedder.name, embedder.dimensions):
            return None
        return (
            f"the index was made with {self.embedder} ({self.dimensions} dimensions), "
            f"this server embeds with {embedder.name} ({embedder.dimensions}): "
            "set MANGA_EMBEDDER as it was, or load the catalogue again"
        )


_IDENTITY = TypeAdapter(Identity)


def index_name(alias: str, identity: Identity) -> str:
    return f"{alias}-{identity.fingerprint}"


def write_alias(name: str) -> str:
    """Returns the alias for writes while an index is loaded. A write to a removed index would create it with guessed
    mappings; a write to a removed alias is refused."""
    return f"{name}-filling"


def is_index_of(alias: str, name: str) -> bool:
    return re.fullmatch(rf"{re.escape(alias)}-[0-9a-f]{{{_FINGERPRINT}}}", name) is not None


def digest(described: Any) -> str:
    """Returns a short hash of a JSON value, independent of the order of keys."""
    return sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:_FINGERPRINT]


HEADLINE = WEIGHTS.headline
"""Weight of the headline. A sense vector is (passage + HEADLINE × headline) / (1 + HEADLINE): its inner product with a query
is the fusion of the two cosines, so that one k-NN search finds the best titles by both."""
ID = "title_id"
FOUND = (ID, "card", "packed")
"""The columns (doc values) of hits: the id, the card that ranks a title, and the record that is shown.

Reading the documents themselves (`_source`) took 20 to 40 ms for 160 hits where their columns take 3.
"""
_LONGEST_TERM = 8_191


def definition(dimensions: int, serverless: bool) -> str:
    """Returns a digest of settings and mappings for nodes or OpenSearch Serverless. An index with another digest has to be
    built anew."""
    return digest([HEADLINE, _settings(serverless), _mappings(dimensions, serverless)])


def creation(identity: Identity, serverless: bool) -> Json:
    mappings = _mappings(identity.dimensions, serverless) | {"_meta": identity.meta()}
    return {"settings": {"index": _settings(serverless)}, "mappings": mappings}


def _settings(serverless: bool) -> Json:
    similarity = {"prose": {"type": "BM25", "k1": 2.4, "b": 0.25}, "grams": {"type": "BM25", "k1": 1.0, "b": 1.0}}
    nodes = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1", "similarity": similarity}
    return {"knn": True, **({} if serverless else nodes)}


def _mappings(dimensions: int, serverless: bool) -> Json:
    senses = {"senses": _define_nested({"vector": _vector(dimensions, serverless)})} if dimensions else {}
    # `column`: bytes that are returned with a hit; `kept`: JSON that is returned as stored. Neither is searched.
    column, kept = {"type": "binary", "doc_values": True, "store": False}, {"type": "object", "enabled": False}
    return {
        "dynamic": "strict",
        "_source": {"excludes": ["senses", "prose", "names", "people", "card", "packed"]},
        "properties": {
            **_facts(),
            **_define_searched(serverless),
            **senses,
            "card": column,
            "packed": column,
            "record": kept,
            "direction": kept,
        },
    }


def _facts() -> Json:
    """Returns the mappings of the fields to filter and sort by. Numbers for which callers can set bounds are doubles, so
    that no bound is out of range."""
    numbers = {"prior": "float", "rank": "integer", "place": "integer", "prose_length": "float"}
    numbers |= dict.fromkeys(("rating", "weighted_rating", "start_year", "volumes", "length"), "double")
    texts = {name: _keyword() for name in ("title_id", "genre", "tags", "status", "audience", "magazine")}
    sale = {"format": _keyword(), "usual": {"type": "boolean"}, "stocked": {"type": "boolean"}}
    sale |= {name: {"type": "double"} for name in ("price", "series_price")} | {"days": {"type": "integer_range"}}
    return {**texts, **{name: {"type": kind} for name, kind in numbers.items()}, "sales": _define_nested(sale)}


def _define_searched(serverless: bool) -> Json:
    person = {name: _keyword() for name in ("name", "family", "spellings", "turned", "parts")}
    return {
        "prose": _terms("prose", serverless),
        "names": _define_nested(
            {"key": _keyword(), "main": {"type": "boolean"}, "loan": _keyword(), "grams": _terms("grams", serverless)}
        ),
        "people": _define_nested({**person, "grams": _terms("grams", serverless)}),
    }


def _keyword() -> Json:
    """Returns a keyword mapping that ignores values longer than 8,191 characters: Lucene would refuse a document with a term
    over 32,766 bytes."""
    return {"type": "keyword", "ignore_above": _LONGEST_TERM}


def _terms(similarity: str, serverless: bool) -> Json:
    """Returns the mapping of a field of precomputed terms, separated by spaces. A term is repeated in proportion to its
    weight."""
    field = {"type": "text", "analyzer": "whitespace"}
    return field if serverless else {**field, "similarity": similarity}


def _define_nested(properties: Json) -> Json:
    return {"type": "nested", "properties": properties}


def _vector(dimensions: int, serverless: bool) -> Json:
    engine = "faiss" if serverless else "lucene"
    method = {"name": "hnsw", "engine": engine, "parameters": {"m": 16, "ef_construction": 128}}
    return {"type": "knn_vector", "dimension": dimensions, "space_type": "innerproduct", "method": method}
