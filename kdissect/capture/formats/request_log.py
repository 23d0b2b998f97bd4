"""Kafka's request log (KIP-673): a line of JSON for each request that a broker completed.

A line is `PREFIX Completed request:{JSON} (kafka.request.logger)`; the prefix is that of log4j or log4j 2 and
contains the time. A line becomes packets of its connection: the request at the time at which the broker had
read it, the response at the time of the line, and what else the line has in a comment
(`model.packets.logged`). Bodies are encoded in their version. A body that is not in the log, or that the
schema does not have, is missing bytes after the header.

Packets have no sequence numbers: the analyzer takes the packets of a connection in their order, without a
handshake.
"""

import re
from calendar import timegm
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import islice
from json import JSONDecoder
from struct import Struct
from typing import Any, NamedTuple

from kdissect.capture.formats.capture_parser import REQUEST_LOG, REQUEST_LOG_MARKER, CaptureParser
from kdissect.capture.formats.text_lines import (
    BEGINNING,
    LOST,
    has_second,
    is_in_head,
    is_silent,
    is_whole,
    text_row,
)
from kdissect.decoders.encoder import encode_request_header, encode_response_header
from kdissect.decoders.logged_bodies import UnreadableBodyError, logged_body, native_body
from kdissect.decoders.quirks import has_no_client_id
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.native import is_compiled, native
from kdissect.model.packets.commented import LITTLE, OPT_COMMENT
from kdissect.model.packets.link_types import LinkType
from kdissect.model.packets.logged import Logged
from kdissect.model.packets.packet import MAX_TIME_NS, PacketBlock, PlacedPacket, packet_ref
from kdissect.model.wording import plural
from kdissect.schema import protocol_messages
from kdissect.schema.types import Message

# The longest line of a default broker: a Metadata response of some 100,000 partitions.
MAX_LINE = 1 << 26

_TIME = re.compile(
    rb"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[,.](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?(?!\d)"
)
_TEXT_BEGINNING = BEGINNING.encode()
_NEXT_REQUEST = re.compile(REQUEST_LOG_MARKER + rb"(?=RequestHeader\(apiKey=|\{\")")
_PREFIX_BYTES = 200  # before a marker, in which its time is looked for
_PAYLOAD = 60_000  # bytes of a segment: with its headers it must fit the 16 bits of an IP length
_IPV4, _IPV6 = Struct(">BBHHHBBH4s4s"), Struct(">IHBB16s16s")
_TCP = Struct(">HHIIBBHHH")
_LENGTHS, _OPTION = Struct("<II"), Struct("<HH")
_RAW = LinkType.RAW | LITTLE
_PSH_ACK, _WINDOW = 0x18, 0x7FFF  # the largest window identifies a tap (`engine.taps`)
_ANY_SEQ = 1  # the analyzer takes the packets in their order
_ID_AT, _ID_BYTES = 4, 4  # of the correlation id in a request header, after API key and version
_API_VERSIONS, _UNSUPPORTED_VERSION = 18, 35
_LONGEST = 1000  # maximum length of a stored text, in characters
_ANONYMOUS, _UNKNOWN, _USER = "User:ANONYMOUS", "unknown", "User:"
_MS_NS = 1_000_000
_MOST_MS = 10**9
_TIMES = (
    "requestQueueTimeMs", "localTimeMs", "remoteTimeMs", "throttleTimeMs", "responseQueueTimeMs",
    "sendTimeMs",
)  # fmt: skip

NOTED = {
    "no JSON": ("request", "whose JSON is cut or not valid"),
    "no request": ("request", "without the fields of a request log"),
    "no session": ("message", "of a proxy without the sessionId of its connection"),
    "own request": ("message", "of the proxy's own requests, left out"),
    "no time": ("request", "without a date and time in front"),
    "too long": ("line", f"longer than {MAX_LINE >> 20} MiB"),
    "no text": ("request", "in the text form of Kafka 2.7 and earlier that is cut, or not known"),
    "old text": ("request", "in the text form of Kafka 0.11 and earlier, which has no responses"),
    "silent text": ("request", "of Produce with acks=0 in the text form, which does not have its body"),
    "lost in text": ("exchange", "with a body that the text form of Kafka 2.7 and earlier lacks a part of"),
    "unknown version": ("exchange", "of an API or a version that is not in the schema"),
    "no body": ("exchange", "with a body that was not logged"),
    "unread body": ("exchange", "with a body that does not fit its version"),
}
"""The kinds of lines that are not read, or not whole: what is counted, and what is wrong."""


class LineError(Exception):
    """A request that cannot be read. `kind` is one of `NOTED`, and the line is read on at `end`."""

    def __init__(self, kind: str, end: int | None = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.end = end


class _Ends(NamedTuple):
    """Both ends of a connection: addresses in network order, and ports."""

    broker: bytes
    broker_port: int
    client: bytes
    client_port: int


class RequestLogParser(CaptureParser):
    """Reads a request log as packets. See `CaptureParser` for the contract.

    Requests that a broker sends to the controller for a client are left out: the log has them as the client
    sent them, too.
    """

    __slots__ = ("_first_lines", "_line", "_line_packets", "_part", "_parts_bytes", "noted")

    format = REQUEST_LOG
    is_packet_capture = False

    def __init__(self, file: int = 0) -> None:
        super().__init__(file)
        self.link_types.add(LinkType.RAW)
        self.noted: Counter[str] = Counter()
        self._first_lines: dict[str, int] = {}
        self._line = 0
        self._part: list[bytes] = []  # of the incomplete line, or empty if it is too long
        self._parts_bytes = 0
        self._line_packets = native.LinePackets(ends_of, _kind_of) if is_compiled else None

    def feed_block(self, data: bytes) -> PacketBlock:
        """Return the packets of the lines that are complete by `data`."""
        first_ref = packet_ref(self.file, self.packets + 1)
        out, places = bytearray(), list[PlacedPacket]()
        at, end = 0, data.rfind(b"\n") + 1
        while at < end:
            if not self._parts_bytes:
                lines, at = self._plain_lines(data, at, self._line + 1, out, places)
                self._line += lines
                if at == end:
                    break
            stop = data.index(b"\n", at)
            line = self._completed(data[at:stop])
            # The native engine has not seen the whole of a line that began in the data before.
            if line is not None and not (at == 0 and self._is_plain(line, out, places)):
                self._take(line, out, places)
            at = stop + 1
        self._keep(data[end:])
        self._offset += len(data)
        return PacketBlock(bytes(out), first_ref, places)

    def close(self) -> None:
        """End the input and note the lines that are not read, by the problem with them."""
        self.stopped = True
        for kind, count in self.noted.items():
            noun, wrong = NOTED[kind]
            text = f"{plural(count, noun)} {wrong}, the first in line {self._first_lines[kind]}"
            self._note(AnomalyKind.UNREAD_LINE, text)
            if not self.packets and not self.forwarded and self.error is None:
                self.error = f"no request in it can be read: {text}"

    def note_cut(self, why: str) -> None:
        """Note that the input ended too early, and the lines that are not read."""
        super().note_cut(why)
        self.close()

    def last_block(self) -> PacketBlock:
        """Return the packets of a last line that has no end of line."""
        return self.feed_block(b"\n") if self._parts_bytes else super().last_block()

    def _keep(self, rest: bytes) -> None:
        self._parts_bytes += len(rest)
        if self._parts_bytes <= MAX_LINE:
            self._part.append(rest)
        else:
            self._part.clear()

    def _completed(self, line: bytes) -> bytes | None:
        """Return the whole line that ends with these bytes; None for one that is too long."""
        self._line += 1
        is_long, size = self._parts_bytes > MAX_LINE, self._parts_bytes + len(line)
        if size != len(line):
            line = b"".join((*self._part, line))
        self._part.clear()
        self._parts_bytes = 0
        if is_long or size > MAX_LINE:
            self._count("too long")
            return None
        return line

    def _count(self, kind: str) -> None:
        self.noted[kind] += 1
        self._first_lines.setdefault(kind, self._line)

    def _take(self, line: bytes, out: bytearray, places: list[PlacedPacket]) -> None:
        """Make packets of the requests in a line. Writers that share a file may put two in one line."""
        line = line.removesuffix(b"\r")  # of Windows: a line of text ends with the last of its values
        position, behind = line.find(REQUEST_LOG_MARKER), 0
        while position >= 0:
            start = position + len(REQUEST_LOG_MARKER)
            prefix = line[max(behind, position - _PREFIX_BYTES) : position]
            try:
                is_last = line.find(REQUEST_LOG_MARKER, start) < 0
                row, end = _row_of_text(line, start) or json_at(line, start, not is_last)
                self._request(row, time_in(prefix), out, places)
            except LineError as error:
                self._count(error.kind)
                end = start if error.end is None else error.end
            behind = end
            position = line.find(REQUEST_LOG_MARKER, end)

    def _is_plain(self, line: bytes, out: bytearray, places: list[PlacedPacket]) -> bool:
        lines, _ = self._plain_lines(line + b"\n", 0, self._line, out, places)
        return lines > 0

    def _plain_lines(
        self, data: bytes, at: int, number: int, out: bytearray, places: list[PlacedPacket]
    ) -> tuple[int, int]:
        """Make packets of lines as far as the native engine reads them, the first of which has this number.

        Return how many these are, and where the next line begins.
        """
        if self._line_packets is None:
            return 0, at
        made, placed, captured, forwarded, lines, end = self._line_packets.take(data, at, number)
        base = len(out)
        places += [(base + start, time, link, base + stop, size) for start, time, link, stop, size in placed]
        out += made
        self.packets += len(placed)
        self.captured_bytes += captured
        self.forwarded += forwarded
        return lines, end

    def _request(self, row: dict[str, Any], time_ns: int, out: bytearray, places: list[PlacedPacket]) -> None:
        if row.get("isForwarded") is True:
            self.forwarded += 1
            return
        header = row.get("requestHeader")
        try:
            if not isinstance(header, dict):
                raise LineError("no request")
            key, version = header["requestApiKey"], header["requestApiVersion"]
            correlation_id = header["correlationId"]
            client_id = None if has_no_client_id(key, version) else header["clientId"]
            total_ms = row["totalTimeMs"]
            total_ns = _ns(total_ms)
            ends = ends_of(row["connection"])
            number = correlation_id.to_bytes(_ID_BYTES, signed=True)
            before, behind = around_id(key, version, client_id)
            asked, answered = before + number + behind, number + behind_id(key, version)
        except (KeyError, ValueError, TypeError, AttributeError, OverflowError):
            raise LineError("no request") from None
        if total_ns is None:
            raise LineError("no request")
        request, response = self._bodies(key, version, row)
        facts = self._facts(row)
        comment = facts.comment()
        self._packets(ends, True, asked, request, time_ns - total_ns, comment, out, places)
        if _is_answered(key, row):
            self._packets(ends, False, answered, response, time_ns, comment, out, places)

    def _bodies(self, key: int, version: int, row: dict[str, Any]) -> tuple[bytes | None, bytes | None]:
        """Return the bytes of both bodies; None for one that is not known."""
        api = protocol_messages.api(key)
        shown = response_version(key, version, row.get("response"))
        if api is None or version not in api.versions:
            self._count("unknown version")
            if api is None or shown == version:
                return None, None
            return None, self._body(api.response, shown, row.get("response"))
        request = self._body(api.request, version, row.get("request"))
        if not _is_answered(key, row):
            return request, None
        return request, self._body(api.response, shown, row.get("response"))

    def _body(self, message: Message, version: int, body: object) -> bytes | None:
        if body is LOST or body is None or body == "":
            self._count("lost in text" if body is LOST else "no body")
            return None
        try:
            return logged_body(message, version, body)
        except UnreadableBodyError:
            self._count("unread body")
            return None

    def _facts(self, row: dict[str, Any]) -> Logged:
        software = row.get("clientInformation")
        if not isinstance(software, dict):
            software = {}
        principal = row.get("principal")
        if isinstance(principal, str):
            principal = None if principal == _ANONYMOUS else principal.removeprefix(_USER)
        texts = (
            principal, row.get("listener"), row.get("securityProtocol"),
            software.get("softwareName"), software.get("softwareVersion"),
        )  # fmt: skip
        times = [_ns(row.get(name)) for name in _TIMES]
        return Logged._make((row["connection"][:_LONGEST], self._line, *times, *map(_text, texts)))

    def _packets(
        self,
        ends: _Ends,
        is_request: bool,
        header: bytes,
        body: bytes | None,
        time_ns: int,
        comment: bytes,
        out: bytearray,
        places: list[PlacedPacket],
    ) -> None:
        """Append the packets of a frame. A body that is not known is a byte that was not captured."""
        missing = 1 if body is None else 0
        content = header + (body or b"")
        content = (len(content) + missing).to_bytes(4) + content
        time_ns = max(0, min(time_ns, MAX_TIME_NS))
        for start in range(0, len(content), _PAYLOAD):
            payload = content[start : start + _PAYLOAD]
            lost = missing if start + _PAYLOAD >= len(content) else 0
            data = _segment(ends, is_request, payload, lost)
            self.packets += 1
            self.captured_bytes += len(data)
            at = len(out)
            out += _LENGTHS.pack(len(data), len(data) + lost) + data + bytes(-len(data) & 3)
            out += _OPTION.pack(OPT_COMMENT, len(comment)) + comment + bytes((-len(comment) & 3) + 4)
            places.append((at, time_ns, _RAW, len(out), len(data) + lost))


_decoder = JSONDecoder()


def json_at(line: bytes, start: int, wants_end: bool) -> tuple[dict[str, Any], int]:
    """Return the JSON object from a position in a line on, and the position after it: that of the end of the
    line if it is not wanted. Raises LineError.
    """
    text = line[start:].decode("utf-8", "replace")
    try:
        row, end = _decoder.raw_decode(text)
    except (ValueError, RecursionError):
        raise LineError("old text" if text.startswith("{api_key=") else "no JSON") from None
    if type(row) is not dict:
        raise LineError("no JSON")
    return row, start + len(text[:end].encode("utf-8", "replace")) if wants_end else len(line)


def _row_of_text(line: bytes, start: int) -> tuple[dict[str, Any], int] | None:
    """Return the row of a line of Kafka 2.7 and earlier, and the position after it; None for any other line.

    A text has no end of its own, so that it ends where the next request of the line begins. A client id, or
    another text of a client, may look like that: the line is one request if all of it is read as one.
    Raises LineError.
    """
    if not line.startswith(_TEXT_BEGINNING, start):
        return None
    stops = [*islice(_next_requests(line, start), 2), len(line)]
    text = _decoded(line, start, stops[0])
    row, end = text_row(text), stops[0]
    if row is None and len(stops) > 1:
        text, row, end = _longer_row(line, start, stops)
    if row is None or not (is_whole(row) or not has_second(text)):
        raise LineError("no text", end)
    if is_silent(row, text):
        raise LineError("silent text", end)
    return row, end


def _longer_row(line: bytes, start: int, stops: list[int]) -> tuple[str, dict[str, Any] | None, int]:
    """Return the text, the row and the end of a request that does not end at the first of `stops`. Without a
    row it is cut there.
    """
    first = stops[0]
    behind = line.find(_TEXT_BEGINNING, first)
    following = text_row(_decoded(line, behind, stops[1])) if behind >= 0 else None
    is_next_whole = following is not None and is_whole(following)
    in_head = is_in_head(_decoded(line, start, len(line)), len(_decoded(line, start, first)))
    for stop in stops[1:]:
        text = _decoded(line, start, stop)
        row = text_row(text)
        if row is not None and is_whole(row) and (in_head or following is None):
            return text, row, stop
    return "", None, stops[1] if in_head and not is_next_whole else first


def _next_requests(line: bytes, start: int) -> Iterator[int]:
    """Yield where the times of the next requests in a line are."""
    for marker in _NEXT_REQUEST.finditer(line, start):
        times = list(_TIME.finditer(line, max(start, marker.start() - _PREFIX_BYTES), marker.start()))
        if times:
            yield times[-1].start()


def _decoded(line: bytes, start: int, stop: int) -> str:
    text = line[start:stop].decode("utf-8", "replace")
    return text.removesuffix("[") if stop < len(line) else text


def time_in(prefix: bytes) -> int:
    """Return the last time in the prefix of a request, in nanoseconds since 1970 UTC.

    A time without a zone counts as UTC.
    """
    times = list(_TIME.finditer(prefix))
    if not times:
        raise LineError("no time")
    found = times[-1]
    try:
        seconds = _seconds(found.group(1, 2, 3, 4, 5, 6))
    except ValueError:
        raise LineError("no time") from None
    fraction, zone = found.group(7) or b"", found.group(8)
    if zone and zone != b"Z":
        minutes = int(zone[1:3]) * 60 + int(zone[-2:])
        seconds += -minutes * 60 if zone[:1] == b"+" else minutes * 60
    return seconds * 10**9 + int(fraction.ljust(9, b"0"))


@lru_cache(maxsize=16)
def _seconds(parts: tuple[bytes, ...]) -> int:
    year, month, day, hour, minute, second = map(int, parts)
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second <= 60):
        raise ValueError("no date")
    return timegm((year, month, day, hour, minute, second, 0, 0, 0))


def _ns(milliseconds: object) -> int | None:
    """Return a time of a line in nanoseconds; None for what is none."""
    if type(milliseconds) not in (int, float) or not 0 <= milliseconds <= _MOST_MS:  # type: ignore[operator]
        return None
    return round(milliseconds * 1000) * 1000  # type: ignore[operator]  # the log has three digits


def _text(value: object) -> str | None:
    return value[:_LONGEST] if isinstance(value, str) and value not in ("", _UNKNOWN) else None


def _is_answered(key: int, row: dict[str, Any]) -> bool:
    """Return whether the broker sent a response: a Produce with acks=0 has none (`""` up to 4.2, null in
    4.4).
    """
    request = row.get("request")
    is_silent = key == 0 and isinstance(request, dict) and request.get("acks") == 0
    return not (is_silent and not row.get("response"))


def response_version(key: int, version: int, response: object) -> int:
    """Return the version of a response: 0 if the broker does not know that of an ApiVersions (KIP-511)."""
    is_refused = isinstance(response, dict) and response.get("errorCode") == _UNSUPPORTED_VERSION
    return 0 if key == _API_VERSIONS and is_refused else version


@lru_cache(maxsize=1024, typed=True)
def around_id(key: int, version: int, client_id: str | None) -> tuple[bytes, bytes]:
    """Return the parts of a request header before and after the correlation id. Raises ValueError."""
    header = encode_request_header(key, version, 0, client_id)
    return header[:_ID_AT], header[_ID_AT + _ID_BYTES :]


@lru_cache(maxsize=1024, typed=True)
def behind_id(key: int, version: int) -> bytes:
    """Return the part of a response header after the correlation id."""
    return encode_response_header(key, version, 0)[_ID_BYTES:]


def _kind_of(key: int, version: int) -> tuple[Any, ...] | None:
    """Return how the native engine encodes headers and bodies of a version; None for one that it does not
    encode.
    """
    api = protocol_messages.api(key)
    if api is None or version not in api.versions:
        return None
    _, behind = around_id(key, version, None)
    refused = native_body(api.response, 0) if key == _API_VERSIONS else None
    bodies = native_body(api.request, version), native_body(api.response, version)
    return behind, behind_id(key, version), *bodies, refused


@lru_cache(maxsize=1024)
def ends_of(connection: str) -> _Ends:
    """Return the ends in `local:port-remote:port-number`. Raises ValueError."""
    local, remote, *_ = connection.split("-")
    ends = [end.rpartition(":") for end in (local, remote)]
    (broker, broker_port), (client, client_port) = ((_address_of(host), int(port)) for host, _, port in ends)
    if broker.version != client.version or not (0 <= broker_port < 1 << 16 and 0 <= client_port < 1 << 16):
        raise ValueError("no connection")
    return _Ends(broker.packed, broker_port, client.packed, client_port)


@lru_cache(maxsize=1024)  # clients with many connections
def _address_of(host: str) -> IPv4Address | IPv6Address:
    return ip_address(host.partition("%")[0].strip("[]"))


def _segment(ends: _Ends, is_request: bool, payload: bytes, lost: int) -> bytes:
    """Return an IP packet with a TCP segment, of which the last `lost` bytes are missing. Checksums are 0."""
    source, source_port, target, target_port = ends.client, ends.client_port, ends.broker, ends.broker_port
    if not is_request:
        source, source_port, target, target_port = target, target_port, source, source_port
    length = _TCP.size + len(payload) + lost
    if len(source) == 4:  # bytes of an IPv4 address
        ip = _IPV4.pack(0x45, 0, _IPV4.size + length, 0, 0x4000, 64, 6, 0, source, target)
    else:
        ip = _IPV6.pack(6 << 28, length, 6, 64, source, target)
    tcp = _TCP.pack(source_port, target_port, _ANY_SEQ, _ANY_SEQ, 0x50, _PSH_ACK, _WINDOW, 0, 0)
    return ip + tcp + payload
