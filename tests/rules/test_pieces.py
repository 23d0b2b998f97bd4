"""Numbers of pieces, counted without a tree of the body."""

import pytest

import kdissect
from kdissect.decoders.encoder import encode
from kdissect.decoders.generated.compiled import decoder
from kdissect.decoders.trees.node import Node
from kdissect.decoders.trees.tree_decoder import dissect
from kdissect.rules.rule import REQUEST, RESPONSE
from kdissect.rules.views.body_view import Body
from kdissect.rules.views.pieces import piece_counts, pieces
from kdissect.schema.protocol_messages import all_apis
from kdissect.schema.types import Message
from tests.conformance.random_values import ValueMaker
from tests.support.console import CAPTURES

# With tags, structs that may be null, arrays of each kind, old and current versions.
NAMES = (
    "kafka28zk_franz_raw.pcapng", "kafka44_franz_raw.pcapng", "kafka44_java_produce.pcapng",
    "kafka44_java_share.pcapng", "kafka44_java_kip848.pcapng", "kafka44_java_admin.pcapng",
)  # fmt: skip


MESSAGES = [message for api in all_apis() for message in (api.request, api.response)]


def walked(root: Node) -> list[tuple[str, int]]:
    """Numbers by sort in the order of the sorts, by a walk over a tree."""
    found: dict[str, int] = {}
    for sort, _, _ in pieces(root):
        found[sort] = found.get(sort, 0) + 1
    return list(found.items())


@pytest.mark.parametrize("name", NAMES)
def test_recorded_bodies(name: str) -> None:
    seen = 0
    for exchange in kdissect.open(CAPTURES / name):
        for side, decoded in zip((REQUEST, RESPONSE), exchange.bodies(), strict=True):
            body = None if decoded is None else Body(exchange, side, decoded)
            if body is not None and body.fits and body.is_canonical:
                counted = piece_counts(body.message, body.version).of(body.value)
                assert list(counted.items()) == walked(body.tree)
                seen += 1
    assert seen > 20


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.name)
def test_bodies_of_every_version(message: Message) -> None:
    """Nulls, tags and empty arrays, too."""
    for version in message.versions:
        for seed in range(2):
            made = ValueMaker(message, version, seed, unknown_tags=False)
            data = encode(message, version, made.body())
            counted = piece_counts(message, version).of(decoder(message, version)(data, 0)[0])
            assert list(counted.items()) == walked(dissect(message, version, data))
