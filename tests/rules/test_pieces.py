"""Numbers of pieces, counted without a tree of the body."""

from random import Random

import pytest

import kdissect
from kdissect.decoders.bodies import decode_once
from kdissect.model.frame import Frame
from kdissect.rules.rule import REQUEST, RESPONSE
from kdissect.rules.views.body_view import Body
from kdissect.rules.views.pieces import piece_counts, pieces
from tests.native.bodies.test_canonical_bodies import damage
from tests.support.console import CAPTURES

# With tags, structs that may be null, arrays of each kind, old and current versions.
NAMES = (
    "kafka28zk_franz_raw.pcapng", "kafka44_franz_raw.pcapng", "kafka44_java_produce.pcapng",
    "kafka44_java_share.pcapng", "kafka44_java_kip848.pcapng", "kafka44_java_admin.pcapng",
)  # fmt: skip


def assert_counted(body: Body) -> bool:
    """Compare with a walk over the tree; False for a body that has no tree or is not canonical."""
    if not (body.fits and body.is_canonical):
        return False
    walked: dict[str, int] = {}
    for sort, _, _ in pieces(body.tree):
        walked[sort] = walked.get(sort, 0) + 1
    counted = piece_counts(body.message, body.version).of(body.value)
    assert list(counted.items()) == list(walked.items()), (body.message.name, body.version)
    return True


@pytest.mark.parametrize("name", NAMES)
def test_recorded_bodies(name: str) -> None:
    """Numbers and the order of the sorts."""
    seen = 0
    random = Random(3)
    for exchange in kdissect.open(CAPTURES / name):
        key, version = exchange.api_key, exchange.api_version
        for side, decoded in zip((REQUEST, RESPONSE), exchange.bodies(), strict=True):
            if decoded is None or key is None or version is None:
                continue
            body = Body(exchange, side, decoded)
            seen += assert_counted(body)
            if side == REQUEST:  # nulls, tags and counts that clients do not send
                data = damage(body.data, body.offset, random)
                frame = exchange.request
                exchange.request = Frame(data, len(data), 0, 0, 0, 0)
                damaged = decode_once(exchange.request, body.offset, key, version, False)
                if damaged is not None:
                    assert_counted(Body(exchange, side, damaged))
                exchange.request = frame
    assert seen > 20
