"""Group payloads of real clients, against kafka-python's reading of the same bytes."""

import base64
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.engine.exchange_bodies import body_of
from kdissect.model.anomaly import AnomalyKind
from tests.support.console import CAPTURES

# kafka-python reads its definitions by a function that Python 3.11 calls old.
pytestmark = pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")
SHIPPED = sorted([*CAPTURES.glob("*.pcap"), *CAPTURES.glob("*.pcapng")])


def payloads(value: Any, path: str = "") -> Iterator[tuple[str, bytes, dict[str, Any]]]:
    """Field, bytes, and what stands beside them, of every payload of a body that is no secret."""
    if isinstance(value, list):
        for item in value:
            yield from payloads(item, path)
    elif isinstance(value, dict):
        for name, item in value.items():
            beside = value.get(f"{name}_decoded")
            if beside is not None and isinstance(item, dict):
                yield name, base64.b64decode(item["base64"]), beside
            yield from payloads(item, name)


def odd(path: Path) -> bool:
    """Return whether payloads that do not fit are to be expected.

    Requests that a test client made up on purpose are named so; kafka-go's subscriptions say version 1 and
    are laid out as version 0.
    """
    return "_raw" in path.name or "_segmentio_groups" in path.name


def bodies(path: Path) -> Iterator[Any]:
    for exchange in Dissection(path):
        for side in ("request", "response"):
            decoded = body_of(exchange, side, show_secrets=False)
            kinds = {anomaly.kind for anomaly in decoded.anomalies}
            assert AnomalyKind.MALFORMED_PAYLOAD not in kinds or odd(path), decoded.anomalies
            yield decoded.body


def theirs(value: Any) -> Any:
    """kafka-python's dicts without what it adds, bytes as base64."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {name: theirs(item) for name, item in value.items() if name != "version"}
    return [theirs(item) for item in value] if isinstance(value, list) else value


def ours(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: ours(item) for name, item in value.items() if not name.endswith("_decoded")}
    return [ours(item) for item in value] if isinstance(value, list) else value


def compare(path: Path) -> Counter[str]:
    from kafka.coordinator.assignors.sticky.user_data import StickyAssignorUserData
    from kafka.protocol.consumer import ConsumerProtocolAssignment, ConsumerProtocolSubscription

    readers = {
        "ConsumerProtocolSubscription": ConsumerProtocolSubscription,
        "ConsumerProtocolAssignment": ConsumerProtocolAssignment,
        "StickyAssignorUserData": StickyAssignorUserData,
    }
    compared: Counter[str] = Counter()
    for body in bodies(path):
        for _, data, told in payloads(body):
            reader = readers.get(told["payload"])
            if reader is None or "why" in told:
                continue
            if told["payload"] == "StickyAssignorUserData":
                # kafka-python wants the version before it, which other clients do not write.
                version = 1 if "generation" in told["value"] else 0
                read = reader.decode(data if "version" in told else version.to_bytes(2) + data)
            else:
                read = reader.decode(data)
            shown = theirs(read.to_dict())
            if "user_data" in shown:  # to_dict makes text of bytes
                shown["user_data"] = theirs(read.user_data)
            assert {name: shown[name] for name in told["value"] if name in shown} == ours(told["value"])
            compared[told["payload"]] += 1
    return compared


@pytest.mark.sampled(16)
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_captures(path: Path) -> None:
    compare(path)


def test_captures_of_groups(reference: Path) -> None:
    found: Counter[str] = Counter()
    for name in ("tansu_kp3_groups", "tansu_rdk216_groups", "tansu_rdk216_coop", "mock_rdk216_groups"):
        found += compare(reference / "captures" / f"{name}.pcap")
    assert found["ConsumerProtocolSubscription"] > 20
    assert found["ConsumerProtocolAssignment"] > 20
    assert found["StickyAssignorUserData"] > 2
