"""Brokers that close behind a request in a version that Kafka dropped, on connections without ApiVersions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.causes.diagnosing import ids
from tests.causes.talks import Talk, what_is_wrong
from tests.support.messages.traffic import BROKER


def _refused(port: int, *, is_from_start: bool) -> Talk:
    talk = Talk("old", port)
    talk.ask(0, 2, {"acks": 1, "timeout_ms": 100, "topic_data": []}).talk.fin(BROKER)
    if not is_from_start:
        del talk.talk.packets[:3]
    return talk


@pytest.mark.parametrize("is_from_start", [True, False])
def test_what_was_said_before_the_capture_may_be_apiversions(tmp_path: Path, is_from_start: bool) -> None:
    talks = [_refused(40000 + number, is_from_start=is_from_start) for number in range(3)]
    assert ("version-refused" in ids(what_is_wrong(tmp_path, *talks))) is is_from_start
