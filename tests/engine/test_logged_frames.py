"""Frames that are read again from their capture: what is known of their bytes before and after."""

import pytest

from kdissect.engine.exchange_log.logged_frames import Found, LoggedFrame, Want
from kdissect.model.endpoint import Endpoint
from kdissect.session.info import ConnectionInfo

INFO = ConnectionInfo("x", "", Endpoint("10.0.0.1", 40000), Endpoint("10.0.0.2", 9092), 0)


class Store:
    """Answers every search the same way."""

    def __init__(self, found: Found) -> None:
        self.found, self.searches = found, 0

    def find(self, want: Want) -> Found:
        self.searches += 1
        return self.found


def want(captured: int = 4) -> Want:
    return Want(INFO, True, 1, 2, 10, 20, 4, captured, 0, False)


def test_a_frame_is_whole_until_its_bytes_are_missed() -> None:
    store = Store(Found(b"", (), "the file has changed"))
    frame = LoggedFrame(want(), store)
    assert not frame.is_cut
    assert store.searches == 0
    assert frame.data == b""
    assert frame.is_cut
    assert frame.found.why == "the file has changed"
    assert store.searches == 1


def test_a_frame_that_is_found_is_whole() -> None:
    frame = LoggedFrame(want(), Store(Found(b"data")))
    assert frame.data == b"data"
    assert not frame.is_cut


@pytest.mark.parametrize("found", [Found(b"da"), Found(b"", (), "the file has changed")])
def test_a_frame_that_was_not_captured_whole_is_cut_before_and_after(found: Found) -> None:
    frame = LoggedFrame(want(captured=2), Store(found))
    assert frame.is_cut
    assert frame.data == found.data
    assert frame.is_cut


def test_without_a_store_no_bytes_are_kept() -> None:
    frame = LoggedFrame(want(), None)
    assert frame.found == Found(b"", (), "it was dropped")
    assert frame.is_cut
