"""Both walks of a body find what decides in it, within their bounds; unpacked elsewhere is just that."""

from itertools import pairwise
from random import Random

import pytest

from kdissect.decoders.body_schemas import body_message
from kdissect.decoders.encoder import encode
from kdissect.decoders.outline import MOST_BYTES, MOST_PIECES, Form, NotOrdinaryError, OutlineRoute
from kdissect.decoders.survey import Survey, SurveyRoute
from kdissect.decoders.walk import Mark, merged, unpacker
from tests.support.batches import batch_bytes

PRODUCE, METADATA = 0, 3  # org.apache.kafka.common.protocol.ApiKeys
MOST_MARKS = 1024


def metadata(topics: list[str]) -> bytes:
    """A request of version 1: a count, and topics by their names."""
    return encode(body_message(METADATA, 1, False), 1, {"topics": [{"name": name} for name in topics]})


def produced(partitions: int) -> bytes:
    """A response of version 0: each error code stands between numbers that do not decide."""
    parts = [{"index": i, "error_code": 0, "base_offset": i} for i in range(partitions)]
    message = body_message(PRODUCE, 0, True)
    return encode(message, 0, {"responses": [{"name": "t", "partition_responses": parts}]})


def test_what_is_unpacked_are_the_marks() -> None:
    random = Random(12)
    data = random.randbytes(200)
    for _ in range(2000):
        start = at = random.randrange(50)
        marks: list[Mark] = []
        for _ in range(random.randrange(8)):
            at += random.choice((0, 0, 0, 1, 5))
            marks.append((at, random.randrange(1, 6)))
            at += marks[-1][1]
        found = unpacker(merged(marks, start))(data, start)
        ranges = merged(marks, 0)
        for (place, width), part in zip(ranges, found, strict=True):
            raw = part if isinstance(part, bytes) else int(str(part)).to_bytes(width)
            assert raw == data[place : place + width]
        assert b"".join(data[a : a + n] for a, n in ranges) == b"".join(data[a : a + n] for a, n in marks)
        assert all(a + n < b for (a, n), (b, _) in pairwise(ranges))


def test_an_outline_has_few_pieces() -> None:
    route = OutlineRoute(body_message(PRODUCE, 0, True), 0)
    form = route.outline(produced(MOST_PIECES), 0).form
    assert len(form.pieces) == MOST_PIECES + 1  # the counts and the name are one
    with pytest.raises(NotOrdinaryError):
        route.outline(produced(MOST_PIECES + 1), 0)


def test_an_outline_has_few_bytes() -> None:
    route = OutlineRoute(body_message(METADATA, 1, False), 1)
    body = metadata(["t" * (MOST_BYTES - 6)])  # behind a count and a length
    assert route.outline(body, 0).form.pieces == ((0, MOST_BYTES),)
    with pytest.raises(NotOrdinaryError):
        route.outline(metadata(["t" * (MOST_BYTES - 5)]), 0)


def test_a_survey_has_few_marks() -> None:
    route = SurveyRoute(body_message(METADATA, 1, False), 1)
    body = metadata(["t"] * (MOST_MARKS - 1))  # and their count
    assert len(Survey(route, body, 0).marks) == MOST_MARKS
    with pytest.raises(ValueError, match="too much"):
        Survey(route, metadata(["t"] * MOST_MARKS), 0)


def test_a_survey_passes_over_names_and_an_outline_does_not() -> None:
    message, body = body_message(METADATA, 1, False), metadata(["one", "two"])
    survey = Survey(SurveyRoute(message, 1), bytes(3) + body, 3)
    assert survey.marks == [(3, 4), (7, 2), (12, 2)]
    assert survey.head == 2
    outline = OutlineRoute(message, 1).outline(bytes(3) + body, 3)
    assert outline.form.pieces == ((0, len(body)),)
    assert outline.summary.topics == ("one", "two")


def test_the_length_of_records_is_free() -> None:
    """Nothing of another length stands before it: the head of a survey ends there, and an outline too."""
    message, batch = body_message(PRODUCE, 3, False), batch_bytes()
    part = {"index": 7, "records": batch}
    topics = [{"name": "", "partition_data": [part]}]
    values = {"transactional_id": None, "acks": 1, "timeout_ms": 9, "topic_data": topics}
    body = encode(message, 3, values)
    survey, form = Survey(SurveyRoute(message, 3), body, 0), OutlineRoute(message, 3).outline(body, 0).form
    assert survey.batches == 1
    assert survey.records == [(survey.head, len(body))]
    assert survey.marks[-1] == (form.free, 4)
    assert form == Form(form.pieces, 0, len(body) - len(batch) - 4)
