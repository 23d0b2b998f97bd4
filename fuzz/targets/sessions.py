"""Conversations: framing and pairing, whole captures with rows, rules, statistics, excerpts."""

from random import Random
from struct import pack, unpack_from
from typing import ClassVar

from fuzz import talks
from fuzz.mutators import NUMBERS, mutate_bytes
from fuzz.target import Target, demand
from kdissect.capture.formats.pcap import PcapParser
from kdissect.engine.analyzer import Analyzer
from kdissect.engine.exchange_rows import ExchangeRows, Row
from kdissect.engine.records.nested_records import nest_batches
from kdissect.excerpt.excerpt_reader import Recorder, listen
from kdissect.excerpt.find_frames import FrameSearch
from kdissect.excerpt.redactor import FrameRedactor
from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.endpoint import ANY_PORTS, Ports
from kdissect.model.packets.packet import Packet, PlainPacket
from kdissect.rules import judge as judging
from kdissect.rules.judge import Judge
from kdissect.session.events import ConnectionClosed, ConnectionOpened, Event
from kdissect.session.exchange import Exchange
from tests.support.packets.pcaps import pcap_bytes

_BROKER = (9092).to_bytes(2)
_MOVED = {AnomalyKind.SKIPPED_BYTES, AnomalyKind.BAD_FRAME_SIZE, AnomalyKind.RESYNCHRONISED}


def events_of(packets: "list[Packet] | list[PlainPacket]", ports: tuple[int, ...] = ()) -> list[Event]:
    """Return every event of packets, given in one batch."""
    analyzer = Analyzer(Ports(ports))
    return analyzer.feed_batch(packets) + analyzer.close()


def facts(events: list[Event]) -> list[tuple[object, ...]]:
    """Return what exchanges are, whatever their packets were."""
    return [
        (
            e.ordinal,
            e.api_key,
            e.api_version,
            e.correlation_id,
            str(e.state),
            _bytes(e.request),
            _bytes(e.response),
        )
        for e in events
        if isinstance(e, Exchange)
    ]


def _bytes(frame: object) -> object:
    return None if frame is None else (frame.data, frame.size)  # type: ignore[attr-defined]


class Sessions(Target):
    """Streams cut in different ways give the same exchanges."""

    name = "sessions"
    about = "detection, framing, SASL phases, pairing: segments of any size give the same exchanges"
    modules = (
        "kdissect.session.connection",
        "kdissect.session.detection.recognition",
        "kdissect.session.detection.detection",
        "kdissect.session.conversation",
        "kdissect.session.framing",
        "kdissect.session.pairing",
        "kdissect.session.sasl",
        "kdissect.session.sasl",
    )
    longest = 500
    bytes_per_byte = 3000

    def seeds(self) -> list[bytes]:
        """Return exchanges of all APIs."""
        return list(talks.seeds(self.longest))

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """See `talks`."""
        return talks.mutate(data, dice, other)

    def grow(self, parts: list[bytes]) -> bytes:
        """See `talks`."""
        return talks.grow(parts)

    def run(self, data: bytes) -> int:
        """In whole segments, in small ones; then once more with the port given."""
        packets = talks.packets(data)
        events = events_of(packets)
        added = talks.wire_bytes(packets) - len(data)
        closed = [e.connection for e in events if isinstance(e, ConnectionClosed)]
        opened = [e for e in events if isinstance(e, ConnectionOpened)]
        demand(len(closed) <= 1 and len(opened) <= 1, "one connection")
        exchanges = [e for e in events if isinstance(e, Exchange)]
        demand(sum(info.exchanges for info in closed) == len(exchanges), "counted")
        ordinals = [e.ordinal for e in exchanges]
        demand(len(set(ordinals)) == len(ordinals), "ordinals")
        if (
            data
            and data[0] & talks.HANDSHAKE
            and not any(_MOVED & set(info.anomaly_counts) for info in closed)
        ):
            small = 7 if len(data) > 80 else 1
            cut = talks.packets(data, small)
            others = events_of(cut)
            added += talks.wire_bytes(cut)
            # Who answers before he is asked is paired or not by the moment at which bytes come.
            if not any(isinstance(e, Exchange) and e.state == "orphan_response" for e in events + others):
                demand(facts(events) == facts(others), f"segments of {small}")
        if len(data) & 3 == 0:
            events_of(packets, (9092,))
            added += talks.wire_bytes(packets)
        return added


class CaptureTarget(Target):
    """A whole capture (pcap), mutated as TCP: packets lost, doubled, swapped, cut, with other numbers."""

    longest = 2500
    bytes_per_byte = 3000

    def seeds(self) -> list[bytes]:
        """Return exchanges of all APIs in small segments."""
        return [pcap_bytes(talks.packets(one, 200)) for one in talks.seeds(300)]

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """Return packets as wholes, their TCP headers, their payloads."""
        if dice.random() < 0.1:
            return mutate_bytes(data, dice, other)
        packets = _records(data)
        if not packets:
            return other
        for _ in range(1 + int(dice.random() * 4)):
            _change(packets, dice, other)
            if not packets:
                return other
        return data[:24] + b"".join(packets)

    def grow(self, parts: list[bytes]) -> bytes:
        """Return all their packets, each part between other ports."""
        return parts[0][:24] + b"".join(
            _from_port(packet, 1024 + number)
            for number, part in enumerate(parts)
            for packet in _records(part)
        )


def _from_port(packet: bytes, port: int) -> bytes:
    """With the client's port, wherever that stands, replaced."""
    at = 50 if packet[52:54] == _BROKER else 52
    return packet[:at] + port.to_bytes(2) + packet[at + 2 :]


def _records(data: bytes) -> list[bytes]:
    """Return the packets of a pcap file, each with its header."""
    found = []
    at = 24
    while at + 16 <= len(data) and len(found) < 80:
        size = 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        if at + size > len(data):
            break
        found.append(data[at : at + size])
        at += size
    return found


def _change(packets: list[bytes], dice: Random, other: bytes) -> None:
    at, to = int(dice.random() * len(packets)), int(dice.random() * len(packets))
    kind = int(dice.random() * 10)
    if kind == 0:
        del packets[at]
    elif kind == 1:
        packets.insert(to, packets[at])
    elif kind == 2:
        packets[at], packets[to] = packets[to], packets[at]
    elif kind == 3:
        packets[to:to] = _records(other)[:6]
    elif kind == 4:
        packets[at] = _cut(packets[at], int(dice.random() * 200))
    elif kind == 5:
        packets[at] = _with_number(packets[at], dice)
    elif kind == 6:
        packets[at] = dice.randbytes(8) + packets[at][8:]  # another time
    else:
        head, payload = packets[at][:70], packets[at][70:]
        packets[at] = _sized(head + mutate_bytes(payload, dice, other[70:]))


def _cut(packet: bytes, size: int) -> bytes:
    kept = packet[16 : 16 + max(size, 1)]
    return packet[:8] + pack("<I", len(kept)) + packet[12:16] + kept


def _sized(packet: bytes) -> bytes:
    """With lengths of pcap and IP put right."""
    size = len(packet) - 16
    out = bytearray(packet)
    if len(out) >= 34:
        out[8:16] = pack("<II", size, size)
        out[32:34] = pack(">H", (size - 14) & 0xFFFF)
    return bytes(out)


def _with_number(packet: bytes, dice: Random) -> bytes:
    """Return a field of the TCP header, moved a little or far."""
    out = bytearray(packet)
    if len(out) < 66:
        return packet
    at = dice.choice((54, 58, 54, 58, 62, 63))
    if at > 58:
        out[at] = int(dice.random() * 256)
    else:
        (number,) = unpack_from(">I", out, at)
        step = dice.choice((-1, 1, -30, 30, -500, 500, 1 << 20, 1 << 31, dice.choice(NUMBERS)))
        out[at : at + 4] = pack(">I", (number + step) & 0xFFFFFFFF)
    return bytes(out)


def read_pcap(data: bytes) -> list[PlainPacket]:
    """Return the packets of an input."""
    parser = PcapParser(0)
    packets = parser.feed(data)
    parser.close()
    return packets


class Captures(CaptureTarget):
    """The analyzer, and rows with bodies and records."""

    name = "captures"
    about = "captures as TCP: any loss and disorder through Analyzer.feed, rows with bodies and records"
    modules = (
        "kdissect.engine.analyzer",
        "kdissect.engine.exchange_rows",
        "kdissect.engine.exchange_bodies",
        "kdissect.engine.records.nested_records",
        "kdissect.engine.records.record_sets",
        "kdissect.engine.connection_rows",
        "kdissect.session",
    )

    def run(self, data: bytes) -> int:
        """In one batch as packet by packet; every exchange as a row."""
        packets = read_pcap(data)
        events = events_of(packets)
        if len(packets) < 12:
            one = Analyzer()
            single = [event for packet in packets for event in one.feed(Packet._make(packet))]
            demand(facts(single + one.close()) == facts(events), "packet by packet")
        rows = ExchangeRows(["x"], bodies=True, nest=_nest)
        for event in events:
            if isinstance(event, Exchange):
                row = rows.row(event)
                demand(row["state"] is not None and row["connection"] == event.connection.id, "a row")
        return 0


def _nest(row: Row, exchange: Exchange) -> list[Anomaly]:
    return nest_batches(row, exchange, False, None)


class Rules(CaptureTarget):
    """The judge, its histories, and a report."""

    name = "rules"
    about = "rules and histories over mutated exchanges, and the report as JSON"
    modules = ("kdissect.rules", "kdissect.history")
    bytes_per_byte = 6000
    # Half a millisecond for an exchange with findings, for which its bytes are taken apart and masked: a MB
    # of frames of 20 bytes holds 20,000 such.
    seconds_per_mb = 25
    mutate = Sessions.mutate
    grow = Sessions.grow
    longest = 400

    def __init__(self) -> None:
        subjects = judging.Subjects(judging.ALL_RULES)  # sorted once: that takes half of what a run does
        judging.Subjects = lambda _rules, guards: subjects  # type: ignore[assignment, misc]

    def seeds(self) -> list[bytes]:
        """Return exchanges of all APIs."""
        return list(talks.seeds(300))

    def run(self, data: bytes) -> int:
        """Judge all."""
        judge = Judge()
        for event in events_of(talks.packets(data)):
            judge.add(event)
        judge.finish()
        for finding in judge.findings.all():
            demand(finding.code != "" and finding.expected + finding.seen != "", "a finding")
        return 0


class Statistics(CaptureTarget):
    """Traffic, topics, groups, producers, fetch sessions, upgrade."""

    name = "statistics"
    about = "everything that counts, over mutated exchanges"
    modules = ("kdissect.stats",)
    mutate = Sessions.mutate
    grow = Sessions.grow
    longest = 400
    seconds_per_mb = 15  # 0.2 ms for an exchange, in all statistics at once, however short it is
    bytes_per_byte = 6000

    def seeds(self) -> list[bytes]:
        """Return exchanges of all APIs."""
        return list(talks.seeds(300))

    def run(self, data: bytes) -> int:
        """Count all, and make the rows of every fourth input: percentiles take most of the time."""
        from fuzz.counters import count

        count(events_of(talks.packets(data)), is_told=sum(data) & 3 == 0)
        return 0


class Excerpts(CaptureTarget):
    """Extraction with every level of redaction."""

    name = "excerpts"
    about = "extract and --redact at every level: what is written reads again, what must go is gone"
    modules = (
        "kdissect.excerpt",
        "kdissect.engine.secrets.secret_bytes",
        "kdissect.engine.secrets.secret_spans",
    )
    levels: ClassVar[tuple[str, ...]] = ("secrets", "payload", "names")
    longest = 1500
    seconds_per_mb = 4  # a tree of each frame that is redacted
    bytes_per_byte = 6000

    def run(self, data: bytes) -> int:
        """Plan, cut, read again."""
        packets = read_pcap(data)
        events = events_of(packets)
        level = self.levels[len(data) % 3]
        harvest = FrameSearch(lambda _exchange: True, False, FrameRedactor(level))
        for event in events:
            harvest.add(event)
        found = harvest.result()
        kept: list[Packet] = []

        def listening(connection: str) -> list[Recorder]:
            return [Recorder(found.plan(connection), False, lambda item: kept.append(item.packet))]

        listen(ANY_PORTS, lambda _file: "", found.connections, listening, [packets] if packets else [])
        demand(sum(len(packet.data) for packet in kept) <= 40 * len(data) + 4000, "not more than there was")
        events_of(kept)
        return 2 * len(data)  # three readings
