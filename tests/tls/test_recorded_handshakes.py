"""Every order of handshake messages that OpenSSL, GnuTLS and Go put on the wire is followed."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.tls.listener import Listener, Secrets
from tests.tls.record_handshakes import RECORDED, SCENARIOS


def recorded(name: str) -> Any:
    return json.loads((RECORDED / f"{name}.json").read_text())


def wire_of(talk: Any) -> list[tuple[int, bytes]]:
    return [(direction, bytes.fromhex(data)) for direction, data in talk["wire"]]


def log_of(talk: Any, without: str = "no label") -> bytes:
    return "".join(f"{line}\n" for line in talk["keys"] if not line.startswith(f"{without} ")).encode()


def heard(listener: Listener) -> list[str]:
    return [sink.text.decode() for sink in listener.sinks]


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("segment", [1 << 20, 100])
def test_plaintext_is_what_was_said(name: str, segment: int) -> None:
    talk = recorded(name)
    listener = Listener(Secrets(log_of(talk))).hear(wire_of(talk), segment).end()
    assert heard(listener) == talk["said"]
    assert listener.info.why is None
    assert listener.info.bad_records == 0


def records(wire: list[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Yield each TLS record alone: a header of 5 bytes ends with the length (RFC 8446 section 5.1)."""
    for direction, data in wire:
        at = 0
        while at < len(data):
            end = at + 5 + int.from_bytes(data[at + 3 : at + 5])
            yield direction, data[at:end]
            at = end


@pytest.mark.parametrize("name", [name for name in SCENARIOS if "early_data" not in name])
def test_a_handshake_after_which_nothing_is_said_is_finished(name: str) -> None:
    talk = recorded(name)
    secrets, wire = Secrets(log_of(talk)), list(records(wire_of(talk)))
    ended = [Listener(secrets).hear(wire[:length], 1 << 20).end() for length in range(2, len(wire))]
    silent = [listener for listener in ended if heard(listener) == ["", ""]]
    assert silent[0].info.why == "the handshake did not finish"
    assert silent[-1].info.why is None


TRAFFIC = ["CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"]
OF_13 = [name for name in SCENARIOS if "renegotiation" not in name]


@pytest.mark.parametrize("label", TRAFFIC)
@pytest.mark.parametrize("name", OF_13)
def test_a_log_that_lacks_one_direction_opens_neither(name: str, label: str) -> None:
    talk = recorded(name)
    listener = Listener(Secrets(log_of(talk, without=label))).hear(wire_of(talk)).end()
    assert listener.info.why == f"the key log lacks {label} for this connection"
    assert not listener.info.is_decrypted
    assert not listener.sinks[0].text + listener.sinks[1].text


@pytest.mark.parametrize("length", [1, 31])
@pytest.mark.parametrize("label", TRAFFIC)
def test_a_secret_that_was_cut_while_it_was_written_is_none(label: str, length: int) -> None:
    talk = recorded("go_retry")
    lines = [f"{x[: -2 * length]}" if x.startswith(label) else x for x in talk["keys"]]
    listener = Listener(Secrets("".join(f"{x}\n" for x in lines).encode())).hear(wire_of(talk)).end()
    assert listener.info.why == f"the key log lacks {label} for this connection"


def test_secrets_of_later_keys_alone_open_nothing() -> None:
    talk = recorded("openssl_key_updates")
    lines = [x.replace("TRAFFIC_SECRET_0", "TRAFFIC_SECRET_N") for x in talk["keys"]]
    log = "".join(f"{x}\n" for x in lines if "TRAFFIC_SECRET_N" in x).encode()
    listener = Listener(Secrets(log)).hear(wire_of(talk)).end()
    both = " and ".join(TRAFFIC)
    assert listener.info.why == f"the key log lacks {both} for this connection"


def test_accepted_early_data_needs_its_secret() -> None:
    talk = recorded("openssl_early_data_accepted")
    listener = Listener(Secrets(log_of(talk, "CLIENT_EARLY_TRAFFIC_SECRET"))).hear(wire_of(talk)).end()
    assert listener.info.why == "the key log lacks CLIENT_EARLY_TRAFFIC_SECRET for this connection"
    assert heard(listener) == ["", ""]


def test_a_renegotiation_has_secrets_of_its_own() -> None:
    talk = recorded("openssl_renegotiation_by_client")
    first = f"{talk['keys'][0]}\n".encode()
    listener = Listener(Secrets(first)).hear(wire_of(talk)).end()
    assert listener.info.why == "the key log has no secrets for a renegotiation"
    assert heard(listener) == ["question 0\nquestion 1\n", "answer 0\nanswer 1\n"]
    assert len(listener.info.sessions) > 1
