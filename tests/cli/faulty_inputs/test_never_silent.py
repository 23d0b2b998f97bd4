"""What could not be looked into is one line on stderr for each kind, whatever the command."""

import gzip
import json
import re
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import pytest

import kdissect
from kdissect.capture.files import CaptureSet
from kdissect.cli import main
from kdissect.model.errors import CaptureWarning
from kdissect.model.packets.packet import Packet, PlainPacket, packet_ref
from tests.support.console import CAPTURES, CHECKOUT, TXN
from tests.support.messages.traffic import START_NS, Conversation, request, response
from tests.support.packets.pcaps import pcap_bytes

TLS, KEYS = CAPTURES / "kafka44_java_tls13.pcapng", CAPTURES / "kafka44_java_tls13.keys"
OTHER_KEYS = CAPTURES / "kafka44_java_tls12.keys"
GROUPS = str(CAPTURES / "kafka44_java_groups.pcapng")
COMMANDS = (
    "inspect", "inspect --format jsonl --jobs 2", "info", "connections", "records", "stats", "topics",
    "groups", "producers", "fetch-sessions", "logins", "changes", "access",
    "offsets", "delay", "mirror", "upgrade --target 4.0", "check",
    "extract -o {}/x.pcapng", "extract --connections -o {}/x.pcapng", "tables --output {}/tables --overwrite",
    "live -",
)  # fmt: skip
OPENS = "a key log (--keylog) with the secrets of their sessions opens them (docs/tls.md)"
KEYLESS = "{} TLS without keys ({}); " + OPENS


class Said:
    """What a command says on stderr, without the capture that `live` sums up and the verdict's own line."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._capfd = capfd

    def __call__(self, command: str, path: Path | str, *more: str) -> list[str]:
        words = [word.format(self._folder) for word in command.split()]
        if words[0] == "live":
            told = _said_of_standard_input([*words, *more], Path(path).read_bytes())
        else:
            main([*words, str(path), *more])
            told = self._capfd.readouterr().err
        others = (
            "kdissect: capturing on",
            "kdissect: exit code 4",
            "kdissect: left out",
            "kdissect: no exchange",
            "kdissect: analysis is",  # so many seconds behind the capture: how busy the machine is
        )
        lines = told.splitlines()
        return [line for line in lines if not line.startswith(others) and " captured (" not in line]


def _said_of_standard_input(words: list[str], packets: bytes) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "kdissect", *words], input=packets, capture_output=True, check=False
    )
    return ran.stderr.decode()


@pytest.fixture
def said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Said:
    return Said(tmp_path, capfd)


def warning(text: str) -> str:
    return f"kdissect: warning: {text}"


def foreign() -> list[Packet]:
    """Return two HTTP clients, one SSH, one of something else, one Kafka; a SYN says nothing."""
    ask = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    noise = bytes(range(200, 256)) * 4
    talks = [
        Conversation(ports=(40001, 9092)).handshake().client(ask).broker(b"HTTP/1.1 200 OK\r\n\r\n"),
        Conversation(ports=(40002, 9092)).handshake().client(ask).broker(b"HTTP/1.1 200 OK\r\n\r\n"),
        Conversation(ports=(40003, 22))
        .handshake()
        .broker(b"SSH-2.0-OpenSSH_9.6\r\n")
        .client(b"SSH-2.0-x\r\n"),
        Conversation(ports=(40004, 7000)).handshake().client(noise).broker(noise),
        Conversation(ports=(40005, 9094)).handshake().client(request(18, 0, 7)).broker(response(7, bytes(6))),
        Conversation(ports=(40006, 9095)).packet(0, flags=2),
    ]
    return list(chain.from_iterable(talk.packets for talk in talks))


def wrapped() -> list[Packet]:
    """IPv4 packets with encrypted payload (ESP, RFC 4303)."""
    head = (
        bytes(12)
        + b"\x08\x00"
        + struct.pack(">BBHHHBBH4s4s", 0x45, 0, 60, 1, 0, 64, 50, 0, b"\n\0\0\1", b"\n\0\0\2")
    )
    data = head + bytes(40)
    return [Packet(packet_ref(0, number), START_NS + number, 1, data, len(data)) for number in range(1, 4)]


def datagrams() -> list[Packet]:
    head = (
        bytes(12)
        + b"\x08\x00"
        + struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28, 1, 0, 64, 17, 0, b"\n\0\0\1", b"\n\0\0\2")
    )
    data = head + struct.pack(">HHHH", 53, 53, 8, 0)
    return [Packet(packet_ref(0, 1), START_NS, 1, data, len(data))]


MADE: dict[str, tuple[Callable[[], bytes], str]] = {
    "not Kafka": (
        lambda: pcap_bytes(foreign()),
        "4 of 5 connections are not Kafka: 2 HTTP, 1 SSH, 1 of a protocol that is not known",
    ),
    "link type": (
        lambda: pcap_bytes(foreign(), 147),
        f"{len(foreign())} of {len(foreign())} packets are of a link type that is not read: "
        f"{len(foreign())} LINKTYPE_147",
    ),
    "encapsulation": (
        lambda: pcap_bytes(wrapped()),
        "3 of 3 packets are in an encapsulation that is not read: 3 esp",
    ),
    "no TCP": (lambda: pcap_bytes(datagrams()), "1 packet without TCP: 1 udp"),
}


@pytest.mark.sampled(16)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", MADE)
def test_what_is_in_the_packets(name: str, command: str, tmp_path: Path, said: Said) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(MADE[name][0]())
    assert said(command, path) == [warning(MADE[name][1])]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("command", COMMANDS)
def test_tls_without_keys(command: str, said: Said) -> None:
    told = KEYLESS.format("15 of 30 connections are", "no key log")
    assert said(command, TLS) == [warning(told)]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_key_log_that_opens_nothing(command: str, said: Said) -> None:
    lacks = "the key log has no secrets for the connection's client random"
    lines = said(command, TLS, "--keylog", str(OTHER_KEYS), "--keylog", str(CHECKOUT / "LICENSE"))
    assert lines == [
        warning(KEYLESS.format("15 of 30 connections are", lacks)),
        warning(
            f"key log {OTHER_KEYS} decrypted no connection: the captures do not contain the 30 sessions in it"
        ),
        warning(f"key log {CHECKOUT / 'LICENSE'} opened nothing: no secret is in it"),
    ]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_said_where_all_is_read(command: str, said: Said) -> None:
    assert said(command, TXN) == []
    twice = [part for log in (KEYS, KEYS) for part in ("--keylog", str(log))]
    assert said(command, TLS, *twice) == []


@pytest.mark.sampled(8)
@pytest.mark.parametrize("command", [command for command in COMMANDS if command != "live -"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_cut_input_is_exit_code_3(
    command: str, packed: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    whole = Path(GROUPS).read_bytes()
    path = tmp_path / "cut.pcapng"
    path.write_bytes(gzip.compress(whole)[:-300] if packed else whole[:-30])
    words = [word.format(tmp_path) for word in command.split()]
    assert main([*words, str(path)]) == 3
    error = capfd.readouterr().err
    assert error.startswith(f"kdissect: {path}: ")
    assert "warning" not in error
    assert error.count("\n") == 1


def test_what_began_before_the_capture_and_what_never_came_about(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data = b"\x17\x03\x03\x00\x40" + bytes(64)  # application data: RFC 8446 section 5.1
    hello = b"\x15\x03\x03\x00\x02\x02\x28"  # an alert, handshake_failure: section 6
    talks = [
        Conversation(ports=(40001, 9093)).client(data).broker(data),
        Conversation(ports=(40002, 9093)).handshake().client(_client_hello()).broker(hello).fin(1).fin(0),
    ]
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap_bytes(chain.from_iterable(talk.packets for talk in talks)))
    main(["inspect", str(path)])
    assert capfd.readouterr().err.splitlines() == [
        warning(
            "1 of 2 connections is TLS that began before the capture: "
            "without its handshake no key log opens it"
        ),
        warning("1 of 2 connections is TLS whose handshake did not finish"),
    ]


def _client_hello() -> bytes:
    """Return a ClientHello of TLS 1.2 with one suite and no extension: RFC 5246 section 7.4.1.2."""
    body = b"\x03\x03" + bytes(32) + b"\0" + b"\0\x02\x00\x2f" + b"\x01\0"
    message = b"\x01" + len(body).to_bytes(3) + body
    return b"\x16\x03\x01" + len(message).to_bytes(2) + message


APIS = "there are ApiVersions, Fetch, FindCoordinator and 12 more"
HOSTS = "there are 127.0.0.1, 127.0.0.1:19112, 127.0.0.1:36344 and 21 more"
NAMES = {
    "groups --group eagre": "--group eagre occurs nowhere; near it: eager",
    "groups --group nosuch": "--group nosuch occurs nowhere; there are cooperative, eager, static",
    "topics --topic shred": "--topic shred occurs nowhere; near it: shared",
    "inspect --topic shred": "--topic shred occurs nowhere; near it: shared",
    "stats --topic x*": "--topic x* occurs nowhere; there are shared",
    "records --topic shred": "--topic shred occurs nowhere; near it: shared",
    "extract --topic shred -o {}/x": "--topic shred occurs nowhere; near it: shared",
    "inspect --api Vote": f"--api Vote occurs nowhere; {APIS}",
    "inspect --format jsonl --jobs 2 --api Vote": f"--api Vote occurs nowhere; {APIS}",
    "stats --api OffsetDelete": "--api OffsetDelete occurs nowhere; near it: OffsetFetch",
    "stats --client-id eager-3": "--client-id eager-3 occurs nowhere; near it: eager-2, eager-1",
    "inspect --host 10.9.8.7": f"--host 10.9.8.7 occurs nowhere; {HOSTS}",
    "inspect --format jsonl --jobs 2 --host [::1]:19112": f"--host [::1]:19112 occurs nowhere; {HOSTS}",
    "stats --host 127.0.0.1:19113": "--host 127.0.0.1:19113 occurs nowhere; "
    "near it: 127.0.0.1:19112, 127.0.0.1, 127.0.0.1:52106",
    "producers --producer nosuch": "--producer nosuch occurs nowhere; there are 0, producer",
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("command", NAMES)
def test_a_name_that_occurs_nowhere(command: str, said: Said) -> None:
    lines = said(command, GROUPS)
    assert lines == [warning(NAMES[command])]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "command",
    [
        "inspect --host 127.0.0.1", "inspect --host 127.0.0.1:19112 --host 127.0.0.1:36344",
        "groups --group eager", "groups --group eag*", "topics --topic shared", "inspect --topic shared",
        "stats --api Fetch,Heartbeat", "inspect --format jsonl --jobs 2 --api Fetch",
        # What other options leave out occurs all the same.
        "inspect --api Fetch --client-id nothing* --client-id * --topic shared --since +100s",
        "inspect --api Fetch -Y api==Vote", "inspect --api Fetch -Y number==1",
        "groups --group eager -Y api==Heartbeat", "topics --topic shared -Y api==Fetch",
    ],
)  # fmt: skip
def test_nothing_is_said_of_a_name_that_occurs(command: str, said: Said) -> None:
    assert [line for line in said(command, GROUPS) if "nothing*" not in line] == []


@pytest.mark.parametrize(
    "command", ["groups", "topics", "producers", "fetch-sessions", "groups --group eager"]
)
def test_a_filter_that_takes_nothing(command: str, said: Said) -> None:
    assert said(f"{command} -Y api==Vote", GROUPS) == [warning("-Y api==Vote takes no exchange")]
    assert said(f"{command} -Y api==Fetch", GROUPS) == []


@pytest.mark.parametrize("keys", [[], ["--keylog", str(KEYS)]])
def test_quality_is_not_good_beside_tls_that_was_not_read(
    keys: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    main(["check", str(TLS), "--format", "json", *keys])
    assert json.loads(capfd.readouterr().out)["capture_quality"]["verdict"] == ("good" if keys else "partial")


def test_an_exchange_that_is_not_there(said: Said, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", GROUPS, "-e", "connection,exchange", "--format", "tsv", "--limit", "9"]) == 0
    connection, number = capfd.readouterr().out.splitlines()[-1].split("\t")
    assert said(f"inspect --exchange {connection}/{number}", GROUPS) == []
    (line,) = said(f"inspect --exchange {connection}/9999", GROUPS)
    assert line.startswith(
        f"kdissect: warning: --exchange {connection}/9999 occurs nowhere; near it: {connection}/"
    )


def test_a_limit_stops_before_all_is_known(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(TLS), "--limit", "1", "--api", "Vote,ApiVersions"]) == 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("command", ["check", "upgrade --target 4.0"])
def test_no_verdict_is_green_over_clients_that_were_not_read(
    command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = [*command.split(), str(TLS)]
    assert main(words) == 4
    told = capfd.readouterr().err
    assert "kdissect: exit code 4: the verdict leaves out what could not be read; --allow-unread" in told
    assert main([*words, "--allow-unread"]) == 0
    assert main([*words, "--keylog", str(KEYS)]) == 0
    plain = tmp_path / "plain.pcap"
    plain.write_bytes(pcap_bytes(foreign()))
    never = ["--fail-on", "never"]
    assert main([*words[:-1], *never, str(plain)]) == 0  # what is known to be something else is no client


def test_findings_come_before_what_was_not_read() -> None:
    faulty = str(CAPTURES / "tansu_rdk216_txn.pcap")
    assert main(["check", str(TLS), "--select", "FRM006"]) == 4
    assert main(["check", str(TLS), faulty, "--fail-on", "warning", "--select", "FRM006"]) == 1


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("stats", "what is printed is partial"), ("groups", "what is printed is partial"),
        ("inspect", "what is printed is partial"), ("upgrade --target 4.0", "what is printed is partial"),
        ("connections", "what is printed is partial"), ("records", "what is printed is partial"),
        ("check --format json", "what is printed is partial"),
        ("tables --output {}/tables", "kdissect wrote no tables to {}/tables"),
        ("extract -o {}/x", "{}/x is not written"),
    ],
)  # fmt: skip
def test_an_interrupted_command_says_what_it_left(
    command: str,
    told: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    batches = CaptureSet.batches

    def interrupted(self: CaptureSet) -> Iterator[Sequence[PlainPacket]]:
        yield from batches(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(CaptureSet, "batches", interrupted)
    words = [word.format(tmp_path) for word in command.split()]
    assert main([*words, GROUPS]) == 130
    captured = capfd.readouterr()
    far = r"[0-9.]+ of [0-9.]+ MB were read\n"
    assert re.fullmatch(f"kdissect: interrupted: {re.escape(told.format(tmp_path))}: {far}", captured.err)
    assert not (tmp_path / "x").exists()
    if command.startswith("check"):
        reasons = json.loads(captured.out)["capture_quality"]["reasons"]
        assert reasons[0].startswith("the reading was interrupted")


def test_the_library_warns() -> None:
    with pytest.warns(CaptureWarning) as caught:
        found = list(kdissect.open(TLS, key_logs=[str(OTHER_KEYS)]))
    assert len(found) == 72
    lacks = "the key log has no secrets for the connection's client random"
    assert [str(one.message) for one in caught] == [
        KEYLESS.format("15 of 30 connections are", lacks),
        f"key log {OTHER_KEYS} decrypted no connection: the captures do not contain the 30 sessions in it",
    ]
