"""What fuzzing and the reading that went with it found, each as small as it gets (docs/fuzzing.md)."""

import gzip
import io
import struct
from contextlib import suppress

import lz4.frame
import pytest
import zstandard

from fuzz.counters import count
from fuzz.targets import TARGETS
from kdissect.capture.compression import Compression, decompress
from kdissect.capture.files import open_captures
from kdissect.capture.formats.pcapng import PcapngParser
from kdissect.decoders.as_json.json_bodies import response_to_jsonable
from kdissect.decoders.compression.codec import codec_name
from kdissect.decoders.compression.codec import decompress as decompress_batch
from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.decoders.frames import dissect_request
from kdissect.decoders.hexinput import HexError, parse_hex
from kdissect.decoders.records import search
from kdissect.decoders.records.batches import split_batches
from kdissect.engine.analyzer import Analyzer
from kdissect.engine.segments.segment_reader import SegmentReader
from kdissect.model.errors import DecodeError, OutputLimitError
from kdissect.model.key_log import MAX_LINE, KeyLog
from kdissect.model.limits import DEFAULT_LIMITS
from kdissect.rules.judge import Judge
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange
from tests.capture.capture_samples import block, interface, option, section
from tests.hostile import framing, records
from tests.hostile.captures import talk
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.traffic import ACK, CLIENT, PSH, Conversation, frame, request, response
from tests.support.run import connections_of, events_of, exchanges_of

METADATA = b"\xff\xff\xff\xff"


def test_an_lz4_frame_that_claims_terabytes_is_no_memory_error() -> None:
    frame_ = bytearray(lz4.frame.compress(b"abc" * 30))
    frame_[6:14] = (1 << 42).to_bytes(8, "little")
    with pytest.raises(DecodeError, match="cannot hold"):
        decompress_batch(3, bytes(frame_))


def test_a_codec_below_0_has_a_name() -> None:
    assert codec_name(-3) == "codec -3"
    assert dissect_request(encode_request(72, 0, 1, "me", {"compression_type": -3, "metrics": b"abc"}))


def test_a_count_of_tags_in_two_bytes_is_no_tag() -> None:
    body = encode_response(18, 3, 1, {"api_keys": [{"api_key": 1}]})[8:]
    assert body[9:10] == b"\0", "the tags of the one key"
    long = body[:9] + b"\x80\0" + body[10:]
    assert response_to_jsonable(long, 0, 18, 3).body == response_to_jsonable(body, 0, 18, 3).body


def test_a_cursor_whose_name_is_no_utf8_is_compared() -> None:
    asked = encode_request(
        75, 0, 1, "me", {"topics": [], "cursor": {"topic_name": "aa", "partition_index": 1}}
    )
    answered = encode_response(
        75, 0, 1, {"topics": [], "next_cursor": {"topic_name": "aa", "partition_index": 1}}
    )
    packets = Conversation().handshake().client(asked).broker(answered.replace(b"aa", b"\xff\xfe")).packets
    judge = Judge()
    for event in events_of(packets):
        judge.add(event)
    judge.finish()


def test_commits_whose_request_does_not_fit_are_counted() -> None:
    packets = Conversation().handshake().client(request(8, 2, 1, b"\xff")).broker(
        encode_response(8, 2, 1, {"topics": []})
    ).packets  # fmt: skip
    count(events_of(packets))


def test_a_line_of_a_key_log_without_end_is_one_bad_line() -> None:
    logs = []
    for step in (1, 700, 5000):
        log = KeyLog()
        text = b"A" * (3 * MAX_LINE) + b"\nB\n"
        for at in range(0, len(text), step):
            log.feed(text[at : at + step])
        log.close()
        logs.append(log.bad_lines)
    assert logs == [2, 2, 2]


def test_what_gzip_gave_before_a_wrong_checksum_is_kept() -> None:
    data = gzip.compress(talk(), mtime=0)[:-8] + bytes(8)
    captures = open_captures(["-"], stdin=io.BytesIO(data))
    assert len(list(captures.packets())) == len(
        list(open_captures(["-"], stdin=io.BytesIO(talk())).packets())
    )
    assert "incorrect data check" in str(captures.errors[0])


@pytest.mark.parametrize("name", ["gzip", "zstd", "lz4"])
def test_thousands_of_tiny_frames_in_a_chunk(name: str) -> None:
    pack = {"gzip": gzip.compress, "zstd": zstandard.compress, "lz4": lz4.frame.compress}[name]
    data = pack(b"x") * 5000
    assert b"".join(decompress(iter([data]), Compression(name))) == b"x" * 5000


def test_thousands_of_gzip_members_in_a_batch() -> None:
    members = gzip.compress(b"x", mtime=0) * 20_000
    assert decompress_batch(1, members) == b"x" * 20_000
    assert decompress_batch(1, members + b"behind") == b"x" * 20_000


def test_a_batch_grows_by_a_ratio_at_most() -> None:
    data = zstandard.ZstdCompressor(level=1).compress(bytes(64 << 20))
    assert len(data) * DEFAULT_LIMITS.batch_ratio < 64 << 20
    with pytest.raises(OutputLimitError):
        decompress_batch(4, data)
    assert len(decompress_batch(4, zstandard.compress(bytes(15 << 20)))) == 15 << 20


def test_zeros_behind_a_segment_are_padding_in_any_chunks() -> None:
    data = batch_bytes(record_bytes(), 1) + bytes(40)
    for size in (len(data), 29, 7):
        reader = SegmentReader()
        for at in range(0, len(data), size):
            list(reader.feed(data[at : at + size]))
        list(reader.close())
        assert reader.padding == 40
        assert not reader.faults


def test_statistics_of_many_interfaces_are_counted_one_by_one() -> None:
    head = section() + interface() * 5000
    statistics = [
        block(5, struct.pack("<III", n, 0, 0) + option(5, struct.pack("<Q", drops)))
        for n, drops in ((7, 3), (9, 4), (7, 5))
    ]
    parser = PcapngParser(0)
    parser.feed(head + b"".join(statistics) + section() + interface() + statistics[0].replace(b"\7", b"\0"))
    assert parser.drops == 9 + 3


def test_damaged_batches_are_searched_with_a_bounded_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def checksum(data: bytes, at: int, end: int, magic: int) -> bool:
        tried.append(end - at)
        return False

    monkeypatch.setattr(search, "_checksum_is_right", checksum)
    for data in (records._damaged_by_turns(3000), records._swallowing(800)):
        tried.clear()
        split_batches(data, 0, len(data))
        assert len(tried) <= search.MAX_CANDIDATES
        assert sum(tried) <= search.MAX_CHECKED + len(data)
    monkeypatch.undo()
    good = batch_bytes(record_bytes(0, 0, b"k", b"v"), 1)
    found = split_batches(data := b"\xee" * 50 + good + b"\xee" * 9 + good, 0, len(data))
    assert len(found.batches) == 2


def test_positions_lost_and_found_a_thousand_times_are_no_deep_recursion() -> None:
    data = framing._wrong_and_right()
    packets = Conversation().handshake().client(framing.GOOD).client(data, 60_000).packets
    assert len(exchanges_of(packets)) > 1000


IN_FLIGHT = DEFAULT_LIMITS.connection_pending_requests


def test_one_correlation_id_for_ever_is_bounded() -> None:
    requests = b"".join(request(3, 1, 5, METADATA) for _ in range(IN_FLIGHT + 500))
    packets = Conversation().handshake().client(requests, 60_000).packets
    analyzer = Analyzer()
    waiting = sum(isinstance(event, Exchange) for packet in packets for event in analyzer.feed(packet))
    assert waiting == 500
    assert sum(isinstance(event, Exchange) for event in analyzer.close()) == IN_FLIGHT


def test_kinds_of_request_of_a_connection_are_bounded() -> None:
    packets = Conversation().handshake().client(framing.GOOD + framing._headers(3000), 60_000).packets
    (info,) = connections_of(packets)
    assert info.exchanges == 3001
    assert len(info.api_versions_seen) == 1000


def test_sasl_tokens_without_an_answer_are_bounded() -> None:
    conversation = Conversation().handshake()
    conversation.client(encode_request(17, 0, 1, "me", {"mechanism": "GSSAPI"}))
    conversation.broker(encode_response(17, 0, 1, {"mechanisms": ["GSSAPI"]}))
    found = exchanges_of(conversation.client(frame(b"\xff" * 20) * 500, 60_000).packets)
    assert len(found) == 501
    assert (
        sum(
            e.state == "unanswered" and any(a.kind == "pending_limit" for a in e.all_anomalies())
            for e in found
        )
        == 436
    )


def test_holes_of_a_connection_of_headers_alone_are_held_as_one() -> None:
    conversation = Conversation()
    for _ in range(500):
        conversation.packet(CLIENT, bytes(1000), PSH | ACK, snap=54)
    analyzer = Analyzer()
    analyzer.feed_batch(conversation.packets)
    (connection,) = analyzer._flows.values()
    assert connection._detection is not None
    assert len(connection._detection._held) == 1


def test_who_listens_is_not_taken_for_the_client_by_the_way_segments_are_cut() -> None:
    """Found as: whole segments gave an unknown connection, small ones a Kafka one with its roles changed."""
    answer = encode_response(0, 8, 1, {"responses": [{"name": "t", "partition_responses": [{"index": 0}]}]})
    kinds = set()
    for mss in (1460, 7):
        conversation = Conversation().handshake()
        conversation.client(b"\xff\xff\xff\xff" + bytes(40), mss).broker(answer, mss)
        (closed,) = [e for e in events_of(conversation.packets) if isinstance(e, ConnectionClosed)]
        kinds.add((str(closed.connection.kind), str(closed.connection.client)))
    assert len(kinds) == 1


def test_fragments_are_bounded_in_number_and_bytes() -> None:
    from fuzz.targets.sessions import read_pcap
    from kdissect.net.parser import SegmentParser
    from tests.hostile.packets import _fragment_flood, _overlapping_fragments

    for make in (_fragment_flood, _overlapping_fragments):
        parser = SegmentParser()
        parser.parse_batch(read_pcap(make()))
        assert parser._layers is not None
        for partial in parser._layers._fragments._partials.values():
            assert len(partial.pieces) <= DEFAULT_LIMITS.fragments
            assert sum(length for _, length in partial.pieces.values()) <= 2 * 65_535


def test_an_answer_is_paired_behind_many_that_are_not_answered() -> None:
    conversation = Conversation().handshake()
    conversation.client(b"".join(request(3, 1, n, METADATA) for n in range(2000)), 60_000)
    conversation.broker(response(1999, bytes(8)))
    done = [e for e in exchanges_of(conversation.packets) if e.state == "complete"]
    assert [e.correlation_id for e in done] == [1999]
    assert {str(a.kind) for a in done[0].all_anomalies()} == {"out_of_order_response"}


def test_what_is_not_zookeeper_is_not_by_the_way_segments_are_cut() -> None:
    """An Envelope of 44 bytes whose body has 16 where ZooKeeper has the length of a password."""
    body = bytes.fromhex("000002016a93010000000100140000001000000002007f2000000000000000ad00")
    asked = frame(struct.pack(">hhih", 58, 0, 1, 0) + b"\0" + body)
    assert len(asked) == 4 + 44
    assert asked[28:32] == b"\0\0\0\x10"
    kinds = set()
    for size in (1460, 7):
        talk = Conversation().handshake().client(asked, size).broker(response(1, bytes(5)), size)
        (connection,) = connections_of(talk.packets)
        kinds.add(str(connection.kind))
    assert kinds == {"unknown"}  # a request of no client and no whole body proves nothing


def test_a_reconnecting_client_of_zookeeper_is_one_in_any_segments() -> None:
    last_seen, session = 0x5_0000_0007, 0x1234
    asked = frame(struct.pack(">iqiqi", 0, last_seen, 30_000, session, 16) + bytes(16))
    for size in (1460, 7):
        (connection,) = connections_of(Conversation().handshake().client(asked, size).packets)
        assert str(connection.kind) == "zookeeper"


def test_a_star_in_a_hex_dump_takes_no_gigabytes() -> None:
    line = "0000  " + "00 " * 16
    assert len(parse_hex(f"{line}\n*\n100000\n")) == 1 << 20
    for far in ("10000000", "ffffffffffff"):
        with pytest.raises(HexError, match="stands for"):
            parse_hex(f"{line}\n*\n{far}\n")


def test_strays_behind_an_out_of_order_fin_bring_no_bytes_after_the_end() -> None:
    """A segment from elsewhere is believed at last; what waited, with a FIN in it, is delivered first."""
    found = (
        "000000000400000080000080808080013f8000000000000001000000140000011000001500000100000016000001100"
        "000170000010000001800000110000019000001dbb3c6ea55ec121000001b0000010600000000000116000000000001"
    )
    TARGETS["reassembly"]().run(bytes.fromhex(found))


def test_a_clock_that_went_back_is_told_before_a_later_fault_however_the_file_is_cut() -> None:
    found = (
        "1f8b0800000000000203bb7278d3422606160618f8ff9f818111c2e4001136504c09809a073"
        "78b110afed733e201c84ec0ae8209cd5c2632c00728cd8c661633050000373430b054010000"
    )
    TARGETS["compressed"]().run(bytes.fromhex(found))


STRANGE_PASTES = (
    '"' + "\\" * 60,  # a string that nobody ends: each backslash was read in two ways
    '\\"' * 20_000,  # each quote was taken for a beginning and followed to the end
    "'\"\\" * 20_000,
    "0000  " + "00 00 00 10 0000  " * 20_000,  # at each gap all before it was read again
    "0000  " + "00  " * 20_000,
)


@pytest.mark.parametrize("text", STRANGE_PASTES)
def test_no_pasted_text_takes_more_time_than_it_is_long(text: str) -> None:
    """2^60 steps in one case, 20,000 squared in the others: they would not come to an end."""
    with suppress(HexError):
        parse_hex(text)


def test_a_string_that_nobody_ends_hides_none_of_the_other_kind() -> None:
    assert parse_hex(r'it\'s "\x00\x01"') == b"\x00\x01"
    assert parse_hex(r"""say "hello '\x02' "\x03" """) == b"hello '\x02' "
