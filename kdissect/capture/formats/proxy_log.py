"""The protocol log of the proxy Kroxylicious: an entry of JSON for each request, and one for each response.

An entry is `{"header": {"type": "REQUEST", "apiKey": "METADATA", "apiVersion": 13, "correlationId": 1,
"clientId": "x"}, "payload": {...}}` over many lines. The prefix of the logging backend is in front of its
first line, and pairs such as `sessionId=...` are in front of it or after its last line
(kroxylicious-protocol-logger: MessageFormatter and ProtocolLoggerFilter). Bodies are as in the request log of
a broker (`decoders.logged_bodies`).

The log has no addresses: an address of 0.0.0.0/8 stands for the id of a session, and 0.0.0.0 for the broker.
"""

import re
from hashlib import blake2b
from typing import Any

from kdissect.capture.formats.capture_parser import PROXY_LOG
from kdissect.capture.formats.request_log import (
    LineError,
    RequestLogParser,
    around_id,
    behind_id,
    ends_of,
    json_at,
    response_version,
    time_in,
)
from kdissect.capture.formats.text_lines import keys_by_name
from kdissect.decoders.logged_bodies import UnreadableBodyError, logged_body
from kdissect.model.packets.logged import Logged
from kdissect.model.packets.packet import PlacedPacket
from kdissect.schema import protocol_messages

# Entries are longer than lines: 64 MiB each, as `MAX_LINE`.
MAX_ENTRY = 1 << 26
_BEGINNING = re.compile(rb'\{\s*"header"\s*:')
_SESSION = re.compile(r'sessionId"?\s*[=:]\s*"?([^\s",;}\])]+)')
_REQUEST, _RESPONSE = "REQUEST", "RESPONSE"
_RECORDS = "records"
_WITH_RECORDS = frozenset({0, 1, 59, 78})  # Produce, Fetch, FetchSnapshot, ShareFetch


class ProxyLogParser(RequestLogParser):
    """Reads a protocol log as packets. See `CaptureParser` for the contract.

    Requests of the proxy itself, whose correlation ids are below 0, are left out.
    """

    __slots__ = ("_entry", "_entry_bytes", "_entry_line")

    format = PROXY_LOG

    def __init__(self, file: int = 0) -> None:
        super().__init__(file)
        self._line_packets = None
        self._entry: list[bytes] = []
        self._entry_bytes = self._entry_line = 0

    def close(self) -> None:
        """End the input, and count an entry that is not complete."""
        self._give_up()
        super().close()

    def _take(self, line: bytes, out: bytearray, places: list[PlacedPacket]) -> None:
        line = line.rstrip(b"\r")
        if self._entry and not line.startswith((b" ", b"\t", b"}")):
            self._give_up()  # a line inside an entry is indented
        if not self._entry:
            if _BEGINNING.search(line) and not line.endswith((b"{", b",", b"[")):
                self._entry_line = self._line
                self._read(line, out, places)  # in one line
            elif line.endswith(b"{"):
                self._entry, self._entry_bytes, self._entry_line = [line], len(line), self._line
            return
        self._entry.append(line)
        self._entry_bytes += len(line)
        if self._entry_bytes > MAX_ENTRY:
            self._entry.clear()
            self._count("too long")
        elif line.startswith(b"}"):
            entry = b"\n".join(self._entry)
            self._entry.clear()
            self._read(entry, out, places)

    def _give_up(self) -> None:
        entry = b"\n".join(self._entry)
        self._entry.clear()
        if _BEGINNING.search(entry):
            self._count("no JSON")

    def _read(self, entry: bytes, out: bytearray, places: list[PlacedPacket]) -> None:
        found = _BEGINNING.search(entry)
        if found is None:
            return  # another message with braces
        start = found.start()
        try:
            row, end = json_at(entry, start, True)
            prefix, behind = entry[:start], entry[end:]
            self._of_entry(row, time_in(prefix), _session(prefix, behind), out, places)
        except LineError as error:
            self._count(error.kind)

    def _of_entry(
        self, row: dict[str, Any], time_ns: int, session: str, out: bytearray, places: list[PlacedPacket]
    ) -> None:
        header = row.get("header")
        try:
            if not isinstance(header, dict) or header["type"] not in (_REQUEST, _RESPONSE):
                raise LineError("no request")
            key, version, correlation_id = header["apiKey"], header["apiVersion"], header["correlationId"]
            number = keys_by_name().get(key)
            if number is None or type(version) is not int or type(correlation_id) is not int:
                raise LineError("no request")
            if correlation_id < 0:
                raise LineError("own request")
            is_request = header["type"] == _REQUEST
            before, behind = (
                around_id(number, version, header["clientId"])
                if is_request
                else (b"", behind_id(number, version))
            )
            content = before + correlation_id.to_bytes(4, signed=True) + behind
        except (KeyError, ValueError, TypeError, AttributeError, OverflowError):
            raise LineError("no request") from None
        body = self._payload(number, version, is_request, row.get("payload"))
        digest = blake2b(session.encode(), digest_size=5).digest()
        client = ".".join(map(str, (0, *digest[:3])))
        connection = f"0.0.0.0:0-{client}:{int.from_bytes(digest[3:])}-{session}"
        comment = Logged(connection, self._entry_line).comment()
        self._packets(ends_of(connection), is_request, content, body, time_ns, comment, out, places)

    def _payload(self, key: int, version: int, is_request: bool, payload: object) -> bytes | None:
        """Return the bytes of a body; None for one that is not known."""
        api = protocol_messages.api(key)
        shown = version if is_request else response_version(key, version, payload)
        if api is None or version not in api.versions:
            self._count("unknown version")
            if api is None or shown == version:
                return None
        if payload is None:
            self._count("no body")
            return None
        try:
            message = api.request if is_request else api.response
            return logged_body(message, shown, _without_sizes(payload) if key in _WITH_RECORDS else payload)
        except UnreadableBodyError:
            self._count("unread body")
            return None


def _session(prefix: bytes, behind: bytes) -> str:
    for part in (behind, prefix):
        found = _SESSION.search(part.decode("utf-8", "replace"))
        if found is not None:
            return found[1]
    raise LineError("no session")


def _without_sizes(item: Any) -> Any:
    """Return a body in which the sizes of records are not known: the log has `""` for any records."""
    if isinstance(item, list):
        return [_without_sizes(one) for one in item]
    if not isinstance(item, dict):
        return item
    if item.get(_RECORDS) == "":
        rest = {name: _without_sizes(value) for name, value in item.items() if name != _RECORDS}
        return rest | {"recordsSizeInBytes": None}
    return {name: _without_sizes(value) for name, value in item.items()}
