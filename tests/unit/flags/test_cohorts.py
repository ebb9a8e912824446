"""Which users belong to the percentage of a flag."""

from __future__ import annotations

import os
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from server.config.settings import ROOT
from server.flags.document import cohort_key, in_share, percentile_of
from tests.support.cases import cases

USERS = [f"user-{n}" for n in range(100_000)]


@cases("flag", ["preview_manga_pages", "check_inventory", "x"])
def test_share_of_20_percent_contains_a_fifth_of_the_users(flag: str) -> None:
    """It contains 20 ± 1 % of 100,000 users."""
    found = sum(in_share(flag, user, 20) for user in USERS)
    assert 19_000 <= found <= 21_000


def test_shares_of_two_flags_are_independent() -> None:
    """A fifth of a fifth is in both; otherwise one experiment would decide who is in the other."""
    both = sum(in_share("preview_manga_pages", user, 20) and in_share("compare_prices", user, 20) for user in USERS)
    assert 3_500 <= both <= 4_500


@given(st.text(max_size=255), st.floats(0, 100), st.floats(0, 100))
def test_larger_share_contains_every_user_of_a_smaller_one(user: str, one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert in_share("check_inventory", user, less) <= in_share("check_inventory", user, more)
    assert not in_share("check_inventory", user, 0)
    assert in_share("check_inventory", user, 100)


def test_cohort_goes_by_the_user_and_without_one_by_the_session() -> None:
    assert cohort_key("u", "s") == cohort_key("u", None)
    assert cohort_key(None, "s") not in (None, cohort_key("s", None))
    assert cohort_key(None, None) is None
    assert in_share("check_inventory", None, 100)
    assert not in_share("check_inventory", None, 99.9)


def test_percentile_of_a_user_is_the_same_in_every_process() -> None:
    """It depends on no hash seed, and the figures are the same in every version."""
    assert percentile_of("check_inventory", "demo-user-1") == 18.035582755692303
    shares = (18.035582755692303, 18.035582755692306)
    assert [in_share("check_inventory", "demo-user-1", share) for share in shares] == [False, True]
    script = "from server.flags.document import percentile_of; print(percentile_of('check_inventory', 'demo-user-1'))"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        assert float(done.stdout) == percentile_of("check_inventory", "demo-user-1")
