"""The import format: what is read, and how a malformed line is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import cases
from tools.store.models import Author, Offer
from tools.store.records.catalog_file import CatalogFileError, load, parse, record_of, stored_title

GOOD: dict[str, Any] = {
    "title_id": "manga-900001",
    "title": {"en": "Paper Lighthouse", "romaji": "Kami no Toudai", "ja": "紙の灯台", "kana": "かみのとうだい"},
    "alt_titles": ["カミトウ"],
    "authors": [{"name": "Hoshino, Mio", "name_ja": "星野澪", "name_kana": "ホシノミオ", "role": "Story & Art"}],
    "genre": "seinen",
    "tags": ["Drama"],
    "synopsis": {"en": "A keeper folds letters.", "ja": None},
    "rating": 4.2,
    "rating_count": 900,
    "rating_counts": [10, 20, 130, 370, 370],
    "popularity_rank": 7,
    "volumes": 3,
    "chapters": None,
    "status": "Finished",
    "start_year": 2011,
    "end_year": 2014,
    "magazine": "Harbour",
    "publisher": "Pier Books",
    "edition_language": "en-GB",
    "cover_url": "https://img.shop.example/900001.jpg",
    "product_url": "https://shop.example/p?id=900001",
    "offers": [{"format": "physical", "price_jpy": 770, "stock": 4}, {"format": "digital", "price_jpy": 660, "stock": None}],
    "related": ["manga-900002"],
}


def encoded(*records: dict[str, Any]) -> bytes:
    return "\n".join(json.dumps(r, ensure_ascii=False) for r in records).encode()


def reduced(**campaign: str) -> dict[str, Any]:
    return {"format": "digital", "price_jpy": 300, "list_price_jpy": 480, "campaign": campaign}


def test_all_fields_of_a_full_record_are_read() -> None:
    ((title, offers),) = parse(encoded(GOOD))
    assert (title.title_id, title.ja, title.authors[0].name_kana) == ("manga-900001", "紙の灯台", "ホシノミオ")
    assert (title.rating, title.related, title.synopsis_ja) == (4.2, ("manga-900002",), None)
    assert offers == (Offer("physical", 770, 4), Offer("digital", 660, None))


def test_record_needs_only_an_id_and_one_name() -> None:
    ((title, offers),) = parse(b'{"title_id": "a", "title": {"ja": "\xe7\xb4\x99"}}')
    assert (title.display, title.tags, offers) == ("紙", (), ())


@cases("field", [f for f in GOOD if f not in ("title_id", "title")])
def test_optional_fields_may_be_null_or_absent(field: str) -> None:
    assert parse(encoded({**GOOD, field: None}))
    assert parse(encoded({k: v for k, v in GOOD.items() if k != field}))


@cases(
    ("change", "named"),
    [
        ({"authorz": []}, "$ has unknown fields: authorz; did you mean authors?"),
        ({"title": {"english": "x"}}, "$.title has unknown fields: english"),
        ({"title": {"en": None}}, "at least one of"),
        ({"title": "x"}, "$.title must be an object"),
        ({"title_id": "has space"}, "$.title_id must have 1 to 64"),
        ({"title_id": 7}, "$.title_id must be text"),
        ({"genre": "Seinen"}, "$.genre must be one of"),
        ({"audience": "Everyone"}, "$.audience must be one of all_ages, teen"),
        ({"rating": 5.1}, "$.rating must be at most 5"),
        ({"rating": True}, "$.rating must be a number"),
        ({"rating_counts": [1, 2, 3, 894]}, "$.rating_counts must be a list of 5, for 1 to 5 stars"),
        ({"rating_counts": [0, 0, 0, 0, -1]}, "$.rating_counts[4] must be at least 0"),
        ({"rating_counts": [0, 0, 0, 450, 449]}, "$.rating_counts add up to 899, rating_count is 900"),
        ({"volumes": 1.5}, "$.volumes must be a whole number"),
        ({"volumes": -1}, "$.volumes must be at least 0"),
        ({"tags": ["a", 3]}, "$.tags[1] must be text"),
        ({"authors": [{"name_ja": "x"}]}, "$.authors[0] lacks: name"),
        ({"authors": [{"name": "x", "nick": "y"}]}, "$.authors[0] has unknown fields: nick"),
        ({"offers": [{"format": "physical"}]}, "$.offers[0] lacks: price_jpy"),
        ({"offers": [{"format": "physical", "price_jpy": 7.5}]}, "$.offers[0].price_jpy must be a whole number"),
        ({"start_year": 99}, "$.start_year must be at least 1000"),
        ({"title_id": "-1"}, "$.title_id must have 1 to 64 of A-Z a-z 0-9 . _ : - and begin with a letter or digit"),
        ({"title_id": "a" * 65}, "$.title_id must have 1 to 64"),
        ({"title_id": "ベルセルク"}, "$.title_id must have 1 to 64"),
        ({"title_id": "a\n"}, "$.title_id must have 1 to 64"),
        ({"related": ["manga-900002", "a/b"]}, "related[1] must have 1 to 64"),
        ({"title": {"en": "One\0Two"}}, "$.title.en has U+0000 at place 3"),
        ({"title": {"en": "x" * 1_001}}, "$.title.en must have at most 1000 characters"),
        ({"tags": ["t"] * 201}, "$.tags must be a list of at most 200"),
        ({"synopsis": {"en": "x" * 20_001}}, "$.synopsis.en must have at most 20000 characters"),
        ({"start_year": 2011, "end_year": 2010}, "$.end_year must not be before start_year"),
        ({"offers": [{"format": "physical", "price_jpy": 0}]}, "$.offers[0].price_jpy must be more than 0 (physical)"),
        (
            {"offers": [reduced(until="13-01", start="12-01")]},
            "$.offers[0].campaign.until must be a date, YYYY-MM-DD, or a day",
        ),
        ({"offers": [reduced(until="02-29", start="02-01")]}, "of every year, MM-DD"),
        ({"offers": [reduced(till="12-01")]}, "$.offers[0].campaign"),
        ({"offers": [reduced(until="12-31")]}, "$.offers[0].campaign comes back every year, so it needs a start"),
        ({"offers": [reduced(until="2026-12-31", start="12-01")]}, "start and an end of two kinds"),
        ({"offers": [reduced(until="2026-12-01", start="2026-12-31")]}, "ends before it starts"),
        ({"offers": [reduced(until="2026-12-01") | {"list_price_jpy": 300}]}, "needs a list_price_jpy above price_jpy"),
        ({"offers": [reduced(until="2026-12-01") | {"list_price_jpy": None}]}, "needs a list_price_jpy above price_jpy"),
        ({"offers": [{"format": "digital", "price_jpy": 500}] * 2}, "$.offers[1].format 'digital' is there twice"),
        ({"cover_url": "http://shop.example/1.jpg"}, "$.cover_url must be an address that begins with https://"),
        ({"product_url": "https://shop.example/a b"}, "$.product_url must be an address that begins with https://"),
        ({"cover_url": "https://u:p@shop.example/1.jpg"}, "$.cover_url must be an address that begins with https://"),
        ({"edition_language": "English"}, "$.edition_language must be a language tag (BCP 47), such as ja or en-GB"),
        ({"volumes": 10**30}, "$.volumes must be at most 1000000000"),
    ],
)
def test_wrong_field_is_refused_by_name_and_line(change: dict[str, Any], named: str) -> None:
    with pytest.raises(CatalogFileError) as caught:
        parse(encoded({**GOOD, "title_id": "first"}, {**GOOD, **change}))
    assert caught.value.problems[0].line == 2
    assert named in caught.value.problems[0].problem


@cases("line", [b"{", b"[]", b"3", b'{"title_id": "b"}', b"\xff", b'{"title_id":"b","title":{"en":"x"},"rating":NaN}'])
def test_malformed_line_is_refused_with_its_number(line: bytes) -> None:
    with pytest.raises(CatalogFileError) as caught:
        parse(encoded(GOOD) + b"\n\n" + line)
    assert caught.value.problems[0].line == 3


HALF = [
    ({"synopsis": {"en": "half \ud800"}}, "$.synopsis.en has half a character (\\ud800) at place 5"),
    ({"tags": ["Drama", "\udfff"]}, "$.tags[1] has half a character (\\udfff) at place 0"),
    ({"authors": [{"name": "x", "role": "\ud83d"}]}, "$.authors[0].role has half a character (\\ud83d)"),
]


@cases(("change", "named"), HALF, ids=[named.partition(" ")[0] for _, named in HALF])
def test_lone_surrogate_is_refused_by_field_and_line_and_a_pair_is_accepted(change: dict[str, Any], named: str) -> None:
    """As escapes: no UTF-8 can hold half of one, and no index or answer either."""
    good = json.dumps({**GOOD, "title_id": "first", "tags": ["🐟"]}).encode()
    assert b"\\ud83d\\udc1f" in good, "the fish has to be two escapes"
    assert parse(good)[0][0].tags == ("🐟",)
    with pytest.raises(CatalogFileError) as caught:
        parse(good + b"\n" + json.dumps({**GOOD, **change}).encode())
    assert (caught.value.problems[0].line, named in caught.value.problems[0].problem) == (2, True), caught.value.problems[
        0
    ].problem


def test_duplicate_key_in_a_json_object_is_refused() -> None:
    """Python's `json` would silently take the last of two values."""
    with pytest.raises(CatalogFileError, match="line 1: not JSON in UTF-8: 'en' stands in one object twice"):
        parse(b'{"title_id": "a", "title": {"en": "One", "en": "Two"}}')


def test_record_beyond_131072_bytes_is_refused() -> None:
    fits = {**GOOD, "synopsis": {"en": "本" * 20_000}}
    assert parse(encoded(fits))
    with pytest.raises(CatalogFileError, match=r"the record has \d+ bytes, and may have 131072"):
        parse(encoded({**fits, "alt_titles": ["本" * 900] * 30}))


@cases("title_id", ["a", "9", "Berserk", "isbn:978-4", "vol_1.2", "x" * 64])
def test_ids_of_any_safe_form_can_be_loaded(title_id: str) -> None:
    """A catalogue can be loaded whose ids are safe in keys and addresses; the shop's own pattern is checked beside it."""
    assert parse(encoded({**GOOD, "title_id": title_id}))[0][0].title_id == title_id
    with pytest.raises(CatalogFileError, match="title_id"):
        parse(encoded({**GOOD, "title_id": f"-{title_id}"}))


def test_free_digital_volume_is_read_as_an_offer() -> None:
    """The first volume of a series often is free."""
    free = {**GOOD, "offers": [{"format": "digital", "price_jpy": 0}]}
    assert parse(encoded(free))[0][1] == (Offer("digital", 0, None),)


def test_stored_record_with_unknown_fields_or_a_lone_surrogate_is_still_read() -> None:
    """Fields of a later version are passed over and half a character is replaced: neither is a reason to lose an answer."""
    later = {"name": "Hoshino, Mio", "homepage": "x"}
    stored = {**GOOD, "tags": ["half \ud800"], "mood": "dark", "authors": [later], "end_year": 1990}
    stored["title"] = {"en": "Paper Lighthouse", "ko": "x"}
    title = stored_title(json.dumps(stored))
    assert (title.tags, title.title_id, title.end_year) == (("half \ufffd",), "manga-900001", 1990)
    assert (title.en, title.authors) == ("Paper Lighthouse", (Author("Hoshino, Mio"),))
    for unusable in ("[]", "{", '{"title_id": "a"}', json.dumps({**GOOD, "rating": "good"}), "[" * 100_000):
        with pytest.raises(ValueError, match=r"\S"):
            stored_title(unusable)


@cases("record", [GOOD, {"title_id": "a", "title": {"kana": "あ"}}])
def test_record_is_written_as_it_was_read(record: dict[str, Any]) -> None:
    ((title, offers),) = parse(encoded(record))
    assert stored_title(json.dumps(record_of(title, offers))) == title
    assert parse(encoded(record_of(title, offers))) == ((title, offers),)


def test_duplicate_title_id_is_refused_with_its_first_line() -> None:
    with pytest.raises(CatalogFileError, match="already on line 1"):
        parse(encoded(GOOD, GOOD))


def test_an_empty_file_is_refused() -> None:
    with pytest.raises(CatalogFileError, match="no records"):
        parse(b"\n \n")


def test_gzipped_file_is_read_like_a_plain_one(tmp_path: Path) -> None:
    plain, packed = tmp_path / "c.jsonl", tmp_path / "c.jsonl.gz"
    plain.write_bytes(encoded(GOOD))
    packed.write_bytes(gzip.compress(encoded(GOOD)))
    assert load(plain) == load(packed)


@cases("content", [gzip.compress(b"{}", mtime=0)[:-6], b"\x1f\x8bnonsense"])
def test_broken_gzip_or_missing_file_is_reported_by_name(tmp_path: Path, content: bytes) -> None:
    broken = tmp_path / "c.gz"
    broken.write_bytes(content)
    with pytest.raises(CatalogFileError, match="cannot read c.gz"):
        load(broken)
    with pytest.raises(CatalogFileError, match="cannot read none"):
        load(tmp_path / "none")


def refused_line(content: bytes) -> int | None:
    """The line a catalogue is refused for, None when it is read."""
    try:
        parse(content)
    except CatalogFileError as error:
        return error.problems[0].line
    return None


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_by_line(content: bytes) -> None:
    assert (refused_line(content) or 0) <= content.count(b"\n") + 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(sorted(GOOD)), JSON)
def test_any_field_value_is_read_or_refused_by_line(field: str, value: Any) -> None:
    assert refused_line(encoded({**GOOD, field: value})) in (None, 1)
