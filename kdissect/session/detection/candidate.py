"""Bytes that may be Kafka's, until they are proven or refuted.

Rules:
- Proof is a frame that decodes to its last byte, or an answer that carries the id of a request.
- A weak header (null or empty client id, or one that is no text) takes two of them: a few zeros would do for
  one. That of an API or
  a version our schema does not know takes the answer, and a client id.
"""

import struct
from collections.abc import Iterator

from kdissect.decoders.bodies import response_fits
from kdissect.schema import protocol_messages
from kdissect.session.detection.recognition import (
    MAX_FRAME_SIZE,
    MAX_STEP,
    MIN_REQUEST_SIZE,
    MIN_RESPONSE_SIZE,
    MIN_UNKNOWN_CLIENT_ID,
    Verdict,
    printable,
    request_at,
    request_decodes,
)

# Bytes of a direction that are judged. A plausible header with a client id is accepted after this number of
# bytes of its frame: the detection cannot buffer more bytes.
JUDGED_BYTES = 32 << 10
# Requests searched for the id that an answer carries: a producer that wants no answer has no more in flight
# (max.in.flight.requests.per.connection is 5, org.apache.kafka.clients.producer.ProducerConfig).
MAX_REQUESTS = 6
_HEADER = struct.Struct(">ihhih")  # size, api_key, api_version, correlation_id, client_id length
_ANSWER = struct.Struct(">ii")  # size, correlation_id
_PREFIX = 4


class Candidate:
    """Candidate whose `data` begins with a plausible request (`detect.request_at`). `is_cut`: no byte of it
    will follow.
    """

    __slots__ = ("_fits", "_is_answered", "_is_known", "_is_strong", "_length", "data", "is_cut")

    def __init__(self, data: bytes, is_cut: bool = False) -> None:
        self.data = data[:JUDGED_BYTES]
        self.is_cut = is_cut
        _, key, version, _, self._length = _HEADER.unpack_from(data)
        api = protocol_messages.api(key)
        self._is_known = api is not None and version in api.versions
        client_id = data[_HEADER.size : _HEADER.size + max(self._length, 0)]
        self._is_strong = bool(client_id) and printable(client_id, len(client_id) < self._length)
        self._fits = Verdict.MORE
        self._is_answered = Verdict.MORE

    def more(self, data: bytes) -> None:
        """Take the bytes that follow."""
        if not self.is_cut and len(self.data) < JUDGED_BYTES:
            self.data = (self.data + data)[:JUDGED_BYTES]

    def answered(self, answer: bytes, is_first: bool) -> None:
        """Take bytes from the other end: its first bytes (`is_first`), which can also refute, or later
        bytes.
        """
        if self._is_answered is not Verdict.MORE or len(answer) < _ANSWER.size:
            return
        size, correlation_id = _ANSWER.unpack_from(answer)
        verdict = Verdict.NO
        if MIN_RESPONSE_SIZE <= size <= MAX_FRAME_SIZE and correlation_id in self._ids():
            # Zeros occur everywhere: with them the body must decide.
            is_plain = correlation_id or self._is_strong
            verdict = Verdict.YES if is_plain else self._of_body(answer[_PREFIX : _PREFIX + size], size)
        if is_first or verdict is Verdict.YES:
            self._is_answered = verdict

    def _of_body(self, frame: bytes, size: int) -> Verdict:
        """Return whether a frame, as far as it came, holds an answer to the first request."""
        if len(frame) < size:
            return Verdict.MORE
        key, version = struct.unpack_from(">hh", self.data, _PREFIX)
        return Verdict(any(frame) and response_fits(frame, key, version))

    def _ids(self) -> Iterator[int]:
        """Yield the correlation ids of the first requests, which follow each other by their sizes."""
        at = 0
        for _ in range(MAX_REQUESTS):
            if len(self.data) - at < _HEADER.size:
                return
            size, _, _, correlation_id, _ = _HEADER.unpack_from(self.data, at)
            if not MIN_REQUEST_SIZE <= size <= MAX_FRAME_SIZE:
                return
            yield correlation_id
            at += _PREFIX + size

    def verdict(self) -> Verdict:
        """Return the verdict by the bytes so far."""
        if not self._is_known:
            return self._of_unknown()
        self._look()
        return self._of_strong() if self._is_strong else self._of_weak()

    def _look(self) -> None:
        """Decode the first frame once it is whole."""
        if self._fits is Verdict.MORE and len(self.data) - _PREFIX >= int.from_bytes(self.data[:_PREFIX]):
            self._fits = Verdict(request_decodes(self.data, 0))

    def _of_unknown(self) -> Verdict:
        is_named = self._is_strong and self._length >= MIN_UNKNOWN_CLIENT_ID
        return self._is_answered if is_named else Verdict.NO

    def _of_strong(self) -> Verdict:
        if Verdict.YES in (self._fits, self._is_answered):
            return Verdict.YES
        if self._is_answered is Verdict.NO:
            return Verdict.NO
        is_long = self._fits is Verdict.MORE and len(self.data) >= JUDGED_BYTES
        return Verdict.YES if is_long else Verdict.MORE

    def _of_weak(self) -> Verdict:
        if self._fits is Verdict.NO:
            return Verdict.NO
        if self._is_answered is Verdict.YES or (self._fits is Verdict.YES and self._goes_on()):
            return Verdict.YES
        return Verdict.MORE

    def _goes_on(self) -> bool:
        """Return whether a second whole request follows the first, with a correlation id that counts on."""
        size, _, _, first, _ = _HEADER.unpack_from(self.data)
        at = _PREFIX + size
        if len(self.data) - at < _HEADER.size or request_at(self.data, at) is not Verdict.YES:
            return False
        size, _, _, second, _ = _HEADER.unpack_from(self.data, at)
        is_whole = len(self.data) - at - _PREFIX >= size
        return is_whole and 0 < second - first <= MAX_STEP and request_decodes(self.data, at)

    def is_likely(self, is_silent: bool) -> bool:
        """Return whether to believe it at the end of its bytes.

        `is_silent`: no byte of the other end was seen.
        """
        if not is_silent or not self._is_known or self._fits is Verdict.NO:
            return False
        if self._is_strong:
            return True
        return self._fits is Verdict.YES and self._length != 0
