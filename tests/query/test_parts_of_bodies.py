"""Bodies that were cut or do not fit have their fields as far as they go; each body is looked into once."""

from typing import Any

import pytest

from kdissect.decoders.encoder import encode
from kdissect.decoders.generated import projection
from kdissect.model.frame import Frame
from kdissect.query import binding, compile_filter
from kdissect.query.binding import Binding, Context
from kdissect.query.fields.lookup import look_up
from kdissect.schema.protocol_messages import api
from kdissect.session.exchange import Exchange
from tests.query.exchanges import START, exchange, frame, takes

HEADER = b"head"


def asking(key: int, version: int, body: dict[str, Any], cut: int = 0, more: bytes = b"") -> Exchange:
    """Return a request, its last bytes not captured, or with more bytes after its layout."""
    found = api(key)
    assert found is not None
    data = HEADER + encode(found.request, version, body) + more
    made = exchange(api_key=key, api_version=version, request_body_offset=len(HEADER))
    made.request = Frame(data[: len(data) - cut], len(data), 1, 1, START, START)
    return made


HEARTBEAT = {"group_id": "g", "generation_id": 7, "member_id": "me"}


@pytest.mark.parametrize(
    ("cut", "more", "there"),
    [(0, b"", "ggme"), (1, b"", "gg"), (3, b"", "gg"), (5, b"", "g"), (9, b"", ""), (0, b"x", "ggme")],
)
def test_fields_before_a_cut_are_there(cut: int, more: bytes, there: str) -> None:
    made = asking(12, 0, HEARTBEAT, cut, more)
    texts = ("request.group_id == g", "request.generation_id == 7", "request.member_id == me")
    found = [text for text, holds in zip(("g", "g", "me"), takes_all(texts, made), strict=True) if holds]
    assert "".join(found) == there


def takes_all(texts: tuple[str, ...], made: Exchange) -> list[bool]:
    return [takes(text, made)[0] for text in texts]


def test_what_may_be_a_piece_of_a_secret_is_not_there() -> None:
    body = {"auth_bytes": b"\0alice\0secret"}
    whole, cut = asking(36, 1, body), asking(36, 1, body, cut=3)
    assert takes("request.auth_bytes contains sec", whole, cut) == [True, False]
    assert takes("count(request.auth_bytes) == 0", whole, cut) == [False, True]


def test_without_a_header_nobody_knows_where_the_body_begins() -> None:
    made = asking(12, 0, HEARTBEAT, cut=1)
    made.request_body_offset = 0
    assert takes("request.group_id", made) == [False]
    made.request_body_offset = 99
    assert takes("request.group_id", made) == [False]


def test_a_body_is_looked_into_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[bytes] = []

    def project(*arguments: Any) -> Any:
        real = projection.projector(*arguments)

        def noted(data: bytes, offset: int) -> Any:
            looked.append(data)
            return real(data, offset)

        return noted

    monkeypatch.setattr(binding, "projector", project)
    test = compile_filter(
        "request.group_id == x or request.generation_id == 8 or request.member_id == y"
    ).bind()
    made = [asking(12, 0, HEARTBEAT), asking(12, 0, HEARTBEAT)]
    assert [test(each) for each in (*made, made[0])] == [False] * 3
    assert len(looked) == 3


def test_projectors_are_forgotten_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "_MAX_PROJECTORS", 2)
    bound = Binding(Context())
    (get,) = look_up("request.group_id").many(bound)
    for version in (0, 1, 2, 3, 0, 1):
        body = HEARTBEAT | {"group_instance_id": None}
        assert get(asking(12, version, body)) == ["g"]
        assert len(bound.bodies._projectors) <= 2


def test_batches_are_those_of_the_exchange_that_is_asked_about() -> None:
    from tests.support.messages.batches import batch_bytes, record_bytes

    def producing(count: int) -> Exchange:
        records = batch_bytes(record_bytes(value=b"v") * count, count)
        topic = {"name": "t", "partition_data": [{"index": 0, "records": records}]}
        return asking(0, 3, {"transactional_id": None, "acks": 1, "timeout_ms": 1, "topic_data": [topic]})

    one, two = producing(1), producing(2)
    test = compile_filter("batch.count == 2 and batch.magic == 2").bind()
    assert [test(each) for each in (one, two, one, two, exchange(request=frame()))] == [
        False, True, False, True, False,
    ]  # fmt: skip


def test_anomalies_that_only_bodies_have() -> None:
    broken, longer = asking(12, 0, HEARTBEAT, more=b"x"), asking(12, 0, HEARTBEAT)
    longer.response = frame(HEADER + b"\0\0" + b"more")
    longer.response_body_offset = len(HEADER)
    for made in (broken, longer):
        assert takes("anomaly == trailing_bytes", made) == [True]
        assert takes("anomaly in (gap, trailing_bytes)", made) == [True]
        assert takes("count(anomaly) == 0", made) == [True]  # no body is looked into
        assert takes("anomaly == malformed_body", made) == [False]
    short = asking(12, 0, HEARTBEAT)
    assert short.request is not None
    short.request = frame(short.request.data[:-1])
    assert takes("anomaly == malformed_body", short) == [True]
