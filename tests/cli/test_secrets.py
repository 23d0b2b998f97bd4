"""Planted secrets: none of their bytes, in any form, in any output without `--show-secrets`."""

import base64
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.cli.reports import FORMATS
from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.decoders.messages import decode_request, decode_response
from kdissect.engine.record_sets import record_sets
from kdissect.excerpt.excerpt import excerpts
from kdissect.excerpt.wish import EVERY, Wish
from kdissect.model.packet import Packet
from kdissect.schema import registry
from kdissect.schema.metadata_topic import METADATA_TOPIC_ID
from kdissect.schema.secrets import is_public_config, is_sensitive, may_hold_secrets, public_configs
from kdissect.tui.dissection import Dissected
from kdissect.tui.hex_pane import octet
from tests.decoders.payloads.vectors import groups, records
from tests.support.pcaps import write_pcap
from tests.support.traffic import Conversation, frame, request, response
from tests.tui.inline import Loaded

SECRET = "xq7SECRETvvz"
# Secrets in bytes that Apache Kafka wrote for these tests.
PLANTED = [
    SECRET,
    "SALTSECRET",
    "STOREDSECRET",
    "SERVERSECRET",
    "TOPSECRET",
    "SECRETTOKEN",
    "pinch",
    "proofproof",
]
SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36


def config(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "value": SECRET, **more}


def changes(*configs: dict[str, Any]) -> dict[str, Any]:
    return {"resources": [{"resource_type": 4, "resource_name": "1", "configs": list(configs)}]}


def described(version: int) -> dict[str, Any]:
    synonym = {"name": "my.own", "value": SECRET, "source": 1}
    configs = [config("my.own", is_sensitive=True, synonyms=[synonym] if version else [])]
    if version >= 3:
        configs.append(config("my.own", config_type=9))
    return {"results": [{"resource_type": 4, "resource_name": "1", "configs": configs}]}


def created(version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    topic = {"name": "t", "assignments": [], "configs": [config("my.password")]}
    answer = {"name": "t", "configs": [config("my.password", is_sensitive=True)]}
    return {"topics": [topic]}, {"topics": [answer if version >= 5 else {"name": "t"}]}


def inner_change() -> bytes:
    return encode_request(44, 1, 9, "inner", changes(config("sasl.jaas.config")))[4:]


def fetched_metadata() -> tuple[dict[str, Any], dict[str, Any]]:
    """Records of the metadata log, built here by hand, in a Fetch response."""
    values = [row[3] for row in records() if row[0] == "__cluster_metadata" and row[3]]
    content = b""
    for number, value in enumerate(values):
        record = bytes([0, 0, number * 2, 1]) + varint(len(value)) + value + b"\0"
        content += varint(len(record)) + record
    batch = struct.pack(">hiqqqhii", 0, len(values) - 1, 0, 0, -1, -1, -1, len(values)) + content
    batch = struct.pack(">ibI", 0, 2, crc32c(batch)) + batch
    batch = struct.pack(">qi", 0, len(batch)) + batch
    asked = {"topics": [{"topic_id": METADATA_TOPIC_ID, "partitions": [{"partition": 0}]}]}
    part = {"partition_index": 0, "aborted_transactions": None, "records": batch}
    return asked, {"responses": [{"topic_id": METADATA_TOPIC_ID, "partitions": [part]}]}


def varint(length: int) -> bytes:
    value, out = length * 2, b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def exchanges() -> Iterator[tuple[int, int, dict[str, Any], dict[str, Any]]]:
    secret = SECRET.encode()
    for version in (0, 1, 2):
        yield SASL_AUTHENTICATE, version, {"auth_bytes": b"\0alice\0" + secret}, {"auth_bytes": secret}
    scram = {"name": "alice", "mechanism": 1, "iterations": 4096, "salt": secret, "salted_password": secret}
    yield 51, 0, {"deletions": [], "upsertions": [scram]}, {"results": []}
    yield 38, 3, {"renewers": []}, {"hmac": secret, "token_id": "id"}
    yield 39, 2, {"hmac": secret}, {}
    yield 40, 2, {"hmac": secret}, {}
    token = {"token_id": "id", "hmac": secret, "renewers": []}
    yield 41, 3, {"owners": None}, {"tokens": [token]}
    for version in (0, 1):
        yield 44, version, changes(config("ssl.key.password"), config("listener.name.a.sasl.jaas.config")), {}
    yield 33, 2, changes(config("ssl.truststore.password")), {}
    for version in (1, 5):
        yield 19, version, *created(version)
    for version in range(5):
        yield 32, version, {"resources": []}, described(version)
    yield 58, 0, {"request_data": inner_change(), "request_principal": None}, {"response_data": secret * 3}
    yield 1, 13, *fetched_metadata()


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> str:
    return planted(tmp_path_factory.mktemp("secrets") / "secrets.pcap")


def planted(target: Path) -> str:
    """A capture with a secret in every place the protocol has one."""
    talk = Conversation().handshake()
    for number, (key, version, asked, answered) in enumerate(exchanges()):
        talk.client(encode_request(key, version, number, "me", asked))
        talk.broker(encode_response(key, version, number, answered))
    # A version of the future: nobody knows what is in it.
    talk.client(request(SASL_AUTHENTICATE, 9, 999, b"\0alice\0" + SECRET.encode()))
    talk.broker(response(999, SECRET.encode()))
    packets = talk.packets
    for number, (mechanism, *tokens) in enumerate(token_dialogues()):
        raw = Conversation(ports=(41000 + number, 9092), start_ns=packets[-1].time_ns + 10**9).handshake()
        raw.client(request(SASL_HANDSHAKE, 0, 1, len(mechanism).to_bytes(2) + mechanism))
        raw.broker(response(1, b"\0\0\0\0\0\0"))
        for asked_token, answered_token in tokens:
            raw.client(frame(asked_token)).broker(frame(answered_token))
        packets = packets + raw.packets
    return write_pcap(target, packets)


def token_dialogues() -> Iterator[tuple[Any, ...]]:
    made = groups()
    yield b"PLAIN", (b"\0alice\0" + SECRET.encode(), b"")
    yield (
        b"SCRAM-SHA-256",
        (made["ScramClientFirst"], made["ScramServerFirst"]),
        (made["ScramClientFinal"], made["ScramServerFinal"]),
    )
    yield b"OAUTHBEARER", (made["OauthClient"], b"")
    yield b"MY-OWN", (SECRET.encode(), SECRET.encode())


def needles(secret: str) -> set[bytes]:
    """A secret as text, hex of several kinds, and as base64 whatever stands before it."""
    data = secret.encode()
    found = {data, data.hex().encode(), data.hex(" ").encode(), data.hex(":").encode()}
    for before in range(3):  # only characters that no byte around the secret can change
        text = base64.b64encode(bytes(before) + data + bytes(3))
        found.add(text[-(-before * 4 // 3) : (before + len(data)) * 4 // 3])
    return found


OUTPUTS = [
    ("inspect", "--format", "jsonl"),
    ("inspect", "--format", "jsonl", "--bodies"),
    ("inspect", "--format", "tsv", "--bodies"),
    ("inspect", "--format", "csv", "--bodies"),
    ("inspect", "--format", "tree"),
    ("inspect", "--format", "table"),
    ("inspect", "--format", "table", "-e", "request.body,response.body"),
    ("inspect", "--format", "jsonl", "--bodies", "--records"),
    ("inspect", "--format", "tree", "--records"),
    ("records", "--format", "jsonl"),
    ("records", "--format", "jsonl", "--value-format", "hex"),
    ("records", "--format", "csv", "--value-format", "base64"),
    ("records", "--format", "table", "--value-format", "text"),
    ("connections", "--format", "jsonl"),
    ("info", "--deep", "--format", "json"),
    ("info", "--deep"),
    ("inspect", "--format", "jsonl", "-Y", "anomalies != 0"),
    ("topics", "--format", "json"),
    ("groups", "--format", "json"),
    ("producers", "--format", "json"),
    ("fetch-sessions", "--format", "json"),
    ("upgrade", "--target", "4.0", "--format", "json"),
    ("stats", "--format", "json"),
    *(("check", "--format", name) for name in FORMATS),
]
Run = Callable[..., bytes]


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    def call(*arguments: str) -> bytes:
        capfdbinary.readouterr()
        main(arguments)
        captured = capfdbinary.readouterr()
        return captured.out + captured.err

    return call


@pytest.mark.parametrize("command", OUTPUTS, ids=" ".join)
def test_no_output_holds_a_secret(command: tuple[str, ...], capture: str, run: Run) -> None:
    out = run(command[0], capture, *command[1:])
    assert b"alice" in out or "--bodies" not in command
    for secret in PLANTED:
        for needle in needles(secret):
            at = out.find(needle)
            assert at < 0, (secret, out[max(at - 300, 0) : at + 40])


def on_screen(capture: str, show_secrets: bool) -> bytes:
    """Everything that `kdissect tui` shows of the exchanges: every field, and all bytes."""
    shown: list[bytes] = []
    with Loaded(capture) as loaded:
        for row in range(len(loaded.log)):
            dissected = Dissected(loaded.log, row, show_secrets)
            waiting, buffers = list(dissected.roots), {}
            while waiting:
                item = waiting.pop()
                shown.append(f"{item.label} {item.value}".encode())
                waiting += item.children
                if item.buffer is not None:
                    buffers[id(item.buffer)] = item.buffer
            for buffer in buffers.values():
                octets = [octet(buffer, offset) for offset in range(len(buffer.data))]
                shown += [" ".join(pair[0] for pair in octets).encode()]
                shown += ["".join(pair[1] for pair in octets).encode()]
    return b"\n".join(shown)


def test_no_screen_holds_a_secret(capture: str) -> None:
    out = on_screen(capture, show_secrets=False)
    assert b"alice" in out
    for secret in PLANTED:
        for needle in needles(secret):
            at = out.find(needle)
            assert at < 0, (secret, out[max(at - 300, 0) : at + 40])
    assert SECRET.encode() in on_screen(capture, show_secrets=True)


def excerpt(capture: str, show_secrets: bool) -> list[Packet]:
    """Every exchange of the capture as evidence would have it."""
    wish = Wish(EVERY, until_ns=1 << 62)
    (packets,) = excerpts([[wish]], lambda: Dissection(capture), show_secrets)
    return [item.packet for item in packets]


def test_no_excerpt_holds_a_secret(capture: str) -> None:
    shown, masked = (b"".join(p.data for p in excerpt(capture, asked)) for asked in (True, False))
    assert len(shown) == len(masked)
    assert b"alice" in masked
    for secret in PLANTED:
        assert any(needle in shown for needle in needles(secret)), secret
        assert not any(needle in masked for needle in needles(secret)), secret


def test_an_excerpt_stays_what_it_was(capture: str, tmp_path: Path) -> None:
    """As many exchanges, and checksums of records that are right."""
    path = write_pcap(tmp_path / "masked.pcap", excerpt(capture, False))
    before, after = list(Dissection(capture)), list(Dissection(path))
    assert [(e.api_key, e.state) for e in after] == [(e.api_key, e.state) for e in before]
    batches = [batch for e in after for records in record_sets(e) for batch in records.found.batches]
    assert len(batches) == 1
    assert batches[0].crc_is_right


def test_no_evidence_holds_a_secret(capture: str, run: Run, tmp_path: Path) -> None:
    out = run("check", capture, "--evidence", str(tmp_path))
    written = list(tmp_path.iterdir())
    assert len(written) > 5
    assert b"evidence" in out
    for data in (out, *(path.read_bytes() for path in written)):
        for secret in PLANTED:
            assert not any(needle in data for needle in needles(secret)), secret


def test_bytes_of_a_finding_are_not_shown_where_a_secret_is_among_them(run: Run, tmp_path: Path) -> None:
    scram = {"name": "alice", "mechanism": 1, "iterations": 4096, "salt": b"s", "salted_password": b"p"}
    asked = encode_request(51, 0, 1, "me", {"deletions": [], "upsertions": [scram]})[4:]
    for tail, shown in ((SECRET.encode(), "***"), (b"\0\0", "00 00")):
        talk = Conversation().handshake().client(frame(asked + tail))
        talk.broker(encode_response(51, 0, 1, {"results": []})).fin(0)
        out = run("check", write_pcap(tmp_path / "tail.pcap", talk.packets), "--select", "FRM006")
        assert f"of the frame's content: {shown}\n".encode() in out


def test_no_column_holds_a_secret(capture: str, run: Run, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    target = tmp_path / "records.parquet"
    run("records", capture, "--format", "parquet", "-o", str(target))
    out = repr(parquet.read_table(target).to_pylist()).encode()
    assert b"__cluster_metadata" in out
    for secret in PLANTED:
        assert not any(needle in out for needle in needles(secret)), secret


def test_records_are_told_but_for_their_secrets(capture: str, run: Run) -> None:
    out = run("records", capture, "--format", "jsonl")
    for shown in (
        b"UserScramCredentialRecord",
        b"alice",
        b"listener.name.internal.ssl.key.password",
        b"1000",
    ):
        assert shown in out


@pytest.mark.parametrize("command", [OUTPUTS[1], OUTPUTS[2], OUTPUTS[4]], ids=" ".join)
def test_they_are_there_when_asked_for(command: tuple[str, ...], capture: str, run: Run) -> None:
    out = run(command[0], capture, *command[1:], "--show-secrets")
    shown = ["xq7SECRETvvz", "SECRETTOKEN"]  # records are not decoded here; SCRAM's are base64 on the wire
    assert all(secret.encode() in out for secret in shown)


def frames() -> Iterator[tuple[str, list[str]]]:
    for key, version, asked, answered in exchanges():
        yield encode_request(key, version, 1, "me", asked).hex(), []
        options = ["--response", "--api", str(key), "--api-version", str(version)]
        yield encode_response(key, version, 1, answered).hex(), options


@pytest.mark.parametrize("form", ["tree", "json"])
def test_decoding_single_frames_masks_too(form: str, run: Run) -> None:
    for text, options in frames():
        out = run("decode", text, "--format", form, *options)
        assert out
        for secret in PLANTED:
            for needle in needles(secret):
                assert needle not in out, (needle, out[-2000:])


def test_cut_frames_show_no_secret(run: Run) -> None:
    whole = encode_request(SASL_AUTHENTICATE, 1, 1, "me", {"auth_bytes": b"\0alice\0" + SECRET.encode()})
    change = encode_request(44, 1, 1, "me", changes(config("ssl.key.password")))
    for data in (whole, change):
        for end in range(8, len(data)):
            for form in ("tree", "json"):
                out = run("decode", data[:end].hex(), "--format", form)
                assert SECRET[:6].encode() not in out, out
                assert SECRET[:6].encode().hex(" ").encode() not in out, out


def test_values_mask_themselves() -> None:
    for key, version, asked, answered in exchanges():
        shown = repr(decode_request(encode_request(key, version, 1, "me", asked)).body)
        shown += repr(decode_response(encode_response(key, version, 1, answered), key, version).body)
        assert SECRET not in shown, shown


@pytest.mark.parametrize(
    "name",
    [
        "ssl.key.password", "ssl.keystore.password", "ssl.truststore.password", "sasl.jaas.config",
        "ssl.keystore.key", "ssl.keystore.certificate.chain", "ssl.truststore.certificates",
        "listener.name.internal.scram-sha-256.sasl.jaas.config", "delegation.token.master.key",
        "delegation.token.secret.key", "password.encoder.secret", "password.encoder.old.secret",
        "zookeeper.ssl.keystore.password", "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.assertion.private.key.passphrase", "basic.auth.user.info", "PASSWORD",
        "sasl.client.callback.token", "my.plugin.api.token", "db.pwd", "confluent.license", "message.key",
        "SCRAM-SHA-256", "listener.name.a.b.ssl.keystore.type.x", "listener.name..ssl.keystore.type",
        "Retention.ms", "retention.ms ", "tokens.per.second", "", None, b"retention.m\xf3", 7,
    ],
)  # fmt: skip
def test_configs_that_may_be_secret(name: object) -> None:
    assert not is_public_config(name)


@pytest.mark.parametrize(
    "name",
    [
        "retention.ms", "password.encoder.iterations", "password.encoder.cipher.algorithm",
        "ssl.keystore.type", "delegation.token.max.lifetime.ms", "ssl.keystore.location",
        "sasl.enabled.mechanisms", "listener.name.internal.ssl.keystore.type", "log.retention.ms",
        "listener.name.a.plain.sasl.server.callback.handler.class", "max.poll.records", "metrics",
        "num.standby.replicas", "consumer.session.timeout.ms", "offset.storage.topic", "advertised.host.name",
    ],
)  # fmt: skip
def test_configs_that_are_none(name: str) -> None:
    assert is_public_config(name)


def test_no_public_config_sounds_like_a_secret() -> None:
    names = public_configs()
    assert len(names) > 600
    ends = ("password", "secret", "token", "passphrase", "credentials", "jaas.config", ".key", "license", "pwd")
    assert not [name for name in names if name.lower().endswith(ends) or name.startswith("SCRAM")]


def test_levels_of_loggers_are_shown() -> None:
    for name, value, masked in (
        ("kafka.request.logger", "TRACE", False),
        ("org.apache.kafka.clients.NetworkClient", "INFO", False),
        ("root", "OFF", False),
        ("kafka.request.logger", SECRET, True),
        ("my.password", "INFO", True),
    ):
        assert is_sensitive({"name": name, "value": value}) is masked


def test_every_message_with_secrets_is_among_the_planted() -> None:
    planted = {key for key, *_ in exchanges()}
    wanted = {
        api.key
        for api in registry.all_apis()
        if may_hold_secrets(api.request) or may_hold_secrets(api.response)
    }
    assert wanted
    assert wanted <= planted


def test_the_file_is_what_it_seems(capture: str, run: Run) -> None:
    assert SECRET.encode() in Path(capture).read_bytes()
    out = run("inspect", capture, "--format", "tsv", "-e", "api,state", "--no-header")
    assert out.count(b"complete") == len(list(exchanges())) + 1 + 4 + 5
