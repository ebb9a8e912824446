"""A test of several cases tries each, and reports all that fail by their labels."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.cases import cases


def test_every_case_is_tried_and_all_failures_are_reported() -> None:
    tried = []

    @cases("number, other", [(1, 1), pytest.param(2, 3, id="two"), (3, 3), (4, 5)])
    @cases("sign", [1, -1])
    async def numbers_are_alike(fixture: str, number: int, other: int, sign: int) -> None:
        tried.append((fixture, number, sign))
        assert sign * number == sign * other

    with pytest.raises(ExceptionGroup) as failed:
        asyncio.run(numbers_are_alike(fixture="own"))  # type: ignore[arg-type]
    assert tried == [("own", number, sign) for number in (1, 2, 3, 4) for sign in (1, -1)]
    assert [each.__notes__ for each in failed.value.exceptions] == [["in the case two"], ["in the case 4, 5"]]
    inner = failed.value.exceptions[0]
    assert isinstance(inner, ExceptionGroup)
    assert [each.__notes__ for each in inner.exceptions] == [["in the case 1"], ["in the case -1"]]
