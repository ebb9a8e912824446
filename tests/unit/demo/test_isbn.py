"""ISBNs: the check digit of published ones, and a number of its own for each volume."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.demo.isbn import IsbnRegister, with_check_digit
from tests.support.cases import cases
from tools.store.records.store_files import is_isbn13

bodies = st.from_regex(r"\A97[89][0-9]{9}\Z")


@cases("isbn", ["9780306406157", "9783161484100"])
def test_the_check_digit_is_the_one_of_published_isbns(isbn: str) -> None:
    assert with_check_digit(isbn[:12]) == isbn
    assert is_isbn13(isbn)


@given(bodies, st.integers(0, 12), st.integers(1, 9))
def test_any_one_wrong_digit_is_noticed(body: str, place: int, change: int) -> None:
    isbn = with_check_digit(body)
    wrong = str((int(isbn[place]) + change) % 10)
    assert is_isbn13(isbn)
    assert not is_isbn13(isbn[:place] + wrong + isbn[place + 1 :])


@cases("text", ["", "978-0306406157", "978030640615\uff17", "9780306406157\n", "1230306406157", "97803064061570"])
def test_text_without_thirteen_valid_digits_is_no_isbn(text: str) -> None:
    assert not is_isbn13(text)


@given(st.lists(st.tuples(st.sampled_from(["08", "7575", "84999"]), st.integers(1, 200)), unique=True, max_size=60))
def test_a_register_gives_each_volume_an_isbn_of_its_own(asked: list[tuple[str, int]]) -> None:
    register = IsbnRegister()
    given_out = [register.allot(publisher, "m-1", volume) for publisher, volume in asked]
    assert len(set(given_out)) == len(asked)
    assert all(is_isbn13(isbn) for isbn in given_out)
    assert all(isbn.startswith(f"9784{publisher}") for isbn, (publisher, _) in zip(given_out, asked, strict=True))


def test_a_volume_keeps_its_isbn_when_others_come_before_it() -> None:
    crowded = IsbnRegister()
    crowded.allot("08", "m-0", 1)
    assert crowded.allot("08", "m-1", 1) == IsbnRegister().allot("08", "m-1", 1)


def test_a_publisher_with_no_number_left_is_an_error() -> None:
    register = IsbnRegister()
    for volume in range(10):
        register.allot("9999999", "m-1", volume)
    with pytest.raises(ValueError, match="9999999 has no ISBN left"):
        register.allot("9999999", "m-1", 10)
