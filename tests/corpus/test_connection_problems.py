"""Why connections came to nothing: each reason as real software shows it, and none where nothing failed."""

import struct
from collections import Counter
from pathlib import Path
from typing import Any

import dpkt
import pytest

from captures.record.corpus import CORPUS_KEYS, Capture, captures
from kdissect.api import Dissection
from kdissect.cli.captures.problems_text import packets_of
from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.model.packets.packet import ref_number
from kdissect.stats.failed_connections import Diagnosis
from tests.support.console import CAPTURES

PLAIN, TLS = "kafka44_connect_plain", "kafka44_connect_tls"
CORPUS = captures()
FIN, SYN, RST, ACK = 1, 2, 4, 16

# What other captures hold that came to nothing, beside refused connections (proven packet by packet below).
OTHERS = {
    "kafka44_franz_raw.pcapng": {"closed_at_once": 2},  # Produce v1 and v2, which Kafka 4 closes at
    "kafka44_franz_sasl.pcapng": {"login_refused": 2},  # the intruder of its truth
    # Health checks, and PROXY headers to brokers.
    "kafka44_haproxy.pcapng": {"probe": 11, "proxy_refused": 6},
    # The errors of its truth: a wrong password, a mechanism that the listener does not have.
    "kafka44_java_refused.pcapng": {"login_refused": 4, "mechanism_refused": 2},
    "kafka44_java_sasl.pcapng": {"login_refused": 6},  # the wrong passwords of its truth
    "kafka44_misrouted.pcapng": {"wrong_cluster": 8},  # clients at the other cluster's address, by its truth
    "kafka44_rdkafka_transactions.pcapng": {"probe": 1},  # librdkafka connects, and is closed by its program
}


def problems(path: Path) -> tuple[Dissection, list[ConnectionProblem]]:
    """Return the output of `connections --problems` for a capture."""
    keys = CORPUS_KEYS.get(path.name)
    dissection, diagnosis = Dissection(str(path), key_logs=[] if keys is None else [str(keys)]), Diagnosis()
    found = [one for event in dissection.events() for one in diagnosis.add(event)]
    return dissection, [*found, *diagnosis.finish()]


def of(stem: str) -> tuple[dict[str, Any], list[ConnectionProblem]]:
    """Return the truth of a capture, and its problems in the order of time."""
    (capture,) = (each for each in CORPUS if each.path.name.startswith(stem))
    return capture.truth, sorted(problems(capture.path)[1], key=lambda one: one.connection.start_ns)


def reasons(found: list[ConnectionProblem], role: int) -> set[str]:
    """Return those of the port with this role (`captures.record.spec`), of one node."""
    return {str(one.problem.reason) for one in found if one.connection.broker.port % 10 == role}


def by_client(found: list[ConnectionProblem]) -> dict[str, set[tuple[str, str]]]:
    """Reasons and facts by the client id, of connections that tell one."""
    told: dict[str, set[tuple[str, str]]] = {}
    for one in found:
        if one.connection.client_id:
            fact = str(one.problem.reason), one.problem.fact
            told.setdefault(one.connection.client_id, set()).add(fact)
    return told


@pytest.mark.parametrize("kind", ["mechanism", "password", "without", "nowhere"])
def test_each_client_that_says_who_it_is(kind: str) -> None:
    """By its own account each of them failed."""
    truth, found = of(PLAIN)
    failed = {each["client_id"] for each in truth["errors"]}
    failed |= {each["client_id"] for each in truth["events"] if each.get("outcome") != "ok"}
    wanted = {
        "mechanism": (
            "mechanism_refused",
            "the client asked for the SASL mechanism SCRAM-SHA-256, and the broker has PLAIN, SCRAM-SHA-512",
        ),
        "password": (
            "login_refused",
            "the broker refused the login {} as bob with SASL_AUTHENTICATION_FAILED",
        ),
        "without": ("closed_at_once", "the broker closed (fin) without an answer to Metadata v13"),
        "nowhere": ("advertised_untried", "the client received kafka-1.nowhere.invalid:"),
    }[kind]
    told = by_client(found)
    # kafka-python asks once, and gives up: no proof that it never tries
    names = {name for name in failed if name.startswith(f"{kind}-")} - {"nowhere-k"}
    assert len(names) == {"mechanism": 4, "password": 4, "without": 3, "nowhere": 1}[kind]
    for name in names:
        ((reason, fact),) = told[name]
        mechanism = "SCRAM-SHA-512" if name.endswith("-j") else "PLAIN"
        assert reason == wanted[0]
        assert fact.startswith(wanted[1].format(mechanism))


def test_what_never_says_a_word_of_kafka() -> None:
    """Five clients speak TLS to the plaintext port, then HTTP, a probe and a host that may not connect."""
    truth, found = of(PLAIN)
    on_plain = [one for one in found if one.connection.broker.port % 100 == 12]
    assert all(one.is_kafka for one in on_plain)
    counts = Counter(str(one.problem.reason) for one in on_plain)
    assert counts["tls_to_plaintext"] >= len(
        [c for c in truth["clients"] if c["client_id"].startswith("tls-")]
    )
    assert (counts["http"], counts["probe"], counts["closed_at_once"]) == (1, 1, 1)
    (by_openssl,) = (one for one in on_plain if "for kafka-1.example" in one.problem.fact)
    assert by_openssl.problem.reason == "tls_to_plaintext"
    (banned,) = (one for one in on_plain if one.problem.reason == "closed_at_once")
    assert banned.connection.client.host == "127.0.0.9"


def test_addresses_where_nobody_is() -> None:
    """Refused before anybody was told of the port, and behind answers that told it; and a silent port."""
    _, found = of(PLAIN)
    dead = [one for one in found if one.connection.broker.port % 100 == 16]
    assert [str(one.problem.reason) for one in dead[:1]] == ["refused"]
    assert {str(one.problem.reason) for one in dead} == {"refused", "advertised_unreached"}
    told = [one for one in dead if one.advertised is not None]
    assert told and all(one.advertised.node == 1 for one in told if one.advertised is not None)
    full = [one for one in found if one.connection.broker.port % 100 == 17]
    facts = {one.problem.fact.partition(";")[0] for one in full if one.advertised is not None}
    assert facts == {"the client sent its SYN again, and no answer came"}


def test_plaintext_to_tls_names_the_alert() -> None:
    _, found = of(TLS)
    told = by_client(found)
    assert set(told) == {"plain-j", "plain-k", "plain-r", "plain-a"}
    fact = "the client speaks plaintext, and the broker answered with the TLS alert internal_error"
    assert all(facts == {("plaintext_to_tls", fact)} for facts in told.values())


def test_handshakes_that_somebody_broke_off() -> None:
    """Java, kafka-python, librdkafka, aiokafka and openssl; the last three are openssl's own words."""
    truth, found = of(TLS)
    facts = [one.problem.fact for one in found if one.connection.client_id is None]
    name = "the certificate names kafka-1.example, not"
    for how in ("with certificate_unknown", "with bad_certificate", "by closing (fin)"):
        assert f"the client ended the TLS handshake {how}; {name} 127.0.0.1" in facts
    assert f"the client ended the TLS handshake with bad_certificate; {name} kafka-2.example" in facts
    said = {each["client_id"]: each["outcome"] for each in truth["events"]}
    assert "hostname mismatch" in said["name-o"] and "hostname mismatch" in said["name13-o"]
    assert "self-signed certificate" in said["stranger-o"]
    assert facts.count("the client ended the TLS handshake with unknown_ca") == 1
    assert "protocol version" in said["old-o"]
    assert facts.count("the broker ended the TLS handshake with protocol_version") == 1
    assert facts.count("the broker ended the TLS handshake with bad_certificate") == 1  # none was sent


def test_tls_13_tells_with_its_keys_alone() -> None:
    path = next(each.path for each in CORPUS if each.path.name.startswith(TLS))
    with_keys = problems(path)[1]
    dissection, diagnosis = Dissection(str(path)), Diagnosis()
    without = [one for event in dissection.events() for one in diagnosis.add(event)] + diagnosis.finish()
    assert reasons(with_keys, 7) - reasons(without, 7) == {"certificate_name"}


@pytest.mark.sampled(16)
@pytest.mark.parametrize("capture", CORPUS, ids=lambda capture: capture.path.name)
def test_no_reason_is_given_where_nothing_failed(capture: Capture) -> None:
    dissection, found = problems(capture.path)
    counts = Counter(str(one.problem.reason) for one in found)
    refused = [one for one in found if one.problem.reason == "refused"]
    if not capture.path.name.startswith((PLAIN, TLS)):
        del counts["refused"]
        assert counts == OTHERS.get(capture.path.name, {})
    packets = packets_of(dissection, refused)
    flags = flags_of(capture.path) if refused else {}
    for one in refused:
        assert [flags[ref_number(ref)] for ref in packets[one.connection.id]] == [SYN, RST | ACK]


def flags_of(path: Path) -> dict[int, int]:
    """TCP flags by the number of the packet, read without kdissect."""
    import gzip

    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    found, at, number = {}, 0, 0
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == 6:  # enhanced packet block
            number += 1
            (length,) = struct.unpack_from("<I", data, at + 20)
            segment = dpkt.ethernet.Ethernet(data[at + 28 : at + 28 + length]).data.data
            found[number] = segment.flags if isinstance(segment, dpkt.tcp.TCP) else 0
        at += size
    return found


def test_the_captures_are_small() -> None:
    for stem in (PLAIN, TLS):
        assert (CAPTURES / f"{stem}.pcapng").stat().st_size < 160_000
