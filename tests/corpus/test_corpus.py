"""The corpus decodes with no byte left, its tables are true, it holds nothing of the recording machine."""

import json
import re
import socket
from pathlib import Path

import pytest

from captures.record.corpus import Capture, captures, every_api_version, uses
from captures.record.report import COVERAGE, README, coverage, readme
from kdissect.cli import main
from kdissect.cli.options.exchange_selection import is_decodable
from tests.support.console import CAPTURES

CORPUS = captures()
BYTES_IN_ALL = 20_000_000
# Paths of a recording machine. `/tmp/kafka-logs` is Kafka's own default, which DescribeConfigs tells.
PLACES = re.compile(rb"/(?:root|home|Users|tmp(?!/kafka-logs)|work|mnt)/[\w.-]+")

# Bodies whose bytes are wrong, by capture: API and version, how many, whose fault and what it is.
WRONG_BYTES = {
    "kafka44_rdkafka_admin.pcapng": (2, "librdkafka 2.16.0 closes AlterUserScramCredentials twice"),
    "kafka44_segmentio_admin.pcapng": (1, "kafka-go 0.4.51 closes DescribeAcls twice"),
    "mock_rdk216_txn.pcap": (42, "the mock cluster of librdkafka 2.16.0 writes bytes behind its bodies"),
    "tansu_kp202_admin.pcap": (2, "tansu 0.6.0 answers DescribeUserScramCredentials and CreateAcls short"),
    "tansu_rdk216_acks.pcap": (1, "librdkafka 2.16.0 sends three bytes behind Metadata v12"),
    "tansu_rdk216_txn.pcap": (3, "librdkafka 2.16.0 sends three bytes behind Metadata v12"),
}


@pytest.mark.sampled(16)
@pytest.mark.parametrize("capture", CORPUS, ids=lambda capture: capture.path.name)
def test_every_body_decodes_with_no_byte_left(capture: Capture, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--deep", "--format", "json", str(capture.path)]) == 0
    deep = json.loads(capfd.readouterr().out)["deep"]
    wrong, why = WRONG_BYTES.get(capture.path.name, (0, ""))
    assert deep["undecodable"] + deep["trailing_bytes"] == wrong, (why, deep["examples"])
    assert deep["bodies"] > 0


@pytest.mark.sampled(16)
@pytest.mark.parametrize("capture", CORPUS, ids=lambda capture: capture.path.name)
def test_every_client_of_the_truth_is_heard(capture: Capture) -> None:
    if capture.path.name.startswith(("kafka44_connect_", "kafka44_haproxy")):
        pytest.skip("its clients fail, most of them before they say who they are, or it needs keys of TLS")
    heard = {exchange.client_id for exchange in capture.exchanges()}
    named = {each["client_id"] for each in capture.truth["clients"]} - {"*"}
    silent = {name for name in named if not any((each or "").startswith(name) for each in heard)}
    assert not silent


@pytest.mark.exhaustive
def test_most_of_the_protocol_occurs() -> None:
    seen = set(uses(CORPUS)) & set(every_api_version())
    assert len({key for key, _ in seen}) >= 75
    assert len(seen) >= 180


@pytest.mark.exhaustive
def test_tables_are_those_of_the_captures() -> None:
    assert readme(README, CORPUS) == README.read_text()
    assert coverage(CORPUS) == COVERAGE.read_text()


# Folders of them, besides what they record.
_PROGRAMS = {"record", "replay", "faults", "pairs", "healthy", "upgrades", "conform"}


def test_every_capture_has_a_truth() -> None:
    assert {each.path for each in CORPUS} == set(CAPTURES.glob("*.pcap*"))


def test_nothing_of_the_recording_machine_is_inside() -> None:
    host = socket.gethostname().encode()
    for path in files():
        content = path.read_bytes()
        assert not PLACES.search(content), (path, PLACES.search(content))
        assert len(host) < 6 or host not in content, path


def test_the_corpus_is_small() -> None:
    assert sum(path.stat().st_size for path in files()) < BYTES_IN_ALL


def files() -> list[Path]:
    recorded = [path for path in CAPTURES.rglob("*") if path.is_file() and not _PROGRAMS & {*path.parts}]
    assert recorded
    return recorded


def test_bodies_named_wrong_are_wrong_because_of_their_bytes() -> None:
    names = {each.path.name for each in CORPUS}
    assert set(WRONG_BYTES) <= names
    capture = next(each for each in CORPUS if each.path.name == "tansu_kp202_admin.pcap")
    assert sum(not is_decodable(exchange) for exchange in capture.exchanges()) == 2
