"""Cases that share all but their values, in one test: each is tried, and those that fail are told together.

Unlike pytest's `subtests`, a case that hangs ends its test by its timeout, and lets no other begin that has none.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

import pytest

PARAM = type(pytest.param())


def cases(
    names: str | Sequence[str], values: Iterable[Any], ids: Iterable[Any] | Callable[[Any], object] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Takes what `pytest.mark.parametrize` takes, but for marks. What a fixture gives is one thing for all of them."""
    names = [each.strip() for each in names.split(",")] if isinstance(names, str) else list(names)
    if ids is not None and not callable(ids):
        ids = list(ids)
    tried = []
    for at, case in enumerate(values):
        own = _values(names, case)
        tried.append((_label(at, case, own, ids), dict(zip(names, own, strict=True))))
    assert tried, "a test without cases shows nothing"

    def decorate(test: Callable[..., Any]) -> Callable[..., None]:
        @wraps(test)
        async def later(**fixtures: Any) -> None:
            with _all_told() as one:
                for label, own in tried:
                    with one(label):
                        await test(**fixtures, **own)

        @wraps(test)
        def now(**fixtures: Any) -> None:
            with _all_told() as one:
                for label, own in tried:
                    with one(label):
                        test(**fixtures, **own)

        looped = later if inspect.iscoroutinefunction(test) else now
        signature = inspect.signature(test)
        assert set(names) <= signature.parameters.keys(), f"{test.__name__} takes no {names}"
        others = [each for name, each in signature.parameters.items() if name not in names]
        looped.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return looped

    return decorate


@contextmanager
def _all_told() -> Iterator[Callable[[str], Any]]:
    failures: list[Exception] = []

    @contextmanager
    def one(label: str) -> Iterator[None]:
        try:
            yield
        except BaseException as problem:
            problem.add_note(f"in the case {label}")
            if not isinstance(problem, Exception):
                raise
            failures.append(problem)

    yield one
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise ExceptionGroup(f"{len(failures)} cases", failures)


def _values(names: Sequence[str], case: Any) -> tuple[Any, ...]:
    if isinstance(case, PARAM):
        assert not case.marks, "a case has no mark of its own"
        case = case.values
    elif len(names) == 1:
        return (case,)
    assert len(case) == len(names), f"{case} is not {names}"
    return tuple(case)


def _label(at: int, case: Any, values: tuple[Any, ...], ids: Sequence[Any] | Callable[[Any], object] | None) -> str:
    if isinstance(case, PARAM) and isinstance(case.id, str):
        return case.id
    if callable(ids):
        return "-".join(str(ids(each)) for each in values)
    return str(ids[at]) if ids else ", ".join(map(repr, values))[:200]
