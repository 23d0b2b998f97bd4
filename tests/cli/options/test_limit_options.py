"""`--limits`: every one of them is reached by a small capture, told, and counted by `info`."""

import gzip
import json
import struct
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from kdissect.api import Dissection
from kdissect.cli import COMMANDS, main
from kdissect.cli.reference.completion_command import completions, parser_of
from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.model.limit_notes import LIMIT_NOTES, parse_limits
from kdissect.model.limits import DEFAULT_LIMITS, Limits, in_force, use
from tests.hostile.bodies import ENVELOPE, _envelopes, encoded
from tests.hostile.framing import streams
from tests.hostile.packets import METADATA, ip, raw_ip, tcp, tower
from tests.support.console import CAPTURES
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.traffic import ACK, BROKER, CLIENT, PSH, Conversation, request, response
from tests.support.packets.pcaps import pcap_bytes

PRODUCE = 0


def talks(count: int) -> bytes:
    packets = []
    for number in range(count):
        made = Conversation(ports=(40000 + number, 9092)).handshake()
        packets += made.client(request(3, 1, 1, METADATA)).broker(response(1, bytes(12))).packets
    return pcap_bytes(packets)


def behind_a_hole() -> bytes:
    made = Conversation().handshake().client(request(3, 1, 1, METADATA)).broker(response(1, bytes(12)))
    made.lose(CLIENT, b"lost")
    for _ in range(9):
        made.packet(CLIENT, b"x" * 10, PSH | ACK)
    return pcap_bytes(made.packets)


def large() -> bytes:
    return streams((CLIENT, request(3, 1, 9, METADATA + bytes(3 << 20))))()


def unanswered() -> bytes:
    return streams((CLIENT, b"".join(request(3, 1, n, METADATA) for n in range(5, 25))))()


def fragments() -> bytes:
    data = tcp(b"y" * 100)
    cut = [data[at : at + 40] for at in range(0, len(data), 40)]
    return raw_ip(*[ip(6, part, offset=at * 40, more=at < len(cut) - 1) for at, part in enumerate(cut)])


def unfinished() -> bytes:
    first = [ip(17, bytes(64), more=True, ident=number) for number in range(3)]
    return raw_ip(*first, *[ip(17, bytes(8), offset=64, ident=number) for number in range(3)])


def produced(batch: bytes) -> Callable[[], bytes]:
    part = {"index": 0, "records": batch}
    fields = {"acks": -1, "timeout_ms": 1, "topic_data": [{"name": "t", "partition_data": [part]}]}
    return streams((CLIENT, encode_request(PRODUCE, 3, 5, "me", fields)))


def compressed(size: int, count: int = 1) -> Callable[[], bytes]:
    records = b"".join(record_bytes(number, 0, b"k", bytes(size), []) for number in range(count))
    return produced(batch_bytes(gzip.compress(records, mtime=0), count=count, attributes=1))


def alike(count: int) -> bytes:
    """Return records that are the same byte for byte, which no producer sends: offsets count up."""
    return produced(batch_bytes(gzip.compress(record_bytes() * count, mtime=0), count, attributes=1))()


def old_messages(depth: int) -> bytes:
    """Compressed messages in each other."""
    value = message(b"value", 0)
    for _ in range(depth):
        value = message(gzip.compress(value, mtime=0), 1)
    fields = {"acks": 1, "timeout_ms": 1, "topic_data": [
        {"name": "t", "partition_data": [{"index": 0, "records": value}]}
    ]}  # fmt: skip
    return streams((CLIENT, encode_request(PRODUCE, 2, 5, "me", fields)))()


def message(value: bytes, codec: int) -> bytes:
    from zlib import crc32

    content = struct.pack(">bb", 0, codec) + struct.pack(">i", -1) + struct.pack(">i", len(value)) + value
    content = struct.pack(">I", crc32(content)) + content
    return struct.pack(">qi", 0, len(content)) + content


def envelopes() -> bytes:
    fields = {"request_data": _envelopes(2), "request_principal": b"", "client_host_address": b"\x7f\0\0\1"}
    return encoded(ENVELOPE, 0, fields)()


def many_topics() -> bytes:
    topics = [{"name": f"t{n}", "topic_id": n.to_bytes(16)} for n in range(2, 9)]
    asked = encode_request(3, 12, 7, "me", {"topics": None})
    answered = encode_response(3, 12, 7, {"brokers": [], "topics": topics})
    fetched = encode_request(1, 13, 8, "me", {"topics": [{"topic_id": (3).to_bytes(16), "partitions": []}]})
    return streams((CLIENT, asked), (BROKER, answered), (CLIENT, fetched))()


# Name, value and a capture that is fine without it. Told by words: the test is below.
REACHED: dict[str, tuple[str, Callable[[], bytes]]] = {
    "connections": ("1", lambda: talks(4)),
    "out_of_order_bytes": ("8B", behind_a_hole),
    "frame_bytes": ("1MiB", large),
    "pending_bytes": ("60", unanswered),
    "pending_requests": ("5", unanswered),
    "packet_depth": ("2", lambda: tower(4, b"", 3)),
    "fragmented_packets": ("1", unfinished),
    "fragments": ("2", fragments),
    "direction_out_of_order_bytes": ("20", behind_a_hole),
    "direction_out_of_order_segments": ("3", behind_a_hole),
    "frame_size": ("1MiB", large),
    "connection_pending_requests": ("5", unanswered),
    "connection_pending_bytes": ("60", unanswered),
    "batch_bytes": ("10kB", compressed(100_000)),
    "batch_ratio": ("5", compressed(20 << 20)),
    "batch_records": ("3", compressed(10, 9)),
    "run_bytes": ("1", compressed(1 << 20)),
    "run_ratio": ("2,run_bytes=1", compressed(1000, 9)),
    "run_records": ("1,run_record_ratio=1", lambda: alike(9000)),
    "run_record_ratio": ("1,run_records=1", lambda: alike(9000)),
    "payload_depth": ("1", envelopes),
    "topic_names": ("2", many_topics),
}
IN_WORDS = {name for name, note in LIMIT_NOTES.items() if " " in note.told} | {"message_depth"}


Run = Callable[..., str]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Return what a command prints."""

    def printed(*arguments: object) -> str:
        assert main([str(argument) for argument in arguments]) == 0
        return capfd.readouterr().out

    return printed


def counted(run: Run, path: Path, *more: str) -> dict[str, int]:
    told = run("info", path, "--records", "--format", "json", "-Y", "not topic == nothing", *more)
    return dict(json.loads(told)["anomalies"])


@pytest.mark.parametrize("name", sorted(LIMIT_NOTES.keys() - IN_WORDS))
def test_reaching_one_is_told_and_counted(name: str, tmp_path: Path, run: Run) -> None:
    value, make = REACHED[name]
    path = tmp_path / "a.pcap"
    path.write_bytes(make())
    told = LIMIT_NOTES[name].told
    before = counted(run, path).get(told, 0)
    after = counted(run, path, "--limits", f"{name}={value}").get(told, 0)
    assert after > before
    assert not before


def test_every_limit_has_its_capture() -> None:
    assert REACHED.keys() | IN_WORDS == LIMIT_NOTES.keys() == set(Limits._fields)


def records_of(run: Run, path: Path, *more: str) -> int:
    return len(run("records", path, "--format", "jsonl", *more).splitlines())


def test_messages_in_each_other_are_read_as_deep_as_one_says(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(old_messages(4))
    assert records_of(run, path) == 1
    assert records_of(run, path, "--limits", "message_depth=2") == 0


def test_anomalies_kept_are_as_many_as_one_says_and_all_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(raw_ip(*[b"\x95" + bytes(60)] * 30))
    dissection = Dissection([str(path)], limits=Limits(anomalies=7))
    assert not list(dissection)
    assert len(dissection.analyzer.parser.anomalies) == 7
    assert dissection.analyzer.parser.anomaly_counts.total() == 30


def test_rows_of_a_statistic_share_the_last_one(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(streams(*[(CLIENT, request(3, v, v + 9, METADATA)) for v in range(5)])())
    told = run("stats", path, "--by", "api_version", "--format", "json", "--limits", "statistic_rows=2")
    facts = json.loads(told)
    assert len(facts["rows"]) == 2
    assert facts["other"]["exchanges"] == 3
    assert facts["max_rows"] == 2


def test_findings_beyond_are_counted(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "a.pcap"
    odd = [encode_request(3, 1, n, f"me{n}", {"topics": None}) for n in range(9, 13)]
    odd = [struct.pack(">i", len(one) - 1) + one[4:] + b"abc" for one in odd]
    path.write_bytes(streams(*[(CLIENT, one) for one in odd])())
    words = ["check", path, "--format", "json", "--exit-zero"]
    whole, cut = json.loads(run(*words)), json.loads(run(*words, "--limits", "findings=1"))
    assert len(whole["findings"]) > len(cut["findings"]) == 1
    assert whole["findings_dropped"] == 0
    assert cut["findings_dropped"] > 0


@pytest.mark.parametrize(
    ("limits", "expression"),
    [
        ("filter_characters=4", "error"),
        ("filter_depth=2", "((( error )))"),
        ("pattern_characters=3", 'topic ~ "abcd"'),
        ("pattern_ways=2", 'topic ~ "a?b?c?"'),
    ],
)
def test_a_filter_meets_them_wherever_they_stand(limits: str, expression: str) -> None:
    capture = CAPTURES / "kafka44_java_produce.pcapng"
    for words in (["-Y", expression, "--limits", limits], [f"--limits={limits}", "-Y", expression]):
        assert main(["inspect", str(capture), *words]) == 2
    assert main(["inspect", str(capture), "-Y", expression]) == 0
    assert in_force() == DEFAULT_LIMITS


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("conections=3", "no limit 'conections'; did you mean connections?; see: kdissect limits"),
        ("connections", "'connections' is not NAME=VALUE"),
        ("", "'' is not NAME=VALUE"),
        (" , ", "is not NAME=VALUE"),
        ("connections=3MiB", "connections: '3MiB' is not a whole number"),
        ("batch_bytes=3MX", "batch_bytes: '3MX' is not a number of bytes, such as 1500, 64KiB or 2GB"),
        ("batch_bytes=-3", "'-3' is not a number of bytes"),
        ("batch_bytes=", "'' is not a number of bytes"),
        ("connections=0", "connections: 0 is not within 1-"),
        ("frame_size=3GiB", "frame_size: 3GiB is not within 1048576-2147483647"),
        ("frame_size=1", "is not within 1048576-"),
        ("connections=" + "9" * 5000, "is not within 1-"),
        ("filter_depth=101", "is not within 1-100"),
    ],
)
def test_what_makes_no_sense_is_told(text: str, why: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_limits(text)
    assert main(["info", "a.pcap", f"--limits={text}"]) == 2
    assert why in capfd.readouterr().err


def test_they_are_read_with_units_and_add_up() -> None:
    found = parse_limits("batch_bytes=1GiB, out_of_order_bytes=2kB,connections=50_000")
    assert (found.batch_bytes, found.out_of_order_bytes, found.connections) == (1 << 30, 2000, 50_000)
    assert parse_limits("anomalies=3", found) == found._replace(anomalies=3)


def test_the_last_of_several_options_adds_to_the_others() -> None:
    parser = parser_of("info")
    options = parser.parse_args(["a.pcap", "--limits", "anomalies=3", "--limits=findings=4"])
    try:
        assert options.limits == in_force() == Limits(anomalies=3, findings=4)
    finally:
        use(DEFAULT_LIMITS)


def test_every_command_that_reads_captures_has_them() -> None:
    without = {
        "tap",
        "conform",
        "request-log",
        "rules",
        "fields",
        "limits",
        "decode",
        "schema",
        "wireshark-plugin",
        "completion",
    }
    for name in COMMANDS.keys() - without:
        assert "--limits" in parser_of(name)._option_string_actions, name


def test_a_shell_completes_their_names() -> None:
    found = completions("zsh", ["info", "--limits", "anomalies=3,batch_b"])
    assert found == [("anomalies=3,batch_bytes=", "bytes a batch decompresses to")]


def test_the_list_has_all_of_them(run: Run) -> None:
    assert [row["name"] for row in json.loads(run("limits", "--format", "json"))["limits"]] == list(
        Limits._fields
    )
    assert run("limits").count("\n") == len(Limits._fields)


def test_those_of_the_process_hold_where_none_are_given(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(unanswered())
    try:
        use(Limits(pending_requests=5))
        dissection = Dissection([str(path)])
    finally:
        use(DEFAULT_LIMITS)
    kinds = [str(anomaly.kind) for exchange in dissection for anomaly in exchange.all_anomalies()]
    assert "pending_limit" in kinds


def test_they_hold_in_the_tasks_of_the_pipeline(tmp_path: Path) -> None:
    """Each process sets those it was given, whatever another job left in force."""
    pytest.importorskip("pyarrow", reason="needs the extra arrow")
    from kdissect.engine.shards import Shard
    from kdissect.history.topics.topic_names import TopicNames
    from kdissect.pipeline.inputs import find
    from kdissect.pipeline.share_task import Known, ShareTask
    from kdissect.pipeline.spark_source.source_options import SourceOptions
    from kdissect.pipeline.tap_marks import ListEnds, MarkTaps, Shared
    from kdissect.pipeline.task_setup import Setup

    path = tmp_path / "a.pcap"
    path.write_bytes(unanswered())
    few = Limits(pending_requests=5)
    try:
        use(few)
        setup = Setup.of(find([str(path)]))
        staging = str(tmp_path / "staged")
        known = Known(TopicNames())
        tasks: list[Callable[[], object]] = [
            lambda: ShareTask(setup, staging, ())((0, (), known)),
            lambda: ListEnds(setup)(()),
            lambda: MarkTaps(setup, Shared(frozenset(), None, frozenset()))(Shard(0, 1)),
        ]
    finally:
        use(DEFAULT_LIMITS)
    assert setup.limits == few
    for task in tasks:
        try:
            task()
            assert in_force() == few
        finally:
            use(DEFAULT_LIMITS)
    assert SourceOptions.of({"path": "x", "limits": "pending_requests=5"}).limits == few
    assert SourceOptions.of({"path": "x"}).limits == DEFAULT_LIMITS


def test_they_hold_in_the_workers_of_the_screen(tmp_path: Path) -> None:
    from kdissect.engine.exchange_log.log import ExchangeLog
    from kdissect.tui.processes.worker_messages import Order, Rows
    from kdissect.tui.processes.worker_process import WorkerProcess

    path = tmp_path / "a.pcap"
    path.write_bytes(unanswered())
    log, ended = ExchangeLog(), Event()
    with (tmp_path / "spool").open("wb+") as spool:
        order = Order((str(path),), rows=True, spool=spool.fileno(), limits=Limits(pending_requests=5))
        worker = WorkerProcess(order)
        worker.listen(lambda said: log.extend(said.batch) if isinstance(said, Rows) else None, ended.set)
        assert ended.wait(60)
        worker.stop()
    kinds = [str(a.kind) for row in range(len(log)) for a in log.exchange(row).all_anomalies()]
    assert kinds.count("pending_limit") == 15
    assert in_force() == DEFAULT_LIMITS
