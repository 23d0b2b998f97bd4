"""`kdissect diff`: what was changed between two runs is what differs first."""

import json
from typing import Any

import pytest

from captures.pairs.pairs import PAIRS as PAIRS_ANEW
from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.cli.diagnostics import FINDINGS, OK, USAGE
from kdissect.stats.comparison.alignment import aligned
from kdissect.stats.comparison.body_values import body_values
from kdissect.stats.comparison.differences import Difference, Shares, differences
from kdissect.stats.comparison.sides import ClientSide, Example, Kind, Side, Step
from tests.stats.truth import capture
from tests.support.console import CHECKOUT

Facts = dict[str, Any]
PAIRS = capture("kafka44_java_pairs")
# What the scenario changes (captures/record/scenarios/kafka44_java_pairs.py), and where the wire shows it.
CHANGED = {
    "acks": ("request", "Produce", "acks", "ALL_ISR", "LEADER"),
    "codec": ("batch", "Produce", "codec", "none", "zstd"),
    "batches": ("batch", "Produce", "records in a batch", 1, 12),
    "idempotence": ("version", "InitProducerId", "an API of one capture alone", None, 5),
    "quota": ("outcome", "Produce", "throttled", False, True),
    "release": ("client", None, "software", "apache-kafka-java 3.9.2", "apache-kafka-java 4.4.0"),
    "isolation": ("request", "Fetch", "isolation_level", "READ_UNCOMMITTED", "READ_COMMITTED"),
    "least": ("request", "Fetch", "min_bytes", 1, 50000),
    "session": ("request", "JoinGroup", "session_timeout_ms", 45000, 6000),
    "assignor": ("request", "SyncGroup", "protocol_name", "range", "cooperative-sticky"),
    "protocol": ("version", "ConsumerGroupHeartbeat", "an API of one capture alone", None, 1),
}

RECORDINGS = CHECKOUT / "captures" / "pairs" / "recorded"
# What captures/pairs changes. The mock cluster takes ApiVersions of version 0 to 2 alone, which librdkafka
# asks for in version 3 first; aiokafka asks for version 0.
RECORDED = {
    "broker_rdkafka_writes": ("outcome", "ApiVersions", "answer", "no error", "UNSUPPORTED_VERSION"),
    "broker_rdkafka_reads": ("outcome", "ApiVersions", "answer", "no error", "UNSUPPORTED_VERSION"),
    "broker_aiokafka_writes": ("response", "ApiVersions", "api_keys[Produce].max_version", 13, 10),
    "release_rdkafka_writes": (
        "client", None, "software",
        "confluent-kafka-python 2.0.2-rdkafka-2.0.2", "confluent-kafka-python 2.16.1-rdkafka-2.16.0",
    ),
    "release_kafka_python_reads": ("client", None, "software", None, "kafka-python 3.0.12"),
    "release_java_reads": (
        "client", None, "software", "apache-kafka-java 2.8.2", "apache-kafka-java 4.4.0",
    ),
    "setting_rdkafka_codec": ("batch", "Produce", "codec", "none", "lz4"),
    "setting_rdkafka_protocol": (
        "version", "ConsumerGroupHeartbeat", "an API of one capture alone", None, 1,
    ),
    "setting_kafka_python_acks": ("request", "Produce", "acks", "ALL_ISR", "LEADER"),
    "setting_aiokafka_isolation": (
        "request", "Fetch", "isolation_level", "READ_UNCOMMITTED", "READ_COMMITTED",
    ),
    "setting_aiokafka_session": ("request", "JoinGroup", "session_timeout_ms", 10000, 25000),
}  # fmt: skip


def compared(capfd: pytest.CaptureFixture[str], *arguments: str) -> Facts:
    assert main(["diff", *arguments, "--format", "json"]) == OK
    found: Facts = json.loads(capfd.readouterr().out)
    return found


def pair(thing: str) -> tuple[str, ...]:
    return (PAIRS, "-Y", f'client_id == "{thing}-good"', "-Y", f'client_id == "{thing}-bad"')


def first_of(side: Facts | None) -> Any:
    if side is None:
        return None
    return side["p50"] if "p50" in side else side["values"][0]["value"]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("thing", CHANGED)
def test_what_was_changed_comes_first(thing: str, capfd: pytest.CaptureFixture[str]) -> None:
    first = compared(capfd, *pair(thing))["differences"][0]
    found = first["kind"], first["api"], first["what"], first_of(first["good"]), first_of(first["bad"])
    assert found == CHANGED[thing]
    assert first["clients"] == [f"{thing}-good / {thing}-bad"]


@pytest.mark.parametrize("name", RECORDED)
def test_what_was_changed_between_two_recordings_comes_first(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    halves = [str(RECORDINGS / f"{name}-{side}.pcapng.gz") for side in ("good", "bad")]
    first = compared(capfd, *halves)["differences"][0]
    found = first["kind"], first["api"], first["what"], first_of(first["good"]), first_of(first["bad"])
    assert found == RECORDED[name]
    assert first["clients"] == ["shop"]


def test_every_pair_that_is_recorded_is_held() -> None:
    assert RECORDED.keys() == PAIRS_ANEW.keys()
    for name, pair in PAIRS_ANEW.items():
        told = json.loads((RECORDINGS / f"{name}.pair.json").read_text())
        assert told["changed"] == pair.changed
        differs = [key for key in told["good"] if told["good"][key] != told["bad"][key]]
        assert differs == [
            {"broker": "broker", "release": "client", "setting": "settings"}[name.split("_")[0]]
        ]


def test_another_broker(capfd: pytest.CaptureFixture[str]) -> None:
    first, *_ = compared(capfd, capture("tansu_rdk216_txn"), capture("mock_rdk216_txn"))["differences"]
    assert (first["kind"], first["api"], first_of(first["bad"])) == (
        "outcome",
        "ApiVersions",
        "UNSUPPORTED_VERSION",
    )


def test_the_other_way_round_is_better(capfd: pytest.CaptureFixture[str]) -> None:
    filters = [
        word.replace("good", "x").replace("bad", "good").replace("x", "bad") for word in pair("quota")[1:]
    ]
    rows = compared(capfd, PAIRS, *filters)["differences"]
    (throttled,) = [row for row in rows if row["what"] == "throttled"]
    assert throttled["better"]
    assert rows[-1] == throttled


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", ["kafka44_java_groups", "tansu_rdk216_txn", "kafka44_java_tls13"])
def test_nothing_differs_from_itself(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert compared(capfd, capture(name), capture(name))["differences"] == []
    assert main(["diff", capture(name), capture(name), "--exit-code"]) == OK
    assert "nothing differs" in capfd.readouterr().out


@pytest.mark.exhaustive
def test_exit_code(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *pair("acks")]) == OK
    assert main(["diff", *pair("acks"), "--exit-code"]) == FINDINGS


def test_the_same_work_twice_differs_little(capfd: pytest.CaptureFixture[str]) -> None:
    """Two runs with the same settings: what differs is time, if anything."""
    rows = compared(capfd, PAIRS, "-Y", 'client_id == "acks-good"', "-Y", 'client_id == "batches-good"')
    assert {row["kind"] for row in rows["differences"]} <= {"time"}


@pytest.mark.parametrize(
    "arguments",
    [
        [PAIRS],
        [PAIRS, "-Y", "error"],
        [PAIRS, PAIRS, PAIRS],
        [PAIRS, PAIRS, "-Y", "error", "-Y", "error", "-Y", "error"],
        ["-", "-"],
    ],
    ids=["one", "one filter", "three", "three filters", "twice stdin"],
)
def test_two_are_compared(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *arguments]) == USAGE
    assert "two captures" in (err := capfd.readouterr().err) or "once" in err


@pytest.mark.exhaustive
def test_a_capture_that_is_missing_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    for arguments in (["no.pcap", PAIRS], [PAIRS, "no.pcap"]):
        assert main(["diff", *arguments]) not in (OK, FINDINGS)
        assert "no.pcap" in capfd.readouterr().err


def side_of(name: str, *apis: str) -> ClientSide:
    found = ClientSide(name)
    found.steps = {api: Step() for api in apis}
    return found


def test_alignment() -> None:
    good = [
        side_of("same"),
        side_of("app-1", "Produce"),
        side_of("app-2", "Produce"),
        side_of("a", "Fetch"),
        side_of("x", "Vote"),
    ]
    bad = [
        side_of("same"),
        side_of("app-8", "Fetch"),
        side_of("app-9", "Fetch"),
        side_of("b", "Fetch", "Metadata"),
        side_of("y", "Produce"),
    ]
    pairs = aligned({side.name: side for side in good}, {side.name: side for side in bad})
    named = [(one and one.name, other and other.name) for one, other in pairs]
    assert named == [
        ("same", "same"),
        ("app-1", "app-8"),
        ("app-2", "app-9"),
        ("a", "b"),
        ("x", None),
        (None, "y"),
    ]


def values_of(name: str, api_key: int) -> dict[str, Any]:
    """Return fields of the requests of an API by their paths."""
    found: dict[str, Any] = {}
    for exchange in Dissection(capture(name)):
        if exchange.api_key == api_key:
            found |= dict(body_values(exchange.request_body()))
    return found


def test_what_differs_in_every_run_is_left_out() -> None:
    found = values_of("kafka44_java_groups", 1)
    assert {
        "max_wait_ms",
        "min_bytes",
        "isolation_level",
        "topics[].partitions[].partition_max_bytes",
    } <= set(found)
    assert not [
        path for path in found if path.endswith(("epoch", "_offset", "session_id", "topic_id", "partition"))
    ]


def test_secret_configs_are_left_out() -> None:
    found = values_of("kafka44_java_admin", 44)
    assert "resources[].configs[retention.ms].value" in found
    assert "resources[].configs[no.such.config].config_operation" in found
    assert "resources[].configs[no.such.config].value" not in found


def test_an_idempotent_producer(capfd: pytest.CaptureFixture[str]) -> None:
    rows = compared(capfd, *pair("idempotence"))["differences"]
    (found,) = [row for row in rows if row["what"] == "idempotent"]
    assert (found["kind"], first_of(found["good"]), first_of(found["bad"])) == ("batch", False, True)


def _difference(kind: Kind, good: list[str], bad: list[str]) -> Difference:
    clients = ClientSide("client"), ClientSide("client")
    for client, values in zip(clients, (good, bad), strict=True):
        step = client.steps["Fetch"] = Step()
        step.count = len(values)
        for value in values:
            step.see(kind, "what", value, Example(value, 0, 0))
    sides = Side(), Side()
    (found,) = (one for one in differences(*sides, [clients]) if one.kind is kind)
    return found


def test_of_equal_outcomes_the_first_one_is_shown() -> None:
    names = [f"ERROR_{number}" for number in range(20)]
    found = _difference(Kind.OUTCOME, ["no error"] * 100, names * 10)
    assert isinstance(found.bad, Shares)
    assert found.bad.example is not None
    assert found.bad.example.connection == "ERROR_0"


def test_values_that_all_differ_are_a_share_of_one() -> None:
    for number in range(2, 9):
        names = [f"value {at}" for at in range(number)]
        assert _difference(Kind.RESPONSE, ["x"] * 7, names).share == 1.0
