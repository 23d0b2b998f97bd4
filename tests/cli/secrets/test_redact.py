"""`extract --redact`: nothing that was planted is left, in no form, and what is left is sound."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.decoders.records.reader import decompressed, read_records
from kdissect.engine.records.record_sets import record_sets
from kdissect.excerpt import field_redaction, redactor
from kdissect.excerpt.edit import Edit, spliced
from kdissect.excerpt.field_redaction import Names
from kdissect.model.record_batch import Codec, RecordBatch
from kdissect.session.exchange import Exchange
from tests.support.console import CAPTURES
from tests.support.messages.batches import (
    batch_bytes,
    kafka_python_batch,
    kafka_python_messages,
    message_bytes,
    record_bytes,
)
from tests.support.messages.traffic import CLIENT, Conversation, request, response
from tests.support.packets.pcaps import write_pcap

# Codecs, SASL with and without headers, configs and SCRAM credentials, transactions, old formats, TLS.
STEMS = [
    "kafka44_java_produce", "kafka44_java_sasl", "kafka44_rdkafka_admin", "kafka28_java_generations_early",
    "kafka44_java_transactions", "kafka44_java_groups", "kafka28zk_franz_early", "kafka44_java_tls13",
]  # fmt: skip
LEAST = 5  # bytes of what is searched for: shorter ones are in any file by chance
# Names of Kafka's own topics stay; "cooperative" is also a part of the name of a protocol.
KEPT = ("__consumer_offsets", "__transaction_state", "__cluster_metadata", "cooperative")


@cache
def truth(stem: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CAPTURES / f"{stem}.truth.json").read_text())
    return found


def payloads(stem: str) -> set[bytes]:
    """Keys, values, names and values of headers that were sent."""
    found: set[str] = set()
    for record in truth(stem)["records"]["sent"]:
        headers = [part for header in record["headers"] for part in header]
        found |= {part for part in (record["key"], record["value"], *headers) if isinstance(part, str)}
    return {text.encode() for text in found if isinstance(text, str) and len(text) >= LEAST}


def secrets(stem: str) -> set[bytes]:
    return {text.encode() for text in truth(stem)["secrets"] if len(text) >= LEAST}


def names(stem: str) -> set[bytes]:
    found = {client["client_id"] for client in truth(stem)["clients"]}
    found |= {record["topic"] for record in truth(stem)["records"]["sent"]}
    found |= {group["group"] for group in truth(stem)["groups"] if "group" in group}
    return {text.encode() for text in found if text and len(text) >= LEAST and text not in KEPT}


def redacted(stem: str, level: str, out: Path) -> Path:
    path = out / f"{stem}-{level}.pcapng"
    keys = CAPTURES / f"{stem}.keys"
    options = ["--decrypted", "--keylog", str(keys)] if keys.exists() else []
    words = ["extract", f"--redact={level}", "-o", str(path), str(CAPTURES / f"{stem}.pcapng"), *options]
    assert main(words) == 0
    return path


def exchanges_of(path: Path) -> list[Exchange]:
    return list(Dissection(str(path)))


def batches_of(exchanges: list[Exchange]) -> Iterator[RecordBatch]:
    for exchange in exchanges:
        for records in record_sets(exchange):
            yield from records.found.batches


def haystack(path: Path) -> bytes:
    """Return all bytes of the file, of its frames put together, of its batches decompressed, of its
    records.
    """
    parts = [path.read_bytes()]
    exchanges = exchanges_of(path)
    for exchange in exchanges:
        parts += [frame.data for frame in (exchange.request, exchange.response) if frame is not None]
    for batch in batches_of(exchanges):
        if batch.codec and batch.magic == 2:
            parts.append(decompressed(batch, []) or b"")
        for record in read_records(batch).records:
            parts += [record.key or b"", record.value or b"", repr(record.headers).encode()]
    return b"\n".join(parts)


def assert_none_is_left(needles: set[bytes], path: Path) -> None:
    data = haystack(path)
    assert {needle for needle in needles if needle in data} == set()


@pytest.mark.exhaustive
@pytest.mark.parametrize("stem", STEMS)
def test_nothing_that_was_planted_is_left(stem: str, tmp_path: Path) -> None:
    assert_none_is_left(secrets(stem), redacted(stem, "secrets", tmp_path))
    path = redacted(stem, "payload", tmp_path)
    assert_none_is_left(secrets(stem) | payloads(stem), path)
    path = redacted(stem, "names", tmp_path)
    assert_none_is_left(secrets(stem) | payloads(stem) | names(stem), path)


def test_what_is_looked_for_was_there() -> None:
    for stem in STEMS:
        if (CAPTURES / f"{stem}.keys").exists():
            continue
        data = haystack(CAPTURES / f"{stem}.pcapng")
        assert any(needle in data for needle in payloads(stem) | secrets(stem)), stem
        assert any(needle in data for needle in names(stem)), stem


@pytest.mark.exhaustive
@pytest.mark.parametrize("stem", ["kafka44_java_produce", "kafka28zk_franz_early", "kafka44_java_sasl"])
def test_every_record_is_only_filler(stem: str, tmp_path: Path) -> None:
    seen = 0
    for batch in batches_of(exchanges_of(redacted(stem, "payload", tmp_path))):
        assert batch.crc_is_right
        assert not batch.faults
        records, faults = read_records(batch)
        assert not faults
        if batch.is_control:
            continue
        for record in records:
            seen += 1
            text = [part for header in record.headers for part in header]
            parts = [record.key, record.value, *(t.encode() if isinstance(t, str) else t for t in text)]
            assert all(set(part) <= set(b"x") for part in parts if part)
    assert seen


def same(exchange: Exchange) -> tuple[object, ...]:
    request, response = exchange.request, exchange.response
    times = [(frame.time_ns, frame.end_time_ns) for frame in (request, response) if frame is not None]
    return (
        str(exchange.connection.client), exchange.api_key, exchange.api_version, exchange.correlation_id,
        exchange.state, tuple(exchange.response_summary().errors), times,
    )  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("level", ["secrets", "names"])
@pytest.mark.parametrize("stem", ["kafka44_java_produce", "kafka44_java_sasl", "kafka28zk_franz_early"])
def test_the_exchanges_are_the_same_and_nothing_new_is_malformed(
    stem: str, level: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = redacted(stem, level, tmp_path)
    before, after = exchanges_of(CAPTURES / f"{stem}.pcapng"), exchanges_of(path)
    assert [same(each) for each in after] == [same(each) for each in before]
    for one, other in zip(before, after, strict=True):
        shapes = [(len(list(record_sets(each))), each.all_anomalies() == []) for each in (one, other)]
        assert shapes[0] == shapes[1]
    capfd.readouterr()
    found = []
    for name in (CAPTURES / f"{stem}.pcapng", path):
        main(["check", "--exit-zero", "--format", "json", str(name)])
        judged = json.loads(capfd.readouterr().out)["findings"]
        found.append({each["code"] for each in judged if each["claim"] == "malformed"})
    assert found[1] <= found[0]


def test_lengths_that_changed_are_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = redacted("kafka44_java_produce", "payload", tmp_path)
    resized = [
        one for one, other in zip(
            exchanges_of(CAPTURES / "kafka44_java_produce.pcapng"), exchanges_of(path), strict=True
        )
        if (one.request and one.request.size) != (other.request and other.request.size)
        or (one.response and one.response.size) != (other.response and other.response.size)
    ]  # fmt: skip
    assert resized
    assert f"{len(resized)} frames have another length" in capfd.readouterr().err
    assert path.read_bytes().count(b"recompressed without its records") == len(resized)


def test_names_are_replaced_consistently() -> None:
    one = Names(b"k" * 32)
    assert one.replaced(b"orders") == one.replaced(b"orders") == Names(b"k" * 32).replaced(b"orders")
    assert one.replaced(b"orders") != Names().replaced(b"orders")
    assert len({one.replaced(bytes([letter])) for letter in range(97, 97 + 20)}) == 20
    for kept in (b"__consumer_offsets", b"17", b"*", b""):
        assert one.replaced(kept) == kept
    for name in ("größe", "User:alice", "a.b-c"):
        assert len(one.replaced(name.encode())) == len(name.encode())
    assert one.replaced(b"User:alice") == b"User:" + one.replaced(b"alice")


def test_what_nobody_knows_is_blanked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    unknown = b"SECRET-of-an-unknown-api"
    talk = Conversation().handshake()
    talk.client(request(18, 0, 1, b"")).broker(response(1, b"\0\0\0\0\0\0"))
    talk.client(request(30000, 0, 2, unknown)).broker(response(2, unknown))
    talk.client(request(3, 1, 3, b"\0\0\0\0" + unknown)).broker(response(3, unknown))
    talk.packet(CLIENT, b"\xff\xff\xff\xff" + unknown, 24)
    path = write_pcap(tmp_path / "in.pcap", talk.packets)
    for level in ("secrets", "names"):
        out = tmp_path / f"{level}.pcapng"
        assert main(["extract", f"--redact={level}", "-o", str(out), path]) == 0
        assert b"SECRET" not in out.read_bytes()
        assert "frames hold bytes that cannot be decoded" in capfd.readouterr().err


def test_behind_a_hole_nothing_is_shown(tmp_path: Path) -> None:
    whole = response(1, b"\0\0\0\0" + b"SECRET-" * 300)
    talk = Conversation().handshake().client(request(3, 0, 1, b"\0\0\0\0"))
    talk.broker(whole[:700]).lose(1 if CLIENT == 0 else 0, whole[700:1400]).broker(whole[1400:])
    talk.client(request(3, 0, 2, b"\0\0\0\0")).broker(response(2, bytes(8)))
    path = write_pcap(tmp_path / "hole.pcap", talk.packets)
    out = tmp_path / "out.pcapng"
    assert main(["extract", "--redact=payload", "-o", str(out), path]) == 0
    assert b"SECRET" not in out.read_bytes()
    assert [each.correlation_id for each in exchanges_of(out)] == [1, 2]


def test_whole_connections_redacted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Every exchange of the connections, cut and blanked; ciphertext stays out."""
    stem = "kafka44_java_tls13"
    keys, source = str(CAPTURES / f"{stem}.keys"), str(CAPTURES / f"{stem}.pcapng")
    out = tmp_path / "out.pcapng"
    words = ["extract", "--connections", "--redact=names", "--api", "Fetch", "-o", str(out), source]
    assert main([*words, "--keylog", keys]) == 0
    told = capfd.readouterr().err
    assert "ciphertext is no redaction" in told
    before = list(Dissection(source, key_logs=[keys]))
    wanted = {each.connection.id for each in before if each.api_key == 1}
    plain = [each for each in before if each.connection.id in wanted and each.connection.tls is None]
    after = exchanges_of(out)
    assert sorted(map(same, after), key=repr) == sorted(map(same, plain), key=repr)
    assert not any(each.connection.tls for each in after)
    assert_none_is_left(payloads(stem) | names(stem), out)


def test_what_carries_no_kafka_is_left_out(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    talk = Conversation().handshake().client(b"GET /SECRET HTTP/1.1\r\nHost: a\r\n\r\n")
    path = write_pcap(tmp_path / "in.pcap", talk.broker(b"HTTP/1.1 200 OK\r\n\r\n").packets)
    out = tmp_path / "out.pcapng"
    assert main(["extract", "--redact", "-o", str(out), path]) == 0
    assert "left out: 1 connection that carries no Kafka" in capfd.readouterr().err
    assert b"SECRET" not in out.read_bytes()


@pytest.mark.parametrize("codec", ["gzip", "snappy", "xerial", "lz4", "zstd"])
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_every_codec_is_compressed_again(codec: str, magic: int) -> None:
    """Checked by decompressing: what came out is what went in, in the framing it had."""
    from kdissect.decoders.compression.codec import decompress
    from kdissect.decoders.compression.compress import compress
    from kdissect.decoders.compression.snappy import XERIAL_MAGIC

    number = Codec.SNAPPY if codec == "xerial" else Codec[codec.upper()]
    model = XERIAL_MAGIC + b"\0\0\0\1\0\0\0\1" if codec == "xerial" else b""
    content = b"x" * 100_000 + bytes(range(256))
    made = compress(number, content, model, magic)
    assert made is not None
    assert made.startswith(model)
    assert decompress(number, made, magic=magic) == content
    assert compress(7, content, model, magic) is None


def test_new_bytes_are_spread_over_the_packets_of_the_old() -> None:
    edit = Edit(4, 14, b"ABCDE")
    whole = b"0123" + b"-" * 10 + b"6789"
    for cut in range(1, len(whole)):
        for other in range(cut, len(whole) + 1):
            pieces = [(0, whole[:cut]), (cut, whole[cut:other]), (other, whole[other:])]
            assert b"".join(spliced(part, at, [edit]) for at, part in pieces) == b"0123ABCDE6789"


def test_a_token_keeps_its_form(tmp_path: Path) -> None:
    path = redacted("kafka44_java_sasl", "secrets", tmp_path)
    tokens = [
        frame.data[each.request_body_offset if frame is each.request else each.response_body_offset :]
        for each in exchanges_of(path)
        if each.api_key == 36
        for frame in (each.request, each.response)
        if frame is not None
    ]
    text = b" ".join(tokens)
    assert b"n,,n=xxx,r=xxxx" in text
    assert b",i=4096" in text
    assert b"c=biws,r=xxxx" in text
    assert b"\0xxxxx\0xxxx" in text
    assert b"alice" not in text


def fetched(records: bytes) -> bytes:
    part = {"partition_index": 0, "aborted_transactions": None, "records": records}
    return encode_response(1, 4, 1, {"responses": [{"topic": "SECRET", "partitions": [part]}]})


SECRET = b"SECRET"
RECORD = record_bytes(key=SECRET, value=SECRET * 9, headers=[("SECRET", SECRET)])
BATCHES = {
    "plain": batch_bytes(RECORD),
    "cut": batch_bytes(RECORD) + batch_bytes(RECORD)[:-20],
    "cut in its header": batch_bytes(RECORD) + batch_bytes(RECORD)[:30],
    "no records": batch_bytes(SECRET * 9),
    "wrong checksum": batch_bytes(RECORD)[:17] + b"1234" + batch_bytes(RECORD)[21:],
    "corrupt compression": batch_bytes(SECRET * 9, attributes=Codec.ZSTD),
    "no such codec": batch_bytes(SECRET * 9, attributes=7),
    "control": batch_bytes(RECORD, attributes=0x20).replace(SECRET, b"\0\0\0\2\0\0", 1),
    "no batch": SECRET * 20,
    "magic 0": message_bytes(SECRET, magic=0, key=SECRET),
    "magic 0, cut": message_bytes(SECRET, magic=0) + message_bytes(SECRET * 9, magic=0, key=SECRET)[:-4],
    "magic 1, cut": message_bytes(SECRET) + message_bytes(SECRET * 9, key=SECRET)[:-4],
    "gzip": kafka_python_batch([(1, SECRET, SECRET * 9, [])] * 50, Codec.GZIP),
    "magic 1, gzip": kafka_python_messages([(1, SECRET, SECRET * 9, [])] * 50, 1, Codec.GZIP),
    "corrupt wrapper": message_bytes(SECRET * 9, attributes=Codec.GZIP),
}


@pytest.mark.parametrize("kind", BATCHES)
def test_nothing_is_left_of_batches_of_any_shape(kind: str, tmp_path: Path) -> None:
    asked = encode_request(1, 4, 1, "me", {"topics": [{"topic": "SECRET", "partitions": [{"partition": 0}]}]})
    talk = Conversation().handshake().client(asked).broker(fetched(BATCHES[kind]))
    path = write_pcap(tmp_path / "in.pcap", talk.fin(CLIENT).packets)
    out = tmp_path / "out.pcapng"
    assert main(["extract", "--redact=names", "-o", str(out), path]) == 0
    assert SECRET not in haystack(out)
    assert b"SECR" not in haystack(out)
    (before,), (after,) = list(Dissection(path)), exchanges_of(out)
    assert after.response is not None
    assert after.response_body().responses[0].partitions[0].partition_index == 0
    if kind != "no batch":
        (old, *_), (new, *_) = (list(batches_of([each])) for each in (before, after))
        assert new.crc_is_right == old.crc_is_right
        assert (new.magic, new.codec, new.count, new.base_offset) == (
            old.magic, old.codec, old.count, old.base_offset,
        )  # fmt: skip


# These tests fail where a redaction is broken.


@pytest.mark.parametrize("broken", ["batches", "tokens", "names"])
def test_a_broken_redaction_is_seen(broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if broken == "batches":
        monkeypatch.setattr(redactor, "redacted_batch", lambda batch, redact: None)
        stem, level, needles = "kafka44_java_produce", "payload", payloads("kafka44_java_produce")
    elif broken == "tokens":
        monkeypatch.setattr(field_redaction, "_TOKEN", "none")
        stem, level, needles = "kafka44_java_sasl", "secrets", secrets("kafka44_java_sasl")
    else:
        monkeypatch.setattr(Names, "replaced", lambda self, name: name)
        stem, level, needles = "kafka44_java_groups", "names", names("kafka44_java_groups")
    path = redacted(stem, level, tmp_path)
    with pytest.raises(AssertionError):
        assert_none_is_left(needles, path)
