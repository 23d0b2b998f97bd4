"""What machines store of a connection goes with it: a log has thousands that are over."""

from pathlib import Path

from kdissect.api import Dissection
from kdissect.history.history import History

LOG = Path(__file__).parents[2] / "captures/logged/recorded/kafka44.requests.log.gz"


def test_nothing_of_closed_connections_is_stored_by_connection() -> None:
    history, most = History(), 0
    for event in Dissection(str(LOG)).events():
        history.add(event)
        most = max(most, len(history.topic_ids.ids), len(history.producers._given_on))
    assert most > 5
    assert not len(history.topic_ids.ids)
    assert not len(history.producers._given_on)
    assert not len(history.versions.connections)
    assert not len(history.leader_epochs.clusters)
