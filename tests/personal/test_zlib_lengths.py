"""zlib data of a given length is read as any other."""

import zlib

import pytest

from kdissect.personal.zlib_lengths import zlib_of_length


@pytest.mark.parametrize("more", range(40))
def test_it_has_the_length_and_the_data(more: int) -> None:
    data = b"x" * 100
    least = next(length for length in range(200) if zlib_of_length(data, length) is not None)
    made = zlib_of_length(data, least + more)
    assert made is not None
    assert len(made) == least + more
    assert zlib.decompress(made) == data
    reader = zlib.decompressobj()
    assert reader.decompress(made) == data
    assert reader.eof
    assert reader.unused_data == b""


def test_data_that_does_not_fit_is_none() -> None:
    assert zlib_of_length(b"x" * 100, 8) is None
