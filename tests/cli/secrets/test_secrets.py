"""Planted secrets: none of their bytes, in any form, in any output without `--show-secrets`."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.cli.findings.report_files import FORMATS
from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.decoders.messages import decode_request, decode_response
from kdissect.engine.records.record_sets import record_sets
from kdissect.excerpt.excerpts import EVERY, Wanted, excerpts
from kdissect.model.packets.packet import Packet
from kdissect.schema import protocol_messages
from kdissect.schema.secrets import is_public_config, is_sensitive, may_hold_secrets, public_configs
from tests.support import console
from tests.support.messages.planted import (
    PLANTED,
    SASL_AUTHENTICATE,
    SECRET,
    changes,
    config,
    exchanges,
    needles,
    planted,
)
from tests.support.messages.traffic import Conversation, frame
from tests.support.on_screen import on_screen
from tests.support.packets.pcaps import write_pcap


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> str:
    return planted(tmp_path_factory.mktemp("secrets") / "secrets.pcap")


SOUND = str(console.CAPTURES / "kafka44_java_admin.pcapng")  # what it is compared with
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
    ("logins", "--format", "json"),
    ("logins",),
    ("access", "--format", "json"),
    ("access",),
    ("access", "--acls", "strimzi"),
    ("changes", "--format", "json"),
    ("changes",),
    ("offsets", "--format", "json"),
    ("delay", "--format", "json"),
    ("mirror", "--format", "json"),
    ("report",),
    ("diff", SOUND, "--format", "json"),
    ("diff", SOUND),
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


def test_no_screen_holds_a_secret(capture: str) -> None:
    out = on_screen(capture, show_secrets=False)
    assert b"alice" in out
    for secret in PLANTED:
        for needle in needles(secret):
            at = out.find(needle)
            assert at < 0, (secret, out[max(at - 300, 0) : at + 40])
    assert SECRET.encode() in on_screen(capture, show_secrets=True)


def excerpt(capture: str, show_secrets: bool) -> list[Packet]:
    """Return every exchange of the capture as evidence would have it."""
    wish = Wanted(EVERY, until_ns=1 << 62)
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
    ends = (
        "password",
        "secret",
        "token",
        "passphrase",
        "credentials",
        "jaas.config",
        ".key",
        "license",
        "pwd",
    )
    assert not [name for name in names if name.lower().endswith(ends) or name.startswith("SCRAM")]


def test_levels_of_loggers_are_shown() -> None:
    for name, value, masked in (
        ("kafka.request.logger", "TRACE", False),
        ("org.apache.kafka.clients.NetworkClient", "INFO", False),
        ("root", "OFF", False),
        ("com.yammer.metrics.reporting.JmxReporter", "INFO", False),
        ("kafka.request.logger", SECRET, True),
        ("kafka.request.logger", {"base64": "SU5GTw=="}, True),
    ):
        assert is_sensitive({"name": name, "value": value}) is masked


def test_every_message_with_secrets_is_among_the_planted() -> None:
    planted = {key for key, *_ in exchanges()}
    wanted = {
        api.key
        for api in protocol_messages.all_apis()
        if may_hold_secrets(api.request) or may_hold_secrets(api.response)
    }
    assert wanted
    assert wanted <= planted


def test_the_file_is_what_it_seems(capture: str, run: Run) -> None:
    assert SECRET.encode() in Path(capture).read_bytes()
    out = run("inspect", capture, "--format", "tsv", "-e", "api,state", "--no-header")
    assert out.count(b"complete") == len(list(exchanges())) + 1 + 4 + 5
