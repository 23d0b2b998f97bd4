"""Names in output, whatever capitals stand side by side."""

from hypothesis import given
from hypothesis import strategies as st

from kdissect.schema.schema_parser import snake_case

NAMES = st.text(st.sampled_from("aAbB_1Éß"), max_size=8)


@given(NAMES)
def test_an_underscore_stands_where_a_capital_follows_none(name: str) -> None:
    expected = "".join(
        ("_" if at and letter.isupper() and not name[at - 1].isupper() else "") + letter.lower()
        for at, letter in enumerate(name)
    )
    assert snake_case(name) == expected
