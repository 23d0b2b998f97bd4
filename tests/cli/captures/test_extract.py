"""`extract`: what is written is read again as the same exchanges, by kdissect and by Wireshark."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.excerpt import plan_spool
from kdissect.session.exchange import Exchange
from tests.support.console import CAPTURES, CHECKOUT, command, run
from tests.support.messages.traffic import Conversation
from tests.support.packets.pcaps import write_pcap

PRODUCE = str(CAPTURES / "kafka44_java_produce.pcapng")
TLS13 = str(CAPTURES / "kafka44_java_tls13.pcapng")
KEYS13 = str(CAPTURES / "kafka44_java_tls13.keys")
NEGOTIATION = (17, 18, 36)


def told(exchange: Exchange) -> tuple[object, ...]:
    """Return what must be the same after an extraction: all but packet numbers and the ordinals."""
    request, response = exchange.request, exchange.response
    frames = [(f.size, f.time_ns, f.end_time_ns, f.data) for f in (request, response) if f is not None]
    return (
        str(exchange.connection.client), str(exchange.connection.broker), exchange.api_key,
        exchange.api_version, exchange.correlation_id, exchange.state,
        tuple(exchange.response_summary().errors), frames,
    )  # fmt: skip


def exchanges_of(path: object, key_logs: Sequence[str] = ()) -> list[Exchange]:
    return list(Dissection(str(path), key_logs=key_logs))


def packets_of(path: object) -> set[tuple[object, ...]]:
    return {packet[1:] for packets in Dissection(str(path)).captures.batches() for packet in packets}


def in_order(exchanges: list[Exchange]) -> list[tuple[object, ...]]:
    return sorted((told(exchange) for exchange in exchanges), key=repr)


@pytest.mark.parametrize(
    ("path", "keys", "key"),
    [
        (PRODUCE, (), 0),
        (str(CAPTURES / "kafka44_franz_sasl.pcapng"), (), 3),
        (str(CAPTURES / "kafka44_sarama_groups.pcapng"), (), 11),
        (str(CAPTURES / "tansu_rdk216_acks.pcap"), (), 0),
        (TLS13, (KEYS13,), 1),
        (str(CAPTURES / "kafka44_java_tls12.pcapng"), (str(CAPTURES / "kafka44_java_tls12.keys"),), 1),
    ],
)
def test_the_exchanges_are_the_same(path: str, keys: tuple[str, ...], key: int, tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    options = [word for name in keys for word in ("--keylog", name)] + (["--decrypted"] if keys else [])
    assert main(["extract", "-Y", f"api_key == {key}", "-o", str(out), path, *options]) == 0
    before = [exchange for exchange in exchanges_of(path, keys) if exchange.api_key == key]
    after = exchanges_of(out)
    assert before
    assert in_order([each for each in after if each.api_key == key]) == in_order(before)
    assert {each.api_key for each in after} <= {key, None, *NEGOTIATION}
    assert any(each.api_key == 18 for each in after)


def test_connections_are_kept_as_they_were(tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    assert main(["extract", "--connections", "--api", "Produce", "-o", str(out), PRODUCE]) == 0
    wanted = {each.connection.id for each in exchanges_of(PRODUCE) if each.api_key == 0}
    before = [each for each in exchanges_of(PRODUCE) if each.connection.id in wanted]
    assert in_order(exchanges_of(out)) == in_order(before)
    assert packets_of(out) < packets_of(PRODUCE)


@pytest.mark.parametrize("keep", [False, True])
def test_secrets_of_connections_are_kept_if_asked_for(keep: bool, tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    options = ["--keep-secrets"] if keep else []
    words = [
        "extract",
        "--connections",
        "--api",
        "Fetch",
        "-o",
        str(out),
        TLS13,
        "--keylog",
        KEYS13,
        *options,
    ]
    assert main(words) == 0
    before = [e.connection for e in exchanges_of(TLS13, [KEYS13]) if e.api_key == 1 and e.connection.tls]
    after = [e.connection for e in exchanges_of(out) if e.connection.tls]
    assert {info.start_ns for info in after} == ({info.start_ns for info in before} if keep else set())
    logged = {line.split()[1] for line in Path(KEYS13).read_text().splitlines() if "TRAFFIC" in line}
    held = {random for random in logged if random.encode() in out.read_bytes()}
    mine = {info.tls.client_random.hex() for info in before if info.tls and info.tls.client_random}
    assert held == (mine if keep else set())
    assert mine < logged


def test_encrypted_exchanges_are_not_left_out_in_silence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["extract", "-o", str(tmp_path / "o"), TLS13, "--keylog", KEYS13]) == 0
    assert "TLS connections; --decrypted writes them as plaintext" in capfd.readouterr().err


def tshark(*arguments: str) -> list[list[str]]:
    program = shutil.which("tshark")
    if program is None:
        pytest.skip("tshark is not installed")
    words = [program, "-n", "--disable-protocol", "smpp", *arguments]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return [line.split("\t") for line in ran.stdout.splitlines()]


def assert_wireshark_is_content(path: Path, *more: str) -> list[list[str]]:
    """Every checksum is right, nothing is malformed or seems lost."""
    rows = tshark(
        "-r", str(path), "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-T", "fields",
        "-e", "tcp.checksum.status", "-e", "ip.checksum.status", "-e", "tcp.analysis.flags",
        "-e", "_ws.malformed", "-e", "frame.comment", *more,
    )  # fmt: skip
    assert rows
    assert {tuple(row[:4]) for row in rows} == {("1", "1", "", "")}
    return rows


def test_wireshark_opens_them_and_shows_which_exchange(tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    main(["extract", "--api", "Metadata", "-o", str(out), PRODUCE])
    rows = assert_wireshark_is_content(out)
    first = next(iter(exchanges_of(PRODUCE)))
    comments = [row[4] for row in rows if len(row) > 4 and row[4]]
    assert comments[0].startswith(f"{first.connection.id}/0 ApiVersions v")
    metadata = [each for each in exchanges_of(PRODUCE) if each.api_key == 3]
    assert sum(" Metadata v" in text for text in comments) == 2 * len(metadata)


@pytest.mark.parametrize("options", [[], ["--redact=names"]])
def test_wireshark_opens_what_was_decrypted(tmp_path: Path, options: list[str]) -> None:
    out = tmp_path / "out.pcapng"
    assert main(["extract", "-o", str(out), TLS13, "--keylog", KEYS13, "--decrypted", *options]) == 0
    assert_wireshark_is_content(out)


@pytest.mark.parametrize("options", [[], ["--redact=names"]])
def test_wireshark_dissects_as_much_as_before(tmp_path: Path, options: list[str]) -> None:
    """Its dissector does not know all versions: what it finds malformed must be so in the capture too."""
    source, out = CAPTURES / "kafka28zk_franz_early.pcapng", tmp_path / "out.pcapng"
    assert main(["extract", "-o", str(out), str(source), *options]) == 0
    ports = {each.connection.broker.port for each in exchanges_of(out)}
    words = [word for port in ports for word in ("-d", f"tcp.port=={port},kafka")]
    fields = ["-T", "fields", "-e", "frame.time_epoch", "-e", "kafka.api_key", "-e", "_ws.malformed"]
    before, after = (tshark("-r", str(path), *words, *fields) for path in (source, out))
    malformed = [{row[0] for row in rows if len(row) > 2 and row[2]} for rows in (before, after)]
    assert malformed[1] <= malformed[0]
    dissected = [sum(len(row) > 1 and row[1] != "" for row in rows) for rows in (before, after)]
    assert dissected[0] == dissected[1] > 500


def test_standard_output(tmp_path: Path) -> None:
    main(["extract", "--api", "Metadata", "-o", str(tmp_path / "out"), PRODUCE])
    words = command("extract", "--api", "Metadata", "-o", "-", PRODUCE)
    ran = subprocess.run(words, capture_output=True, check=True, cwd=CHECKOUT)
    assert ran.stdout == (tmp_path / "out").read_bytes()


def test_what_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ran = run("extract", "-o", tmp_path / "o", "-", stdin=Path(PRODUCE).read_bytes())
    assert ran.code == 2
    assert "reads its inputs twice" in ran.err
    copy = tmp_path / "copy.pcapng"
    shutil.copy(PRODUCE, copy)
    for words in (
        ["-o", str(copy), str(copy)],
        ["-o", str(tmp_path / "o"), PRODUCE, "--keep-secrets"],
        ["-o", str(tmp_path / "o"), PRODUCE, "--keep-secrets", "--connections", "--redact"],
        ["-o", str(tmp_path / "o"), PRODUCE, "--decrypted", "--connections"],
    ):
        assert main(["extract", *words]) == 2
    assert copy.read_bytes() == Path(PRODUCE).read_bytes()
    assert main(["extract", "-o", str(tmp_path / "no" / "o"), PRODUCE]) == 3
    assert "No such file" in capfd.readouterr().err


def test_any_number_of_frames_in_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans that do not fit into memory lie in a file: what is written is the same."""
    whole, small = tmp_path / "whole", tmp_path / "small"
    assert main(["extract", "-o", str(whole), PRODUCE]) == 0
    monkeypatch.setattr(plan_spool, "RUN_BYTES", 500)
    monkeypatch.setattr(plan_spool, "READ_BYTES", 100)
    written = counted(monkeypatch, plan_spool.TemporaryPlans, "write")
    assert main(["extract", "-o", str(small), PRODUCE]) == 0
    assert small.read_bytes() == whole.read_bytes()
    assert len(written) > 10


def counted(monkeypatch: pytest.MonkeyPatch, of: type, name: str) -> list[object]:
    """Return the calls of a method."""
    calls: list[object] = []
    plain = getattr(of, name)
    monkeypatch.setattr(of, name, lambda self, *given: calls.append(given) or plain(self, *given))
    return calls


def test_no_room_for_plans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def full(_self: object, _data: bytes) -> int:
        raise OSError(28, "No space left on device", "/some/tmp")

    monkeypatch.setattr(plan_spool.TemporaryPlans, "write", full)
    assert main(["extract", "-o", str(tmp_path / "o"), PRODUCE]) == 3
    assert capfd.readouterr().err == "kdissect: /some/tmp: No space left on device\n"
    assert not (tmp_path / "o").exists()


def test_nothing_matches(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    empty = write_pcap(tmp_path / "empty.pcap", Conversation().handshake().packets)
    assert main(["extract", "-o", str(tmp_path / "o"), empty]) == 0
    assert "no exchange" in capfd.readouterr().err
    assert not exchanges_of(tmp_path / "o")


def comments_of(path: Path, *options: str) -> dict[str, str]:
    rows = tshark("-r", str(path), *options, "-T", "fields", "-e", "frame.number", "-e", "frame.comment")
    return {row[0]: row[1] for row in rows if len(row) == 2 and row[1]}


def test_packets_are_annotated_for_wireshark(tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    acks = str(CAPTURES / "tansu_rdk216_acks.pcap")
    assert main(["extract", "--annotate", "-Y", "has finding FRM006", "-o", str(out), acks]) == 0
    metadata = [text for text in comments_of(out).values() if "Metadata" in text]
    exchange = next(
        each for each in Dissection(acks) if metadata[0].startswith(f"{each.connection.id}/{each.ordinal} ")
    )
    assert exchange.latency_ns is not None
    label = f"{exchange.connection.id}/{exchange.ordinal} Metadata v12"
    latency = f"latency {exchange.latency_ns / 1e6:.3f} ms"
    assert metadata[0].startswith(f"{label} request, correlation id {exchange.correlation_id}; ")
    assert "FRM006" in metadata[0]
    assert metadata[1].startswith(f"{label} response, correlation id {exchange.correlation_id}; {latency}")


def test_annotations_name_errors_and_go_with_redaction(tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    words = ["--annotate", "--redact=names", "--errors", "-o", str(out), PRODUCE]
    assert main(["extract", *words]) == 0
    said = [text for text in comments_of(out).values() if "; latency" in text]
    assert any(text.endswith("ms; UNKNOWN_TOPIC_OR_PARTITION") for text in said)
    assert any(text.endswith("ms; COORDINATOR_LOAD_IN_PROGRESS") for text in said)


def test_whole_connections_are_not_annotated(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["extract", "--annotate", "--connections", "-o", str(tmp_path / "out.pcapng"), PRODUCE]
    assert main(words) == 2
    assert "--annotate cannot go with it" in capfd.readouterr().err
