"""URI templates."""

from __future__ import annotations

from tests.support.cases import cases
from tools.primitives.resource import LONGEST_VALUE, UriTemplate

ORDER = UriTemplate("manga://orders/{order_id}/lines/{line}")


def test_template_gives_the_decoded_variables_of_a_uri() -> None:
    assert ORDER.variables == ("order_id", "line")
    assert ORDER.match("manga://orders/MNG-1/lines/2") == {"order_id": "MNG-1", "line": "2"}
    assert UriTemplate("a://{q}").match("a://%E9%BB%92%2F%3F") == {"q": "黒/?"}


@cases(
    "uri",
    [
        "manga://orders/MNG-1/lines/",
        "manga://orders/a/b/lines/2",
        "manga://orders/MNG-1/lines/2?all",
        "manga://orders/MNG-1/lines/2#x",
        "manga://orders/MNG-1/lines/2\n",
        "Manga://orders/MNG-1/lines/2",
        f"manga://orders/{'9' * (LONGEST_VALUE + 1)}/lines/2",
        "",
    ],
)
def test_template_variable_matches_one_segment_of_bounded_length(uri: str) -> None:
    assert ORDER.match(uri) is None


def test_literal_text_of_a_template_is_matched_literally() -> None:
    assert UriTemplate("a://b.c/{d}").match("a://bxc/1") is None
