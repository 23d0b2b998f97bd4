"""Requests behind which a broker closes, again and again."""

import pytest

from kdissect.model.packets.packet import Packet
from tests.rules.fixtures.connections import all_of
from tests.rules.fixtures.wire import later_connection, metadata
from tests.rules.scripted_connection import SOFTWARE, VERSIONS, findings
from tests.support.messages.traffic import BROKER, CLIENT

ASKED = {"key": "g", "key_type": 0}
REFUSALS = {"VER013", "VER019"}


def asked_on(number: int, is_answered: bool) -> list[Packet]:
    """Return a connection on which FindCoordinator is answered, or closed by the broker."""
    talk = later_connection(number)
    talk.exchange("ApiVersions", 3, SOFTWARE, VERSIONS)
    metadata(talk)
    talk.ask("FindCoordinator", 3, ASKED)
    if not is_answered:
        return talk.close(BROKER)
    return talk.answer("FindCoordinator", 3, {"error_code": 15}).close(CLIENT)


@pytest.mark.parametrize(
    ("answered", "found"),
    [("...", {"VER013"}), (".+..", set()), ("..+.", set()), ("+...", {"VER013"}), ("..+...", {"VER013"})],
)
def test_one_that_was_answered_between_ends_the_row(answered: str, found: set[str]) -> None:
    packets = all_of(*(asked_on(number, each == "+") for number, each in enumerate(answered)))
    assert {finding.code for finding in findings(packets)} & REFUSALS == found
