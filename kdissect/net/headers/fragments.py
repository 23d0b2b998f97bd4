"""Reassembly of fragmented IP packets in a bounded table."""

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.limits import DEFAULT_LIMITS, Limits
from kdissect.model.wording import plural
from kdissect.net.anomaly_log import AnomalyLog
from kdissect.net.headers.datagram import Datagram, Fragment

# Linux waits 30 s for a fragmented packet (net.ipv4.ipfrag_time), RFC 8200 section 4.5 allows 60 s.
LIFETIME_NS = 30_000_000_000
# An identification is not used again this soon: later fragments with it are copies of ones already used.
COPY_WINDOW_NS = 1_000_000_000
MAX_PAYLOAD = 0xFFFF  # a length field of 16 bits, RFC 791 section 3.1; more than the whole is an attack

_Key = tuple[bytes, int, int]


class _Partial:
    __slots__ = ("bytes", "done", "ip_id", "length", "pieces", "ref", "time_ns")

    def __init__(self, ref: int, time_ns: int, ip_id: int) -> None:
        self.pieces: dict[int, tuple[bytes, int]] = {}  # offset -> captured bytes, length
        self.bytes = 0  # sum of all pieces, with overlapping bytes counted twice
        self.length = -1  # of the whole payload, known from the last fragment
        self.ref = ref
        self.time_ns = time_ns
        self.ip_id = ip_id
        self.done = False


class FragmentTable:
    """Table of fragments until a packet is whole. It drops packets by age or number with
    FRAGMENT_INCOMPLETE.
    """

    __slots__ = ("_limits", "_log", "_partials")

    def __init__(self, log: AnomalyLog, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._partials: dict[_Key, _Partial] = {}  # in order of their first fragment
        self._log = log

    def add(self, fragment: Fragment, ref: int, time_ns: int) -> Datagram | None:
        """Take one fragment. Return the whole payload if it was the last one missing."""
        key = (fragment.addresses, fragment.protocol, fragment.identification)
        partial = self._partial(key, fragment.ip_id, ref, time_ns)
        if partial.done or fragment.offset + fragment.length > MAX_PAYLOAD:
            return None
        if fragment.offset not in partial.pieces:
            if len(partial.pieces) >= self._limits.fragments or partial.bytes > MAX_PAYLOAD:
                return None
            partial.pieces[fragment.offset] = fragment.payload, fragment.length
            partial.bytes += fragment.length
        if not fragment.more:
            partial.length = fragment.offset + fragment.length
        whole = _join(partial) if partial.bytes >= partial.length else None
        if whole is None:
            return None
        partial.done = True
        partial.pieces = {}
        return Datagram(fragment.addresses, fragment.protocol, whole, 0, partial.length, partial.ip_id)

    def close(self) -> None:
        """End of input: report what stayed incomplete."""
        for key in list(self._partials):
            self._drop(key)

    def _partial(self, key: _Key, ip_id: int, ref: int, time_ns: int) -> _Partial:
        partial = self._partials.get(key)
        lifetime = COPY_WINDOW_NS if partial and partial.done else LIFETIME_NS
        if partial is not None and time_ns - partial.time_ns <= lifetime:
            return partial
        if partial is not None:
            self._drop(key)
        self._make_room(time_ns)
        partial = self._partials[key] = _Partial(ref, time_ns, ip_id)
        return partial

    def _make_room(self, time_ns: int) -> None:
        while self._partials:
            key, oldest = next(iter(self._partials.items()))
            if (
                len(self._partials) < self._limits.fragmented_packets
                and time_ns - oldest.time_ns <= LIFETIME_NS
            ):
                return
            self._drop(key)

    def _drop(self, key: _Key) -> None:
        partial = self._partials.pop(key)
        if not partial.done:
            detail = f"{plural(len(partial.pieces), 'fragment')} of IP packet {key[2]}, protocol {key[1]}"
            self._log.note(AnomalyKind.FRAGMENT_INCOMPLETE, detail, partial.ref, partial.time_ns)


def _join(partial: _Partial) -> bytes | None:
    """Return the captured start of the payload if every byte is accounted for, captured or cut by a snap
    length.
    """
    if partial.length < 0:
        return None
    joined = bytearray()
    reached, cut = 0, False
    for offset, (payload, length) in sorted(partial.pieces.items()):
        if offset > reached:
            return None
        if not cut:
            joined += payload[reached - offset :]
        reached = max(reached, offset + length)
        cut = cut or len(payload) < length
    return bytes(joined[: partial.length]) if reached >= partial.length else None
