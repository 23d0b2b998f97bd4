"""Samples of a connection's exchanges, by which two captures of one connection are recognized.

Rules:
- A sample has digests of a request's and its response's bytes under API key and correlation id. It does not
  depend on packets, sequence numbers or encryption.
- A request that waits for its response when a capture ends is a sample without response: it can contradict
  another one, and proves nothing.
- The correlation id decides whether an exchange is sampled, so that captures that begin at different
  exchanges have common samples. If there are too many samples, half of them are removed.
- A correlation id that comes twice proves nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kdissect.model.digest import blake2b
from kdissect.session.exchange import FIRST_ORPHAN_ORDINAL, Exchange, ExchangeKind, State

if TYPE_CHECKING:
    from kdissect.model.frame import Frame
    from kdissect.session.info import ConnectionInfo

# Bytes of a digest: equal digests mean equal bytes.
_DIGEST = 16
_NOTHING = b""  # instead of a digest: no response is expected
# 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming, volume 3, section 6.4): spreads
# numbers that ascend one by one.
_SPREAD = 0x9E3779B97F4A7C15
_BITS = 64
_MASK = (1 << _BITS) - 1
# Programs of one kind begin every connection with the same bytes: SaslHandshake and ApiVersions
# (org.apache.kafka.common.protocol.ApiKeys).
_NO_PROOF = frozenset({17, 18})


class Match(NamedTuple):
    """The number of equal exchanges that prove a match, and ordinals of the first and last equal exchange.

    `exchanges` is 0 if every program of one kind sends the equal exchanges.
    """

    exchanges: int
    first: tuple[int, int]
    last: tuple[int, int]


class _Sample(NamedTuple):
    """Digests of a request and its response, and the ordinal of the request.

    `response` is None if the request waits for it, or if bytes of it are missing.
    """

    request: bytes
    response: bytes | None
    ordinal: int

    def contradicts(self, other: _Sample) -> bool:
        """Return whether the bytes of two samples differ."""
        is_waiting = self.response is None or other.response is None
        return self.request != other.request or (not is_waiting and self.response != other.response)


class FrameSamples:
    """The samples of one connection in one capture set. Some 300 bytes a sample."""

    __slots__ = ("_level", "_samples", "gaps", "has_orphans", "info", "last_answered", "last_ns", "requests")

    def __init__(self, info: ConnectionInfo) -> None:
        self.info = info
        self.requests = 0
        self.last_answered = -1
        """Ordinal of the last request that was answered, or that no answer was expected of."""
        self.has_orphans = False
        self.gaps = 0
        self.last_ns = info.start_ns
        self._level = 0
        self._samples: dict[int, _Sample | None] = {}

    def __len__(self) -> int:
        return len(self._samples)

    def add(self, exchange: Exchange, most: int) -> None:
        """Take the next exchange, and store at most `most` samples."""
        ordinal = exchange.ordinal
        if ordinal >= FIRST_ORPHAN_ORDINAL:
            self.has_orphans = True
            return
        self.requests = max(self.requests, ordinal + 1)
        if exchange.state is not State.UNANSWERED:
            self.last_answered = max(self.last_answered, ordinal)
        if exchange.kind is not ExchangeKind.KAFKA or exchange.correlation_id is None or not most:
            return
        key = (exchange.correlation_id & 0xFFFFFFFF) << 16 | (exchange.api_key or 0) & 0xFFFF
        if not _is_sampled(key, self._level):
            return
        if key in self._samples:
            self._samples[key] = None
            return
        sample = _sample(exchange)
        if sample is None:
            return
        self._samples[key] = sample
        self.thin(most)

    def thin(self, most: int) -> None:
        """Reduce the samples to at most `most`."""
        while len(self._samples) > most:
            self._level += 1
            self._samples = {
                key: kept for key, kept in self._samples.items() if _is_sampled(key, self._level)
            }

    def match(self, other: FrameSamples) -> Match | None:
        """Return the exchanges that both have; None without one, or if exchanges of one id have different
        bytes.
        """
        few, many = sorted((self._samples, other._samples), key=len)
        found: list[tuple[int, int]] = []
        proof = 0
        for key in few:
            mine, theirs = self._samples.get(key), other._samples.get(key)
            if key in many and mine is not None and theirs is not None:
                if mine.contradicts(theirs):
                    return None
                found.append((mine.ordinal, theirs.ordinal))
                is_waiting = mine.response is None or theirs.response is None
                proof += not is_waiting and key & 0xFFFF not in _NO_PROOF
        return Match(proof, min(found), max(found)) if found else None


def _is_sampled(key: int, level: int) -> bool:
    return not (key * _SPREAD & _MASK) >> (_BITS - level)


def _sample(exchange: Exchange) -> _Sample | None:
    """Of request and response; None if bytes of the request are missing."""
    request, response = exchange.request, exchange.response
    if request is None or request.is_cut:
        return None
    if response is not None:
        answer = None if response.is_cut else _digest(response)
    else:
        answer = None if exchange.state is State.UNANSWERED else _NOTHING
    return _Sample(_digest(request), answer, exchange.ordinal)


def _digest(frame: Frame) -> bytes:
    digest = blake2b(frame.size.to_bytes(4), digest_size=_DIGEST)
    digest.update(frame.data)
    return digest.digest()
