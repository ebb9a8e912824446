"""Tracking numbers with correct check digits. They are made up, and may coincide with those of real parcels."""

from __future__ import annotations

from infra.demo.drawing import whole

_S10_WEIGHTS = (8, 6, 4, 2, 3, 5, 9, 7)


def tracking_number(service: str, *key: object) -> str:
    """Makes a number: EMS numbers follow S10; domestic ones of Yamato, Sagawa and Japan Post have twelve digits."""
    if service == "ems":
        return s10_number("EN", whole(0, 99_999_999, "s10", *key))
    return twelve_digits(whole(30_000_000_000, 69_999_999_999, "parcel", service, *key))


def twelve_digits(first_eleven: int) -> str:
    """Appends to eleven digits their remainder by 7 ("7DR"), as for parcels of Yamato, Sagawa and Japan Post."""
    return f"{first_eleven:011}{first_eleven % 7}"


def s10_number(service: str, serial: int) -> str:
    """Returns a UPU S10-12 number: two letters, eight digits, a check digit modulo 11 (10 is 0, 11 is 5), the country."""
    digits = f"{serial:08}"
    rest = 11 - sum(weight * int(digit) for weight, digit in zip(_S10_WEIGHTS, digits, strict=True)) % 11
    return f"{service}{digits}{ {10: 0, 11: 5}.get(rest, rest) }JP"
