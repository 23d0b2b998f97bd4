"""What every test of `tap` leaves behind: nothing."""

from collections.abc import Iterator

import pytest

from tests.tap import kafka


@pytest.fixture(autouse=True)
def _no_tap_outlives_its_test() -> Iterator[None]:
    yield
    kafka.Tapping.end_all()
