"""The OpenSearch node is what the catalogue's adapter takes it for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.stack.titles import DEFINITION, INDEX, TITLES, lines, title, vector
from tests.support.cases import cases

PIPELINE = "stack-hybrid"

# The first start of a Java on a busy machine takes its time.
pytestmark = pytest.mark.timeout(300)


@pytest.fixture
async def node(opensearch_url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=opensearch_url, timeout=30) as client:
        yield client


@pytest.fixture
async def titles(node: httpx.AsyncClient) -> AsyncIterator[str]:
    made = await node.put(f"/{INDEX}", json=DEFINITION)
    assert made.status_code == 200, made.text
    rows = [row for n in range(TITLES) for row in ({"index": {"_id": str(n)}}, title(n))]
    headers = {"Content-Type": "application/x-ndjson"}
    loaded = (await node.post(f"/{INDEX}/_bulk?refresh=true", content=lines(rows), headers=headers)).json()
    assert loaded["errors"] is False
    yield INDEX
    await node.delete(f"/{INDEX}")


def ids(answer: dict[str, Any]) -> list[str]:
    return [hit["_source"]["title_id"] for hit in answer["hits"]["hits"]]


def nearest(number: int, k: int = 5, genre: str | None = None) -> dict[str, Any]:
    wanted: dict[str, Any] = {"vector": vector(number), "k": k}
    if genre:
        wanted["filter"] = {"term": {"genre": genre}}
    return {"size": k, "query": {"knn": {"vector": wanted}}}


async def test_the_node_has_the_plugins_that_the_catalogue_needs(node: httpx.AsyncClient) -> None:
    """k-NN, hybrid search and Japanese analysis."""
    plugins = (await node.get("/_cat/plugins?format=json")).json()
    assert {each["component"] for each in plugins} == {"analysis-kuromoji", "opensearch-knn", "opensearch-neural-search"}


@cases(
    ("analyzer", "text", "tokens"),
    [
        ("kuromoji", "進撃の巨人", ["進撃", "巨人"]),
        ("kuromoji", "寄生獣を読みました", ["寄生", "獣", "読む"]),
        ("japanese", "進撃の巨人", ["進撃", "巨人"]),
        ("japanese", "コンピューターで走った", ["コンピュータ", "走る"]),
        ("japanese", "推しの子が好き", ["推しの子", "好き"]),
        ("japanese", "時々", ["時時"]),
        ("spoken", "寿司", ["sushi"]),
    ],
)
async def test_japanese_is_taken_apart_into_words(
    node: httpx.AsyncClient, titles: str, analyzer: str, text: str, tokens: list[str]
) -> None:
    """Particles go, verbs come in their base form, a user's own words stay whole, iteration marks are written out."""
    answer = (await node.post(f"/{titles}/_analyze", json={"analyzer": analyzer, "text": text})).json()
    assert [each["token"] for each in answer["tokens"]] == tokens


async def test_a_bool_query_finds_the_words_and_keeps_to_its_filter(node: httpx.AsyncClient, titles: str) -> None:
    """The one title with 進撃 comes first; everything found is of the genre asked for."""
    query = {"bool": {"must": {"match": {"title": "進撃の巨人"}}, "filter": {"term": {"genre": "seinen"}}}}
    answer = (await node.post(f"/{titles}/_search", json={"query": query, "size": 50, "track_total_hits": True})).json()
    assert ids(answer)[0] == "manga-000007"
    assert answer["hits"]["total"] == {"value": 50, "relation": "eq"}
    assert {hit["_source"]["genre"] for hit in answer["hits"]["hits"]} == {"seinen"}


async def test_a_knn_query_finds_the_nearest_vector_within_its_filter(node: httpx.AsyncClient, titles: str) -> None:
    """The title whose own vector is asked for comes first with the score of equality, unless the filter leaves it out."""
    free = (await node.post(f"/{titles}/_search", json=nearest(7))).json()
    assert ids(free)[0] == "manga-000007"
    assert free["hits"]["hits"][0]["_score"] == pytest.approx(1.0, abs=1e-4)
    kept = (await node.post(f"/{titles}/_search", json=nearest(7, genre="shonen"))).json()
    assert len(ids(kept)) == 5
    assert {hit["_source"]["genre"] for hit in kept["hits"]["hits"]} == {"shonen"}


async def test_both_legs_travel_in_one_msearch_with_their_time_limits(node: httpx.AsyncClient, titles: str) -> None:
    """Words and vectors are answered together; both time limits are accepted, inside the body and beside it."""
    head = {"index": titles, "cancel_after_time_interval": "500ms"}
    words = {"timeout": "300ms", "query": {"match": {"title": "進撃"}}}
    body = lines([head, words, head, {"timeout": "300ms", **nearest(3)}])
    headers = {"Content-Type": "application/x-ndjson"}
    answer = await node.post("/_msearch", content=body, headers=headers)
    assert answer.status_code == 200, answer.text
    lexical, near = answer.json()["responses"]
    assert ids(lexical) == ["manga-000007"]
    assert ids(near)[0] == "manga-000003"
    assert not lexical["timed_out"]


async def test_a_broken_leg_of_an_msearch_leaves_the_other_whole(node: httpx.AsyncClient, titles: str) -> None:
    """A vector of the wrong length is an error of that leg only."""
    short = {"query": {"knn": {"vector": {"vector": [0.5, 0.5], "k": 2}}}}
    body = lines([{"index": titles}, {"query": {"match": {"title": "進撃"}}}, {"index": titles}, short])
    answer = await node.post("/_msearch", content=body, headers={"Content-Type": "application/x-ndjson"})
    good, bad = answer.json()["responses"]
    assert ids(good) == ["manga-000007"]
    assert bad["status"] == 400


@cases("space", ["cosinesimil", "innerproduct", "l2"])
async def test_every_way_to_compare_vectors_is_accepted(node: httpx.AsyncClient, space: str) -> None:
    """An index may choose any of the three."""
    name = f"stack-{space}"
    method = {"name": "hnsw", "engine": "lucene", "space_type": space}
    properties = {"vector": {"type": "knn_vector", "dimension": 3, "method": method}, "title_id": {"type": "keyword"}}
    definition = {"settings": {"index.knn": True}, "mappings": {"properties": properties}}
    try:
        assert (await node.put(f"/{name}", json=definition)).status_code == 200
        for each, values in (("near", [1.0, 0.0, 0.0]), ("far", [-1.0, 0.2, 0.0])):
            await node.put(f"/{name}/_doc/{each}?refresh=true", json={"title_id": each, "vector": values})
        query = {"query": {"knn": {"vector": {"vector": [1.0, 0.0, 0.0], "k": 2}}}}
        assert ids((await node.post(f"/{name}/_search", json=query)).json()) == ["near", "far"]
    finally:
        await node.delete(f"/{name}")


async def test_a_hybrid_query_joins_both_legs_in_the_cluster(node: httpx.AsyncClient, titles: str) -> None:
    """Min-max and means, as Serverless has it: the title that is first in both legs gets the full score."""
    processor = {"normalization": {"technique": "min_max"}, "combination": {"technique": "arithmetic_mean"}}
    pipeline = {"phase_results_processors": [{"normalization-processor": processor}]}
    made = await node.put(f"/_search/pipeline/{PIPELINE}", json=pipeline)
    assert made.status_code == 200, made.text
    legs = [{"match": {"title": "進撃の巨人"}}, nearest(7)["query"]]
    answer = (
        await node.post(f"/{titles}/_search?search_pipeline={PIPELINE}", json={"query": {"hybrid": {"queries": legs}}})
    ).json()
    assert ids(answer)[0] == "manga-000007"
    assert answer["hits"]["hits"][0]["_score"] == pytest.approx(1.0, abs=1e-3)
    await node.delete(f"/_search/pipeline/{PIPELINE}")


async def test_an_alias_moves_from_one_index_to_another_in_one_step(node: httpx.AsyncClient) -> None:
    """Readers see the old catalogue or the new one, never none."""
    names = ("stack-blue", "stack-green")
    try:
        for name in names:
            await node.put(f"/{name}/_doc/1?refresh=true", json={"from": name})
        await node.post("/_aliases", json={"actions": [{"add": {"index": names[0], "alias": "stack-live"}}]})
        swap = [
            {"remove": {"index": names[0], "alias": "stack-live"}},
            {"add": {"index": names[1], "alias": "stack-live"}},
        ]
        assert (await node.post("/_aliases", json={"actions": swap})).json()["acknowledged"]
        assert (await node.get("/stack-live/_doc/1")).json()["_source"] == {"from": names[1]}
        assert list((await node.get("/_alias/stack-live")).json()) == [names[1]]
    finally:
        await node.delete(f"/{','.join(names)}")


async def test_the_node_tells_what_it_is_working_on(node: httpx.AsyncClient) -> None:
    """A test that cancels a call can look whether the cluster works on, by the name that the call carried."""
    answer = await node.get("/_tasks?detailed=true", headers={"X-Opaque-Id": "stack-check"})
    assert answer.status_code == 200
    tasks = [task for each in answer.json()["nodes"].values() for task in each["tasks"].values()]
    assert "stack-check" in {task["headers"].get("X-Opaque-Id") for task in tasks}
