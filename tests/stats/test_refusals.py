"""Logins, and clients of another cluster, that a broker refused: `info` and `connections --problems`."""

from kdissect.engine.overview import Overview
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange
from kdissect.session.problem import Reason
from kdissect.stats.refusals import Refusals
from tests.history.connections.test_sasl import authenticate, handshake
from tests.history.talk import Talk

# org.apache.kafka.common.protocol.Errors
UNSUPPORTED_MECHANISM, AUTHENTICATION_FAILED, REBOOTSTRAP_REQUIRED = 33, 58, 129
API_VERSIONS = 18


def problems(*exchanges: Exchange) -> dict[str, int]:
    """Return what `info` counts of one connection."""
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


def versions(talk: Talk, error: int, version: int = 5) -> Exchange:
    """ApiVersions of a client that expects node 1 of cluster `a`."""
    asked = {"client_software_name": "c", "client_software_version": "1"}
    if version >= 5:
        asked |= {"cluster_id": "a", "node_id": 1}
    return talk.ask(
        API_VERSIONS, version, asked, {"error_code": error, "api_keys": [], "throttle_time_ms": 0}
    )


def test_a_client_that_expects_another_cluster_is_refused() -> None:
    assert problems(versions(Talk(), REBOOTSTRAP_REQUIRED)) == {Reason.WRONG_CLUSTER: 1}
    assert problems(versions(Talk(), 0)) == {}
    assert problems(versions(Talk(), REBOOTSTRAP_REQUIRED, version=4)) == {}
    talk = Talk()
    assert problems(versions(talk, REBOOTSTRAP_REQUIRED), versions(talk, 0)) == {}
