"""Made-up tracking numbers with correct check digits. They may coincide with numbers of real parcels."""

from __future__ import annotations

from infra.demo.drawing import whole

_S10_WEIGHTS = (8, 6, 4, 2, 3, 5, 9, 7)


def tracking_number(service: str, *key: object) -> str:
    """Returns a parcel's number: S10 for EMS, twelve digits for domestic services of Yamato, Sagawa and Japan Post."""
    if service == "ems":
        return s10_number("EN", whole(0, 99_999_999, "s10", *key))
    return twelve_digits(whole(30_000_000_000, 69_999_999_999, "parcel", service, *key))


def twelve_digits(first_eleven: int) -> str:
    """Appends the check digit of Yamato, Sagawa and Japan Post ("7DR"): the remainder of the eleven digits by 7."""
    return f"{first_eleven:011}{first_eleven % 7}"


def s10_number(service: str, serial: int) -> str:
    """Returns a UPU S10-12 number: two letters, eight digits, a check digit modulo 11 (10 becomes 0, 11 becomes 5), JP."""
    digits = f"{serial:08}"
    rest = 11 - sum(weight * int(digit) for weight, digit in zip(_S10_WEIGHTS, digits, strict=True)) % 11
    return f"{service}{digits}{ {10: 0, 11: 5}.get(rest, rest) }JP"
