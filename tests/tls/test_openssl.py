"""What OpenSSL encrypts is what comes out, for each suite and both versions."""

import pickle
import ssl
from pathlib import Path

import pytest

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.packets.stream import UNKNOWN_LENGTH
from kdissect.tls.hello import RETRY_RANDOM
from tests.tls.listener import Listener, Secrets
from tests.tls.openssl import CLIENT, SERVER, Conversation, Peers

V12, V13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
LINES = [
    (CLIENT, b"question " * 40),
    (SERVER, b"answer " * 9000),  # more than one record
    (CLIENT, b"x"),
    (SERVER, b"y" * 17),
    (CLIENT, b"more " * 10000),
    (SERVER, b"z"),
]
RSA_12 = [
    "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305",
    "AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-CCM", "AES256-CCM",
    "AES128-CCM8", "AES256-CCM8", "ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES256-SHA", "ECDHE-RSA-AES128-SHA256",
    "ECDHE-RSA-AES256-SHA384", "AES128-SHA", "AES256-SHA", "AES128-SHA256", "AES256-SHA256",
]  # fmt: skip
EC_12 = [
    "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-ECDSA-AES128-CCM", "ECDHE-ECDSA-AES256-SHA384", "ECDHE-ECDSA-AES128-SHA",
]  # fmt: skip


@pytest.fixture(scope="module")
def talk_13(tmp_path_factory: pytest.TempPathFactory) -> Conversation:
    return Peers(tmp_path_factory.mktemp("tls13"), V13).talk(LINES)


@pytest.fixture(scope="module")
def talk_12(tmp_path_factory: pytest.TempPathFactory) -> Conversation:
    return Peers(tmp_path_factory.mktemp("tls12"), V12, "ECDHE-RSA-AES128-GCM-SHA256").talk(LINES)


def heard(listener: Listener) -> tuple[bytes, bytes]:
    return listener.sinks[0].text, listener.sinks[1].text


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("suite", "kind"), [*((s, "rsa") for s in RSA_12), *((s, "ec") for s in EC_12)])
def test_suites_of_tls_12(tmp_path: Path, suite: str, kind: str) -> None:
    talk = Peers(tmp_path, V12, suite, kind).talk(LINES)
    assert talk.suite == suite
    listener = Listener(Secrets(talk.key_log)).hear(talk.wire, 1460).end()
    assert heard(listener) == talk.said
    assert listener.info.version == "TLS 1.2"
    assert listener.info.why is None
    assert listener.noted == []


def test_tls_13(talk_13: Conversation) -> None:
    listener = Listener(Secrets(talk_13.key_log)).hear(talk_13.wire, 1460).end()
    assert heard(listener) == talk_13.said
    info = listener.info
    assert (info.version, info.sni, info.alpn, info.why) == ("TLS 1.3", "broker.test", "kafka", None)
    assert info.certificates == ("CN=broker.test", "broker.test")
    assert info.alerts == {("client", "close_notify"): 1, ("server", "close_notify"): 1}
    assert info.close_notify is not None
    assert info.close_notify[0] == ("client", "server")[talk_13.wire[-2][0]]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("segment", [1, 7, 100, 1460, 1 << 20])
def test_segments_do_not_matter(talk_12: Conversation, talk_13: Conversation, segment: int) -> None:
    for talk in (talk_12, talk_13):
        assert heard(Listener(Secrets(talk.key_log)).hear(talk.wire, segment)) == talk.said


def test_each_byte_keeps_its_packet(talk_12: Conversation) -> None:
    whole = Listener(Secrets(talk_12.key_log)).hear(talk_12.wire)
    cut = Listener(Secrets(talk_12.key_log)).hear(talk_12.wire, 1000)
    assert len(cut.sinks[1].refs) > len(whole.sinks[1].refs)
    refs = [ref for _, ref in cut.sinks[1].refs]
    assert refs == sorted(refs)
    sizes = [size for size, _ in cut.sinks[1].refs]
    assert max(sizes) <= 1000


def test_mutual_tls_names_the_client(tmp_path: Path) -> None:
    for version in (V12, V13):
        peers = Peers(tmp_path, version)
        peers.ask_for_certificate(tmp_path)
        talk = peers.talk(LINES)
        listener = Listener(Secrets(talk.key_log)).hear(talk.wire)
        assert heard(listener) == talk.said
        assert listener.info.client_certificates == ("CN=alice", "alice")


def test_resumption(tmp_path: Path) -> None:
    for version in (V12, V13):
        peers = Peers(tmp_path, version)
        first = peers.talk(LINES)
        again = peers.talk(LINES, peers.session)
        listener = Listener(Secrets(again.key_log)).hear(again.wire)
        assert heard(listener) == again.said
        assert len(again.wire[1][1]) < len(first.wire[1][1])  # no certificate was sent
        if version is V12:
            assert listener.info.is_resumed


def retrying(folder: Path) -> Peers:
    """Peers whose server asks for another key share (HelloRetryRequest, RFC 8446 section 4.1.4)."""
    peers = Peers(folder, V13)
    peers.server_context.set_ecdh_curve("secp521r1")
    return peers


def test_retry(tmp_path: Path) -> None:
    talk = retrying(tmp_path).talk(LINES)
    assert RETRY_RANDOM in talk.wire[1][1]
    for segment in (1, 1460, 1 << 20):
        listener = Listener(Secrets(talk.key_log)).hear(talk.wire, segment).end()
        assert heard(listener) == talk.said
        assert (listener.info.why, listener.noted) == (None, [])


def test_retry_with_a_resumption_and_a_certificate_of_the_client(tmp_path: Path) -> None:
    peers = retrying(tmp_path)
    peers.ask_for_certificate(tmp_path)
    peers.talk(LINES)
    again = peers.talk(LINES, peers.session)
    listener = Listener(Secrets(again.key_log)).hear(again.wire).end()
    assert heard(listener) == again.said
    assert (listener.info.why, listener.noted) == (None, [])


def test_retry_with_secrets_that_come_late(tmp_path: Path) -> None:
    talk = retrying(tmp_path).talk(LINES)
    secrets = Secrets(b"", may_grow=True)
    listener = Listener(secrets).hear(talk.wire[:4])
    secrets.log.feed(talk.key_log)
    assert heard(listener.hear(talk.wire[4:]).end()) == talk.said


def test_secrets_that_come_late(talk_13: Conversation, talk_12: Conversation) -> None:
    for talk in (talk_12, talk_13):
        secrets = Secrets(b"", may_grow=True)
        listener = Listener(secrets)
        half = len(talk.wire) - 6
        listener.hear(talk.wire[:half])
        assert heard(listener) == (b"", b"")
        for line in talk.key_log.splitlines(keepends=True):
            secrets.log.feed(line)
        listener.hear(talk.wire[half:])
        assert heard(listener) == talk.said


def test_waiting_is_bounded(talk_13: Conversation) -> None:
    listener = Listener(Secrets(b"", may_grow=True)).hear(talk_13.wire)
    assert listener.opaque == 1
    assert listener.info.why == "the key log has no secrets for the connection's client random"


def test_without_any_log(talk_12: Conversation) -> None:
    listener = Listener(None).hear(talk_12.wire).end()
    assert (listener.info.why, listener.opaque) == ("no key log", 1)
    assert listener.info.certificates == ("CN=broker.test", "broker.test")


def test_log_of_other_sessions(talk_12: Conversation, talk_13: Conversation) -> None:
    listener = Listener(Secrets(talk_12.key_log)).hear(talk_13.wire).end()
    assert listener.info.why == "the key log has no secrets for the connection's client random"


def _replaced(log: bytes, label: bytes) -> bytes:
    lines = []
    for line in log.splitlines():
        words = line.split()
        if words and words[0].endswith(label):
            words[2] = b"42" * (len(words[2]) // 2)
        lines.append(b" ".join(words))
    return b"\n".join(lines) + b"\n"


@pytest.mark.parametrize("label", [b"CLIENT_RANDOM", b"TRAFFIC_SECRET", b"TRAFFIC_SECRET_0"])
def test_wrong_secrets(talk_12: Conversation, talk_13: Conversation, label: bytes) -> None:
    talk = talk_12 if label == b"CLIENT_RANDOM" else talk_13
    log = _replaced(talk.key_log, label)
    assert log != talk.key_log
    listener = Listener(Secrets(log)).hear(talk.wire).end()
    assert heard(listener) == (b"", b"")
    assert listener.info.why in (
        "the secrets in the key log do not fit the connection",
        "8 records in a row do not open",
    )
    assert listener.noted[0][0] is AnomalyKind.TLS_BAD_RECORD


def test_log_without_the_handshake(talk_13: Conversation) -> None:
    lines = talk_13.key_log.splitlines(keepends=True)
    partial = b"".join(line for line in lines if b"HANDSHAKE" not in line)
    listener = Listener(Secrets(partial)).hear(talk_13.wire).end()
    assert heard(listener) == talk_13.said
    assert listener.noted == []


def test_log_by_session_id(talk_12: Conversation) -> None:
    """As agents for Java write it. The id stands behind 43 bytes of the ServerHello's record."""
    hello = talk_12.wire[1][1]
    assert hello[43] == 0  # OpenSSL gives out tickets and no id
    session_id = bytes(range(32))
    changed = hello[:43] + b"\x20" + session_id + hello[44:]
    size, message = int.from_bytes(hello[3:5]) + 32, int.from_bytes(hello[6:9]) + 32
    changed = hello[:3] + size.to_bytes(2) + hello[5:6] + message.to_bytes(3) + changed[9:]
    wire = [talk_12.wire[0], (SERVER, changed), *talk_12.wire[2:]]
    master = talk_12.key_log.split()[-1]
    log = b"RSA Session-ID:" + session_id.hex().upper().encode() + b" Master-Key:" + master.upper() + b"\n"
    assert heard(Listener(Secrets(log)).hear(wire)) == talk_12.said


@pytest.mark.parametrize("end", ["CLIENT", "SERVER"])
def test_log_with_one_side_only(talk_13: Conversation, end: str) -> None:
    """Half a conversation looks as if the other end did not answer: none of it is read."""
    lines = talk_13.key_log.splitlines(keepends=True)
    partial = b"".join(line for line in lines if not line.startswith(f"{end}_TRAFFIC".encode()))
    listener = Listener(Secrets(partial)).hear(talk_13.wire, 1460).end()
    assert heard(listener) == (b"", b"")
    assert listener.info.why == f"the key log lacks {end}_TRAFFIC_SECRET_0 for this connection"
    assert (listener.info.is_decrypted, listener.opaque) == (False, 1)


def test_log_that_was_copied_while_a_line_was_written(talk_13: Conversation) -> None:
    lines = talk_13.key_log.splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith(b"SERVER_TRAFFIC"))
    cut = b"\n".join([*lines[:at], lines[at][:-20]]) + b"\n"
    listener = Listener(Secrets(cut)).hear(talk_13.wire).end()
    assert heard(listener) == (b"", b"")
    assert listener.info.why is not None
    assert listener.info.why.startswith("the key log lacks ")


def test_start_in_the_middle(talk_12: Conversation) -> None:
    listener = Listener(Secrets(talk_12.key_log)).hear(talk_12.wire[-6:]).end()
    assert listener.info.why == "the handshake is not in the capture"


def test_handshake_with_a_hole(talk_12: Conversation) -> None:
    listener = Listener(Secrets(talk_12.key_log)).hear(talk_12.wire[:1])
    listener.miss(SERVER, len(talk_12.wire[1][1]))
    listener.hear(talk_12.wire[2:]).end()
    assert listener.info.why == "bytes of the handshake are missing from the capture"


@pytest.mark.parametrize("version", [12, 13])
@pytest.mark.parametrize(("at", "length"), [(300, 1000), (20000, 3000), (40, 40000), (16384, 17000)])
def test_a_hole_costs_its_bytes(
    talk_12: Conversation, talk_13: Conversation, version: int, at: int, length: int
) -> None:
    talk = talk_12 if version == 12 else talk_13
    listener = Listener(Secrets(talk.key_log))
    for number, (direction, data) in enumerate(talk.wire):
        if len(data) < 50000 or direction == CLIENT:
            listener.hear([(direction, data)])
            continue
        assert number < len(talk.wire) - 4
        listener.hear([(direction, data[:at])])
        listener.miss(direction, length)
        listener.hear([(direction, data[at + length :])], 1460)
    sink = listener.sinks[SERVER]
    (hole,) = sink.holes
    assert hole >= length * 0.9
    # To the byte: what stands around the hole is the beginning and the end of what was said.
    before, after = sink.parts[: sink.parts.index(hole)], sink.parts[sink.parts.index(hole) + 1 :]
    head, tail = b"".join(before), b"".join(after)
    assert talk.said[SERVER].startswith(head)
    assert talk.said[SERVER].endswith(tail)
    assert len(head) + hole + len(tail) == len(talk.said[SERVER])
    assert listener.sinks[CLIENT].text == talk.said[CLIENT]


def test_a_hole_with_cbc(tmp_path: Path) -> None:
    talk = Peers(tmp_path, V12, "AES128-SHA256").talk(LINES)
    listener = Listener(Secrets(talk.key_log))
    for direction, data in talk.wire:
        if direction == SERVER and len(data) > 50000:
            listener.hear([(direction, data[:100])])
            listener.miss(direction, 20000)
            listener.hear([(direction, data[20100:])])
        else:
            listener.hear([(direction, data)])
    assert listener.sinks[SERVER].holes == [UNKNOWN_LENGTH]
    assert talk.said[SERVER].endswith(listener.sinks[SERVER].text[-30000:])


def test_a_damaged_record_costs_itself(talk_13: Conversation) -> None:
    index = max(range(len(talk_13.wire)), key=lambda i: len(talk_13.wire[i][1]))
    direction, data = talk_13.wire[index]
    damaged = bytearray(data)
    damaged[100] ^= 1
    wire = [*talk_13.wire[:index], (direction, bytes(damaged)), *talk_13.wire[index + 1 :]]
    listener = Listener(Secrets(talk_13.key_log)).hear(wire).end()
    sink = listener.sinks[direction]
    assert len(sink.text) + sum(sink.holes) == len(talk_13.said[direction])
    assert listener.info.bad_records == 1
    assert listener.info.why is None


def test_an_alert_in_the_middle(tmp_path: Path) -> None:
    peers = Peers(tmp_path, V13)
    peers.client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody
    peers.client_context.keylog_filename = str(peers.log)
    with pytest.raises(ssl.SSLCertVerificationError):
        peers.talk(LINES)
    listener = Listener(Secrets(peers.log.read_bytes())).hear(peers.wire).end()
    assert listener.noted == [(AnomalyKind.TLS_ALERT, "client sent unknown_ca")]
    both = "CLIENT_TRAFFIC_SECRET_0 and SERVER_TRAFFIC_SECRET_0"
    assert listener.info.why == f"the key log lacks {both} for this connection"


def test_an_alert_in_plaintext_is_read_without_keys(tmp_path: Path) -> None:
    """OpenSSL's client encrypts only from its Finished on (RFC 8446 section 6.2 asks for no more)."""
    peers = Peers(tmp_path, V13)
    peers.client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody
    with pytest.raises(ssl.SSLCertVerificationError):
        peers.talk(LINES)
    listener = Listener(Secrets(b"")).hear(peers.wire).end()
    assert listener.noted == [(AnomalyKind.TLS_ALERT, "client sent unknown_ca")]
    assert listener.info.why == "no key log"


def test_pickled_between_segments(talk_12: Conversation, talk_13: Conversation) -> None:
    for talk in (talk_12, talk_13):
        listener = Listener(Secrets(talk.key_log))
        for piece in talk.wire:
            listener.hear([piece], 4000)
            listener = pickle.loads(pickle.dumps(listener))
        assert heard(listener) == talk.said
