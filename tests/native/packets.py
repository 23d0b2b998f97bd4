"""What both sides are asked about packets: functions that give values that can be pickled and compared."""

import pickle
import struct
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kdissect.capture.capture_file import CaptureFile
from kdissect.capture.files import open_captures
from kdissect.capture.formats.file_format import parser_for
from kdissect.capture.formats.packet_file import PacketFile
from kdissect.capture.merge import merge
from kdissect.cli import main
from kdissect.engine.analyzer import Analyzer
from kdissect.engine.event_order import OrderedAnalyzer
from kdissect.engine.shards import KeyedEvents, Shard, ShardAnalyzer
from kdissect.engine.taps.duplicate_taps import DuplicateTaps
from kdissect.model.limits import Limits
from kdissect.model.packets.packet import FILE_SHIFT, Packet, PacketBlock, PlainPacket
from kdissect.session.events import Event
from tests.engine.test_in_order import blocks, damaged, each, plain, streams, told
from tests.support.messages.traffic import CLIENT, Conversation, request, response


def told_of(packets: list[PlainPacket], cuts: list[int]) -> Any:
    """Everything the bulk path tells of packets, and what it keeps of connections."""
    return told(list(blocks(packets, cuts)))


def told_of_plain(packets: list[PlainPacket]) -> Any:
    """Return the same packet by packet."""
    return told([packets])


def told_of_file(path: str) -> Any:
    """Return the same of a file, as it is read."""
    captures = open_captures([path])
    batches = list(captures.batches())
    return told(batches), facts(captures.files[0])


def facts(file: CaptureFile) -> Any:
    """Return what reading a file found out about it."""
    return (
        file.packets, file.captured_bytes, file.link_types, file.drops, file.first_time_ns, file.last_time_ns,
        repr(file.anomalies), sorted(file.anomaly_counts.items()), repr(file.error), file.secrets,
    )  # fmt: skip


def told_with_few(packets: list[PlainPacket], most: int) -> Any:
    """Return the events if at most so many connections may be open."""
    analyzer = Analyzer(limits=Limits(connections=most))
    said = list(each(analyzer, blocks(packets, [40])))
    return said, plain(analyzer.close()), repr(analyzer.anomalies)


def told_of_sets(packets: list[PlainPacket], cuts: list[int]) -> Any:
    """Return the events of two capture sets with the same packets, block by block in turns."""
    analyzer = Analyzer(capture_set_of=str, duplicate_taps=DuplicateTaps())
    again = [((1 << FILE_SHIFT) | number, *rest) for number, *rest in packets]
    turns = zip(blocks(packets, cuts), blocks(again, cuts), strict=True)  # type: ignore[arg-type]
    said = list(each(analyzer, chain(*turns)))
    return said, plain(analyzer.close())


class File:
    """Stands for a file that is merged with others."""

    def __init__(self, blocks: list[PacketBlock]) -> None:
        self._blocks = blocks

    def batches(self) -> Iterator[PacketBlock]:
        """Return what is read of it."""
        return (block for block in self._blocks if len(block))


def told_of_turns(packets: list[PlainPacket], cuts: list[int], late_ns: int, are_compared: bool) -> Any:
    """Return the events of three files of two capture sets, packet by packet in turns, with the order of
    all: the same packets, but those of the third file, which is of the first set, are of other hosts.
    """
    taps = DuplicateTaps() if are_compared else None
    analyzer = Analyzer(capture_set_of=lambda file: "one" if file % 2 == 0 else "other", duplicate_taps=taps)
    ordered, files = OrderedAnalyzer(analyzer), []
    for number in range(3):
        own = [
            (
                (number << FILE_SHIFT) | ref,
                time_ns + number * late_ns,
                link,
                _elsewhere(data, number),
                wire,
            )
            for ref, time_ns, link, data, wire in packets
        ]
        files.append((own[0][1], File(blocks(own, cuts))))
    said = []
    for batch in merge(files, lambda *_: None):  # type: ignore[arg-type]
        for events in ordered.feed_each(batch):
            if isinstance(events, list):
                said += [(key, plain(event)) for key, event in events]
            else:
                said += [(ordered.order_of(events, at), plain(events[at])) for at in range(len(events))]
    said += [(key, plain(event)) for key, event in ordered.close({})]
    return said, analyzer.parser.packets


def _elsewhere(data: bytes, number: int) -> bytes:
    return data if number < 2 else data[:26] + b"\x63" + data[27:30] + b"\x63" + data[31:]  # of both IPs


def told_by_shards(packets: list[PlainPacket], cuts: list[int]) -> Any:
    """Return the events of each of two shards, with its place."""
    said = []
    for number in range(2):
        analyzer = ShardAnalyzer(Shard(number, 2))
        for block in blocks(packets, cuts):
            for events in analyzer.placed(analyzer.feed_each(block)):
                said += [(place, plain(event)) for place, event in keyed(analyzer, events)]
        said += [(place, plain(event)) for place, event in analyzer.placed_end({}, analyzer.close())]
    return said


def keyed(analyzer: ShardAnalyzer, events: KeyedEvents) -> Iterator[tuple[bytes, Event]]:
    """Yield events with their keys, also those of a block."""
    if isinstance(events, list):
        yield from events
        return
    for at in range(len(events)):
        event = events[at]
        yield analyzer.key_of(events, at), event


def packets_of(data: bytes, cuts: list[int]) -> Any:
    """Return the packets of a capture that comes in pieces, and what its parser says."""
    kind = parser_for(data[:4])
    if kind is None:
        return None
    parser = kind(3)
    found: list[Any] = []
    for piece in pieces(data, cuts):
        block = parser.feed_block(piece)
        found += list(block)
        if block:
            found += [block.span(), block.times(), block.steps_back(None, 10**9)]
    parser.close()
    said = parser.packets, parser.captured_bytes, parser.offset, parser.preamble, parser.error, parser.drops
    return found, said, repr(parser.anomalies), sorted(parser.link_types), parser.secrets


def pieces(data: bytes, cuts: list[int]) -> Iterable[bytes]:
    """Yield the data, cut behind so many bytes each."""
    for cut in cuts:
        yield data[:cut]
        data = data[cut:]
    yield data


def first_half(packets: list[PlainPacket]) -> bytes:
    """Return an analyzer that took the first packets."""
    analyzer = Analyzer()
    for block in blocks(packets[: len(packets) // 2], [300]):
        for _ in analyzer.feed_each(block):
            pass
    return pickle.dumps(analyzer)


def second_half(state: bytes, packets: list[PlainPacket]) -> Any:
    """Return the events that an analyzer of the other side makes of the rest, in blocks and packet by packet,
    and keeps.
    """
    said = []
    rest = packets[len(packets) // 2 :]
    for batch in (blocks(rest, [100]), [rest]):
        analyzer: Analyzer = pickle.loads(state)
        said.append(list(each(analyzer, batch)))
        said.append([list(stream.recent) for stream in streams(analyzer)])
        said.append(plain(analyzer.close()))
    return said


def with_link(packets: list[PlainPacket], how: str) -> list[PlainPacket]:
    """Return packets on Ethernet as they would be with VLAN tags, as IPv6, or on another link."""
    return [_with_link(packet, how) for packet in packets]


def _with_link(packet: PlainPacket, how: str) -> PlainPacket:
    ref, time_ns, _, data, _ = packet
    ip = data[14:]
    if how in ("ipv6", "raw6") and len(ip) >= 40:
        head = struct.pack(">IHBB", 6 << 28, int.from_bytes(ip[2:4]) - 20, 6, 64)
        ip = head + bytes(12) + ip[12:16] + bytes(12) + ip[16:20] + ip[20:]
    heads = {
        "vlan": (1, data[:12] + b"\x81\0\0\7\x08\0"),
        "vlans": (1, data[:12] + b"\x88\xa8\0\7\x81\0\0\7\x08\0"),
        "ipv6": (1, data[:12] + b"\x86\xdd"),
        "raw6": (101, b""),
        "raw": (228, b""),
        "sll": (113, bytes(14) + b"\x08\0"),
        "sll2": (276, b"\x08\0" + bytes(18)),
        "null": (0, b"\2\0\0\0"),
        "loop": (108, b"\0\0\0\2"),
    }
    if how in TUNNELS:
        tunnel = TUNNELS[how]
        return ref, time_ns, 1, tunnel + data, len(tunnel + data)
    link_type, head = heads[how]
    return ref, time_ns, link_type, head + ip, len(head + ip)


def vxlan(port: int, is_ipv6: bool) -> bytes:
    """Return the headers before a frame that VXLAN carries; its lengths are those of a small packet."""
    udp = struct.pack(">HHHH4s4s", 50001, port, 600, 0, b"\x08\0\0\0", b"\0\0\7\0")
    if is_ipv6:
        return bytes(12) + b"\x86\xdd" + struct.pack(">IHBB", 6 << 28, 600, 17, 64) + bytes(32) + udp
    ip = struct.pack(">BBHHHBBH8s", 0x45, 0, 620, 7, 0x4000, 64, 17, 0, bytes(range(8)))
    return bytes(12) + b"\x08\0" + ip + udp


TUNNELS = {"vxlan": vxlan(4789, False), "vxlan_ipv6": vxlan(8472, True)}


def merged(paths: list[str]) -> Any:
    """Return the events of files that are read together, packet by packet."""
    return told(list(open_captures(paths).batches()))


def talk(said: list[tuple[int, bytes, int]], lost: tuple[int, ...] = ()) -> list[PlainPacket]:
    """Return packets of a connection that begins with a request and its answer; some of them got lost."""
    found = Conversation().handshake().client(request(3, 1, 1000, b"\0\0\0\0", b"me"))
    found.broker(response(1000, b"\0" * 8))
    for side, data, mss in said:
        (found.client if side == CLIENT else found.broker)(data, mss=mss)
    return damaged(found.packets, [(at, "lose", 1) for at in sorted(lost, reverse=True)])


def analyzers(packets: list[PlainPacket], limits: Limits) -> list[Analyzer]:
    """Return one that took packets in one block."""
    analyzer = Analyzer(limits=limits)
    for block in blocks(packets, []):
        list(analyzer.feed_each(block))
    return [analyzer]


def told_of_talk(
    said: list[tuple[int, bytes, int]], limits: Limits, cuts: list[int], lost: tuple[int, ...] = ()
) -> Any:
    """Return the events of a connection in blocks and packet by packet, and the state of all connections."""
    packets = talk(said, lost)
    found = []
    for batches in (blocks(packets, cuts), [packets]):
        analyzer = Analyzer(limits=limits)
        for batch in batches:
            found += [event for _, event in each(analyzer, [batch])]
            counts = analyzer._store.counts
            found.append([counts.frame_bytes, counts.pending_bytes, counts.pending_requests])
        found.append(plain(analyzer.close()))
    return found


def held_of_talk(said: list[tuple[int, bytes, int]]) -> Any:
    """Return the state of a connection, also of a native-owned one."""
    (analyzer,) = analyzers(talk(said), Limits())
    connection: Any = next(iter(analyzer._flows.values()))
    streams = [one.state() for one in connection.tcp.streams]
    conversation = connection._conversation
    waiting = [
        [plain(exchange) for exchange in found]
        for found in (conversation._pairing._pending.values(), conversation._pairing._silent or ())
    ]
    of_pairing = [getattr(conversation._pairing, name) for name in ("_holding", "_bytes", "_answered")]
    of_readers = [
        (one.mode, one._size, b"".join(one.parts), one._stub, one.room, one.is_open)
        for one in connection._readers
    ]
    return streams, waiting, of_pairing, of_readers, conversation._next, conversation._client_id_end


def extracted(files: list[list[PlainPacket]], *arguments: str) -> tuple[int, bytes]:
    """Return what `extract` writes of files with these packets, each a capture set of its own."""
    with TemporaryDirectory() as folder:
        paths = [Path(folder, name, "x.pcapng") for name in "ab"[: len(files)]]
        for path, packets in zip(paths, files, strict=True):
            path.parent.mkdir()
            with PacketFile(str(path)) as file:
                for number, packet in enumerate(packets):
                    file.write(Packet._make(packet), "a comment" if number % 200 == 150 else "")
        out = Path(folder, "out")
        code = main(["extract", "-o", str(out), *arguments, *map(str, paths)])
        return code, out.read_bytes()
