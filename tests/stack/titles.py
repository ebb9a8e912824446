"""An index of made-up titles, with words and vectors."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

DIMENSIONS = 512
TITLES = 100
INDEX = "stack-titles"
DEFINITION = {
    "settings": {
        "number_of_shards": 1,
        "number_of_replicas": 0,
        "index.knn": True,
        "analysis": {
            "char_filter": {"marks": {"type": "kuromoji_iteration_mark"}},
            "tokenizer": {
                "words": {
                    "type": "kuromoji_tokenizer",
                    "mode": "search",
                    "user_dictionary_rules": ["推しの子,推しの子,オシノコ,名詞"],
                }
            },
            "filter": {"romaji": {"type": "kuromoji_readingform", "use_romaji": True}},
            "analyzer": {
                "japanese": {
                    "type": "custom",
                    "char_filter": ["marks"],
                    "tokenizer": "words",
                    "filter": ["kuromoji_baseform", "kuromoji_part_of_speech", "ja_stop", "kuromoji_stemmer", "lowercase"],
                },
                "spoken": {"type": "custom", "tokenizer": "words", "filter": ["romaji"]},
            },
        },
    },
    "mappings": {
        "properties": {
            "title_id": {"type": "keyword"},
            "title": {"type": "text", "analyzer": "japanese"},
            "genre": {"type": "keyword"},
            "vector": {
                "type": "knn_vector",
                "dimension": DIMENSIONS,
                "method": {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"},
            },
        }
    },
}


def vector(seed: int) -> list[float]:
    made = random.Random(seed)
    return [made.uniform(-1, 1) for _ in range(DIMENSIONS)]


def title(number: int) -> dict[str, Any]:
    name = "進撃の巨人" if number == 7 else f"巨人の星 第{number}巻"
    genre = ("shonen", "seinen")[number % 2]
    return {"title_id": f"manga-{number:06}", "title": name, "genre": genre, "vector": vector(number)}


def lines(rows: Sequence[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)
