"""Tracking numbers as carriers make them, with their check digits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from infra.demo.tracking import s10_number, tracking_number, twelve_digits
from tests.support.cases import cases


@cases("number", ["444413758703", "405548424886", "512547514334"])
def test_check_digit_is_that_of_published_tracking_numbers(number: str) -> None:
    """One number each as Yamato, Japan Post and Sagawa give them out."""
    assert twelve_digits(int(number[:11])) == number


def test_s10_check_digit_is_that_of_the_example_in_the_standard() -> None:
    """UPU S10-12 works the serial number 47312482 through to check digit 9."""
    assert s10_number("RA", 47312482) == "RA473124829JP"


@given(st.integers(0, 99_999_999))
def test_an_s10_number_is_a_fixed_point_of_the_check(serial: int) -> None:
    number = s10_number("EN", serial)
    weighted = sum(int(digit) * weight for digit, weight in zip(number[2:10], (8, 6, 4, 2, 3, 5, 9, 7), strict=True))
    expected = {0: 5, 1: 0}.get(weighted % 11, 11 - weighted % 11)
    assert number == f"EN{serial:08}{expected}JP"


@cases(("service", "length"), [("takkyubin", 12), ("yu_pack", 12), ("ems", 13)])
def test_a_parcel_always_gets_the_same_number(service: str, length: int) -> None:
    number = tracking_number(service, "MNG-DEMO1001", 0)
    assert number == tracking_number(service, "MNG-DEMO1001", 0)
    assert number != tracking_number(service, "MNG-DEMO1001", 1)
    assert len(number) == length
