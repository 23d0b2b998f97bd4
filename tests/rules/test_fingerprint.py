"""The shape of a text in a fingerprint: what stays where numbers change."""

import pytest

from kdissect.rules.fingerprint import shape


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("1 byte left over", "2 bytes left over"),
        ("1 byte is left over in the record", "17 bytes are left over in the record"),
        ("bool of 1 byte runs past the end, 0 left", "bool of 4 bytes runs past the end, 1 left"),
        ("says 2, 1 record fills the batch", "says 5, 3 records fill the batch"),
        ("1 element does not fit the 1 byte left", "9 elements do not fit the 3 bytes left"),
        ("1 entry without it", "4 entries without it"),
        ("1 batch", "3 batches"),
        ("-1 partitions, 1 replica", "3 partitions, 2 replicas"),
        ("length 9, only 1 byte follows", "length 9, only 3 bytes follow"),
    ],
)
def test_one_has_the_shape_of_many(one: str, many: str) -> None:
    assert shape(one) == shape(many)


def test_what_is_no_count_stays() -> None:
    assert shape("1 of 'a' and 'b'") == "# of '' and ''"
    assert shape("v1 byte order") == "# byte order"
