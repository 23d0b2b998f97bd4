"""What a failed test leaves behind is ended before the next one."""

from collections.abc import Iterator

import pytest

from tests.live.capturing import Live


@pytest.fixture(autouse=True)
def _end_captures() -> Iterator[None]:
    yield
    while Live.started:
        Live.started.pop().kill()
