"""Logins that a broker refused, for `info` and `connections --problems` alike."""

from kdissect.engine.overview import Overview
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange
from kdissect.session.problem import Reason
from kdissect.stats.refusals import Refusals
from tests.history.connections.test_sasl import authenticate, handshake
from tests.history.talk import Talk

UNSUPPORTED_MECHANISM, AUTHENTICATION_FAILED = 33, 58  # org.apache.kafka.common.protocol.Errors


def problems(*exchanges: Exchange) -> dict[str, int]:
    """What `info` counts of one connection."""
    refusals, overview = Refusals(), Overview()
    for event in (*exchanges, ConnectionClosed(exchanges[0].connection)):
        overview.add(refusals.add(event))
    return dict(overview.problems)


def test_refusals_count_by_what_was_refused() -> None:
    talk = Talk()
    assert problems(handshake(talk, error=UNSUPPORTED_MECHANISM)) == {Reason.MECHANISM_REFUSED: 1}
    talk = Talk()
    refused = authenticate(talk, error=AUTHENTICATION_FAILED)
    assert problems(handshake(Talk()), refused) == {Reason.LOGIN_REFUSED: 1}


def test_who_logs_in_after_all_was_not_refused() -> None:
    talk = Talk()
    first = handshake(talk, "GSSAPI", error=UNSUPPORTED_MECHANISM)
    assert problems(first, handshake(talk), authenticate(talk)) == {}
