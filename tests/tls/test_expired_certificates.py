"""A handshake that fails at the dates of a certificate, between two ends of OpenSSL."""

import ssl
from pathlib import Path

import pytest

openssl = pytest.importorskip("tests.tls.openssl", reason="needs cryptography")

from kdissect.engine.analyzer import Analyzer  # noqa: E402
from kdissect.session.events import ConnectionClosed  # noqa: E402
from kdissect.session.problem import Problem, Reason  # noqa: E402
from tests.support.messages.traffic import BROKER, CLIENT, Conversation  # noqa: E402
from tests.tls.listener import Secrets  # noqa: E402

IN_2026 = 1_775_000_000_000_000_000  # 31 March
IN_2025 = IN_2026 - 365 * 86_400 * 1_000_000_000
Wire = list[tuple[int, bytes]]
SERVER, CLIENTS = "broker.test", "alice"


def refused(folder: Path, expired: str, trusted: bool = True) -> tuple[Wire, bytes]:
    """Return the bytes of a handshake of TLS 1.2, in which one end's certificate is valid for a day, and the
    key log.
    """
    server, client = (ssl.SSLContext(kind) for kind in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT))
    pems = {
        name: openssl.certificate(folder, name, "ec", 1 if name == expired else 36500)
        for name in (SERVER, CLIENTS)
    }
    for context, own, other in ((server, SERVER, CLIENTS), (client, CLIENTS, SERVER)):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(pems[own])
        if trusted:
            context.load_verify_locations(pems[other])
    server.verify_mode = ssl.CERT_REQUIRED
    client.keylog_filename = str(folder / "keys.log")
    halves = [(ssl.MemoryBIO(), ssl.MemoryBIO()) for _ in range(2)]
    ends = (
        client.wrap_bio(*halves[0], server_hostname=SERVER),
        server.wrap_bio(*halves[1], server_side=True),
    )
    wire: Wire = []
    failed = False
    while not failed:
        for side, end in enumerate(ends):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError:
                failed = True
            data = halves[side][1].read()
            if data:
                wire.append((side, data))
                halves[1 - side][0].write(data)
    return wire, (folder / "keys.log").read_bytes()


def problem_of(made: tuple[Wire, bytes], at_ns: int, *, keys: bool = False) -> Problem:
    """Return the problem of a connection with these bytes at a time."""
    wire, log = made
    analyzer = Analyzer(secrets=Secrets(log) if keys else None)
    talk = Conversation().handshake()
    for side, data in wire:
        (talk.client if side == 0 else talk.broker)(data)
    talk.fin(CLIENT if wire[-1][0] == 0 else BROKER)
    first_ns = talk.packets[0].time_ns
    moved = [packet._replace(time_ns=at_ns + packet.time_ns - first_ns) for packet in talk.packets]
    events = [event for packet in moved for event in analyzer.feed(packet)] + analyzer.close()
    (closed,) = (event for event in events if isinstance(event, ConnectionClosed))
    assert closed.problem is not None
    return closed.problem


def test_the_client_refuses_an_expired_certificate_of_the_broker(tmp_path: Path) -> None:
    found = problem_of(refused(tmp_path, SERVER), IN_2026)
    assert (found.reason, found.by) == (Reason.CERTIFICATE_EXPIRED, "client")
    assert found.fact == (
        "the client ended the TLS handshake with certificate_expired; the certificate was valid until"
        " 2026-01-02T00:00:00Z"
    )


def test_the_broker_refuses_an_expired_certificate_of_the_client(tmp_path: Path) -> None:
    # Behind encrypted records of the client, without whose keys the connection is not read any more.
    found = problem_of(refused(tmp_path, CLIENTS), IN_2026, keys=True)
    assert (found.reason, found.by) == (Reason.CERTIFICATE_EXPIRED, "broker")
    assert found.fact.endswith("the certificate was valid until 2026-01-02T00:00:00Z")


def test_the_certificate_is_not_valid_yet_when_the_packets_were_captured(tmp_path: Path) -> None:
    found = problem_of(refused(tmp_path, SERVER), IN_2025)
    assert found.reason is Reason.CERTIFICATE_EXPIRED
    assert found.fact.endswith("the certificate is valid from 2026-01-01T00:00:00Z on")


def test_dates_are_no_reason_for_another_alert(tmp_path: Path) -> None:
    found = problem_of(refused(tmp_path, "", trusted=False), IN_2025)
    assert found.reason is Reason.TLS_REFUSED
    assert "unknown_ca" in found.fact
    assert "valid" not in found.fact


def test_a_certificate_that_is_valid_is_no_reason(tmp_path: Path) -> None:
    found = problem_of(refused(tmp_path, SERVER), 1_767_300_000_000_000_000)  # 1 January 2026
    assert found.reason is Reason.TLS_REFUSED
