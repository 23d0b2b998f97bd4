"""`record --connections concerned`: the connections that the problems of an incident concern."""

import json
from pathlib import Path

import pytest

from captures.faults.recording import RECORDED, page_of
from kdissect.api import Dissection
from kdissect.recorder.concerned import concerned
from kdissect.recorder.reading import Reading
from kdissect.recorder.symptom import CAUSE, FILTER, MARK, RULE, Symptom
from kdissect.session.events import ConnectionClosed
from kdissect.session.info import ConnectionInfo
from tests.recorder.test_record import incidents, recorded
from tests.support.console import CAPTURES

REFUSED = RECORDED / "login-refused-1.pcapng.gz"
GROUPS = CAPTURES / "kafka44_java_groups.pcapng"
SYMPTOM = Symptom(CAUSE, "slow-broker", "delays", "", "", (), 1, 1, 1)


def connections(path: Path) -> list[ConnectionInfo]:
    events = Dissection([str(path)]).events()
    return [event.connection for event in events if isinstance(event, ConnectionClosed)]


def of(path: Path, *parties: str, **changes: str) -> set[str] | None:
    return concerned([str(path)], Reading(), [SYMPTOM._replace(parties=parties, **changes)])  # type: ignore[arg-type]


def test_the_file_has_the_connections_of_the_client_and_names_the_cause(tmp_path: Path) -> None:
    recorded(tmp_path / "all", REFUSED)
    recorded(tmp_path / "some", REFUSED, "--connections", "concerned")
    ((_, every),) = incidents(tmp_path / "all")
    ((path, row),) = incidents(tmp_path / "some")
    assert (every["connections"], row["connections"]) == ("all", "concerned")
    assert 0 < row["packets"] < every["packets"]
    assert page_of(path / "capture.pcapng")["causes"][0]["id"] == "login-refused"
    assert json.loads((path / "why.json").read_text())["causes"][0]["id"] == "login-refused"
    written = {str(info.client) for info in connections(path / "capture.pcapng")}
    assert written == {str(info.client) for info in connections(REFUSED) if info.client_id == "vault"}


def test_clients_groups_and_ends() -> None:
    infos = connections(GROUPS)
    client = next(info.client_id for info in infos if info.client_id)
    broker = str(infos[0].broker)
    of_client = {info.id for info in infos if info.client_id == client}
    of_broker = {info.id for info in infos if str(info.broker) == broker}
    assert of(GROUPS, f"client {client}") == of_client
    assert of(GROUPS, f"client {client}", f"broker {broker}", "topic nobody-knows") == of_client
    assert of(GROUPS, f"broker {broker}") == of_broker
    assert of(GROUPS, f"client {infos[0].client}", kind=RULE) == {infos[0].id}
    assert of(GROUPS, "group nobody-knows") == set()
    host = f"host {infos[0].client.host}"
    assert of(GROUPS, host) == {info.id for info in infos}
    unnamed = {info.id for info in infos if info.client_id is None}
    assert of(GROUPS, host, f"client {client}") == of_client | unnamed


def test_groups_and_topics_by_their_exchanges() -> None:
    groups = of(GROUPS, kind=FILTER, condition="group")
    assert groups
    assert groups < {info.id for info in connections(GROUPS)}
    topics = of(GROUPS, kind=FILTER, condition="api == Fetch, 1 in 1s")
    assert topics


@pytest.mark.parametrize("changes", [{"kind": MARK}, {}, {"kind": FILTER}])
def test_a_problem_without_parties_concerns_all(changes: dict[str, str]) -> None:
    assert of(GROUPS, **changes) is None
