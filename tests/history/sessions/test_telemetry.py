"""Client metrics against their subscription (KIP-714)."""

import gzip
from typing import Any

import pytest

from kdissect.history.sessions.telemetry_pushes import Telemetry
from kdissect.session.exchange import Exchange
from tests.history.talk import Talk, brief, feed, kinds

GET, PUSH = 71, 72
GZIP = 1
UUID = bytes(range(16))
OTHER = UUID[::-1]


def subscribe(talk: Talk, subscription: int = 9, at: int | None = None) -> Exchange:
    answer = {
        "client_instance_id": UUID, "subscription_id": subscription, "accepted_compression_types": [4],
        "push_interval_ms": 1000, "telemetry_max_bytes": 100, "requested_metrics": ["a."],
    }  # fmt: skip
    return talk.ask(GET, 0, {"client_instance_id": bytes(16)}, answer, at=at)


def metrics(size: int, codec: int) -> bytes:
    """So many bytes of MetricsData: a field that nobody knows. What is compressed with gzip, says so."""
    plain = b"\x7a" + bytes((size - 2,)) + bytes(size - 2) if size < 128 else bytes(size)
    return gzip.compress(plain, mtime=0) if codec == GZIP else plain


def push(
    talk: Talk,
    at: int,
    subscription: int = 9,
    codec: int = 0,
    size: int = 10,
    last: bool = False,
    error: int = 0,
    instance: bytes = UUID,
) -> Exchange:
    body = {
        "client_instance_id": instance, "subscription_id": subscription, "terminating": last,
        "compression_type": codec, "metrics": metrics(size, codec),
    }  # fmt: skip
    return talk.ask(PUSH, 0, body, {"error_code": error}, at=at)


def test_as_asked_for() -> None:
    talk, machine = Talk(), Telemetry()
    facts = feed(
        machine,
        subscribe(talk, at=0),
        push(talk, 200),
        push(talk, 1200, codec=4),
        push(talk, 1300, last=True),
    )
    assert kinds(facts) == ["subscribed", "pushed", "pushed", "pushed"]
    (known,) = machine.clients
    assert (known.pushes, known.bytes, known.metrics) == (3, 30, ("a.",))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"subscription": 8}, ("other_subscription", 9, 8)),
        ({"codec": 1}, ("codec_not_accepted", (4,), 1)),
        ({"size": 101}, ("too_large", 100, 101)),
        ({"at": 600}, ("too_early", 1000, 400)),
        ({"error": 117}, ("refused", 0, 117)),
    ],
)
def test_what_differs(change: dict[str, Any], expected: tuple[str, Any, Any]) -> None:
    talk = Talk()
    steps = [subscribe(talk, at=0), push(talk, 200), push(talk, **({"at": 1200} | change))]
    assert expected in brief(feed(Telemetry(), *steps))


def test_a_push_behind_the_last_one() -> None:
    talk = Talk()
    facts = feed(Telemetry(), subscribe(talk, at=0), push(talk, 1000, last=True), push(talk, 2000))
    assert "after_terminating" in kinds(facts)


def test_without_a_subscription_nothing_is_expected() -> None:
    talk = Talk()
    assert kinds(feed(Telemetry(), push(talk, 0, codec=3, size=9999), push(talk, 1))) == ["pushed", "pushed"]


def test_a_client_takes_another_id_that_a_broker_gives_it() -> None:
    """As Tansu does. The broker is at fault: TEL007."""
    talk, machine = Talk(), Telemetry()
    answer = {"client_instance_id": OTHER, "subscription_id": 9, "push_interval_ms": 1000}
    again = talk.ask(GET, 0, {"client_instance_id": UUID}, answer, at=100)
    facts = feed(machine, subscribe(talk, at=0), again, push(talk, 5000, instance=OTHER))
    assert kinds(facts) == ["subscribed", "subscribed", "pushed"]
    assert "other_instance" in kinds(feed(machine, push(talk, 9000)))


def test_a_connection_is_of_one_client_instance() -> None:
    """Another connection may be of another one."""
    talk, other, machine = Talk(), Talk("10.0.0.9"), Telemetry()
    facts = feed(
        machine, subscribe(talk, at=0), push(other, 100, instance=OTHER), push(talk, 200, instance=OTHER)
    )
    assert brief(facts)[-2] == ("other_instance", UUID.hex(), OTHER.hex())
    assert kinds(facts) == ["subscribed", "pushed", "other_instance", "pushed"]
