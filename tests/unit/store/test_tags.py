"""Tags as shops write them are normalised, and never to a younger audience."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.store.audience import audience_of
from tools.store.models import Audience, Title
from tools.store.records.catalog_file import parse
from tools.store.records.schemas import find_odd_titles
from tools.store.search.query.themes import ThemeTable
from tools.store.tags import Tag, TagsFileError, Vocabulary, load_vocabulary, shipped

OWN = """
[tags."Sea Stories"]
synonyms = ["seafaring", "海洋"]
[tags.Loli]
audience = "adult"
[tags.romance]
synonyms = ["sweethearts"]
audience = "teen"
"""


def own(folder: Path, content: str = OWN) -> Path:
    path = folder / "tags.toml"
    path.write_text(content, "utf-8")
    return path


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("romance", "Romance"),
        ("ＲＯＭＡＮＣＥ", "Romance"),
        ("sci fi", "Sci-Fi"),
        ("SCIENCE-FICTION", "Sci-Fi"),
        ("mysteries", "Mystery"),
        ("zombie", "Zombies"),
        ("Sport", "Sports"),
        ("歴史もの", "Historical"),
        ("グルメ漫画", "Gourmet"),
        ("ｺﾒﾃﾞｨ", "Comedy"),
        ("yōkai", "Yokai"),
        ("boys' love", "Boys Love"),
        ("hentai", "Hentai"),
        ("R-18", "Adult"),
        ("steampunk", None),
        ("go", "Go"),
    ],
)
def test_tag_is_recognised_in_any_spelling(written: str, meant: str | None) -> None:
    assert shipped().name_of(written) == meant


def test_every_tag_of_the_theme_table_is_in_the_vocabulary() -> None:
    assert {ThemeTable.load().tags[phrase][0] for phrase in ThemeTable.load().tags} <= shipped().tags.keys()


def test_lower_case_adult_tag_still_makes_a_title_adult() -> None:
    ((title, _),) = parse(b'{"title_id": "a-1", "title": {"en": "A"}, "genre": "shonen", "tags": ["hentai", "comedy"]}')
    assert title.tags == ("Hentai", "Comedy")
    assert audience_of(title) is Audience.ADULT


@pytest.mark.parametrize("genre", ["shonen", "seinen", "shojo", "kodomo", None])
@pytest.mark.parametrize("tags", [(), ("Comedy",), ("Friendship",), ("Pets",), ("Action",), ("Horror",), ("War",)])
def test_unknown_tag_never_lowers_the_age_of_an_audience(genre: str | None, tags: tuple[str, ...]) -> None:
    order = [Audience.ALL_AGES, Audience.TEEN, Audience.OLDER_TEEN, Audience.ADULT, None]
    plain = audience_of(Title("a-1", en="A", genre=genre, tags=tags))
    more = audience_of(Title("a-1", en="A", genre=genre, tags=(*tags, "futuresque")))
    assert order.index(more) >= order.index(plain)


def test_shop_file_keeps_the_known_words_of_a_tag_that_it_extends() -> None:
    known = Vocabulary({"Gore": Tag(("splatter",), "adult", ("blood",))})
    extended = known.extend({"Gore": Tag(("guts",), None, ("wounds", "blood"))})
    assert extended.tags["Gore"] == Tag(("splatter", "guts"), "adult", ("blood", "wounds"))


def test_shop_file_adds_tags_synonyms_and_stricter_audiences(tmp_path: Path) -> None:
    vocabulary = load_vocabulary(own(tmp_path))
    line = (
        '{"title_id": "a-1", "title": {"en": "A"}, "genre": "shonen", "tags": ["LOLI", "sweetheart", "海洋", "new", "NEW"]}'
    )
    records = parse(line.encode(), vocabulary)
    title = records[0][0]
    assert title.tags == ("Loli", "Romance", "Sea Stories", "new")
    assert audience_of(title) is Audience.ADULT, "the record says so to who knows only the shipped table"
    assert list(find_odd_titles(records, vocabulary)) == [
        "tag 'new' is in no table, on 1 titles: nothing is known of its audience; MANGA_TAGS_FILE may tell"
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[tags.Ecchi]\naudience = 'all_ages'", "Ecchi is older_teen already"),
        (
            "[tags.A]\naudience = 'babies'\n[tags.B]\ncolour = 'red'",
            r"\$\.tags\.B has unknown fields: colour; \$\.tags\.A\.audience must be one of .* a tag has synonyms",
        ),
        ("[tags.Boats]\nsynonyms = ['love story']", "'love story' is Romance already"),
        ("[tags.Boats]\nsynonyms = 'ships'", r"\$\.tags\.Boats\.synonyms must be a list"),
        ("tags = 3", r"\$\.tags must be an object"),
        ("[tags.Boat]\n[tags.Boats]", "is Boat already|two of its tags"),
        ("[tags", "not TOML"),
    ],
)
def test_malformed_tags_file_is_refused_with_the_reason(tmp_path: Path, content: str, said: str) -> None:
    with pytest.raises(TagsFileError, match=said):
        load_vocabulary(own(tmp_path, content))
