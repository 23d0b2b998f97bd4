"""Parts of the inputs that could not be read, in one summary, and its lines of text.

Rules:
- Each kind of thing is one line, in commands on stderr, on the screen, and in the library as warnings.
- A healthy plaintext capture has no line. Connections without data, and traffic other than TCP, are part of
  healthy captures.
- M of "N of M connections" counts connections with data. A connection in two capture sets counts once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Self

from kdissect.model.packets.link_types import link_name
from kdissect.model.wording import plural
from kdissect.session.info import ConnectionInfo, ConnectionKind

# Encapsulations whose packets may contain TCP (`net.protocols`).
_ENCAPSULATIONS = (
    "ah", "esp", "gre", "ipip", "ipv6", "l2tp", "macsec", "mpls", "nsh", "pppoe", "tzsp", "vxlan-gpe",
)  # fmt: skip
# Kinds of connections as people call them.
_LOOKS = {"http": "HTTP", "http2": "HTTP/2", "ssh": "SSH", "zookeeper": "ZooKeeper"}
_KEYS_NEED = "a key log (--keylog) with the secrets of their sessions opens them (docs/tls.md)"


class ConnectionTally:
    """Counts connections by what could be read of them."""

    def __init__(self) -> None:
        self.carrying = 0
        """Those with data."""
        self.foreign: Counter[str] = Counter()
        """Those that are no Kafka, by their kind."""
        self.tls: Counter[str] = Counter()
        """Connections with only TLS, by the reason."""
        self.partly: Counter[str] = Counter()
        """Those read up to a point, by the reason."""
        self.tapped = 0
        """Those over TLS that a tap probably has. They are in no other count."""

    def add(self, info: ConnectionInfo) -> None:
        """Count a connection as far as it came."""
        if info.same_as is not None:
            return
        if info.probably_same_as is not None:
            self.tapped += 1
        else:
            self.count(info.kind, None if info.tls is None else info.tls.why)

    def count(self, kind: ConnectionKind, why: str | None) -> None:
        """Count one by its kind, and why its TLS could not be read, or not all of it."""
        if kind is ConnectionKind.NO_DATA:
            return
        self.carrying += 1
        if kind is ConnectionKind.KAFKA:
            if why is not None:
                self.partly[why] += 1
        elif kind is not ConnectionKind.TLS:
            self.foreign[str(kind)] += 1
        elif why is not None:  # else it is not known yet
            self.tls[why] += 1

    def lines(self) -> Iterator[str]:
        """`Unread.lines` of connections alone."""
        return Unread(
            self.carrying, self.foreign, self.tls, self.partly, 0, 0, 0, {}, {}, key_logs=(),
            tapped=self.tapped,
        ).lines()  # fmt: skip

    def copy(self) -> Self:
        """Return the same counts, to go on counting apart."""
        other = type(self)()
        other.carrying = self.carrying
        other.tapped = self.tapped
        other.foreign.update(self.foreign)
        other.tls.update(self.tls)
        other.partly.update(self.partly)
        return other


class KeyLogUse(NamedTuple):
    """Use of a key log that the user named."""

    path: str
    sessions: int
    """Of which it holds secrets."""
    is_used: bool
    """Whether one of them is in the captures."""


class Unread(NamedTuple):
    """The summary. Counts come from `ConnectionTally` and `net.parser.SegmentParser`."""

    carrying: int
    foreign: Mapping[str, int]
    tls: Mapping[str, int]
    partly: Mapping[str, int]
    packets: int
    tcp: int
    malformed: int
    others: Mapping[str, int]
    unsupported: Mapping[int, int]
    key_logs: tuple[KeyLogUse, ...]
    tapped: int = 0

    @property
    def keyless(self) -> int:
        """TLS connections with more than a handshake that could not be decrypted.

        It includes connections that a tap probably has: a probability does not justify a green verdict.
        """
        if not self.tls:
            return self.tapped
        from kdissect.tls.tls_info import UNFINISHED  # start-up: seldom needed

        return self.tapped + sum(count for why, count in self.tls.items() if why != UNFINISHED)

    @property
    def unread_packets(self) -> int:
        """Packets in which TCP may be, and was not looked for."""
        return sum(self.unsupported.values()) + sum(self.others.get(name, 0) for name in _ENCAPSULATIONS)

    @property
    def is_whole(self) -> bool:
        """Whether clients cannot hide in what was not read: a verdict over all there is can be green."""
        return not self.keyless and not sum(self.unsupported.values())

    def lines(self) -> Iterator[str]:
        """Yield a line for each kind of unread data, or no line."""
        yield from self._tls_lines()
        if self.tapped:
            yield (
                f"{plural(self.tapped, 'connection')} over TLS without keys {_verb(self.tapped)} probably in "
                "a tap, which is read (probable copies of kdissect info). A key log (--keylog) proves it"
            )
        yield from self._foreign_line()
        if self.partly:
            count = sum(self.partly.values())
            share = f"{count} of {plural(self.carrying, 'connection')}"
            yield f"{share} could be decrypted in part only: {_by_count(self.partly)}"
        yield from self._packet_lines()
        yield from map(_key_log_line, (log for log in self.key_logs if not log.is_used))

    def _tls_lines(self) -> Iterator[str]:
        if not self.tls:
            return
        from kdissect.tls.tls_info import NO_HANDSHAKE, UNFINISHED, is_about_keys  # start-up: seldom needed

        told = {
            NO_HANDSHAKE: "TLS that began before the capture: without its handshake no key log opens it",
            UNFINISHED: "TLS whose handshake did not finish",
        }
        keyless = {why: count for why, count in self.tls.items() if is_about_keys(why)}
        others = {why: count for why, count in self.tls.items() if why not in keyless and why not in told}
        if keyless:
            whys = _by_count(keyless) if len(keyless) > 1 else next(iter(keyless))
            yield f"{self._share(sum(keyless.values()))} TLS without keys ({whys}); {_KEYS_NEED}"
        if others:
            yield f"{self._share(sum(others.values()))} TLS that cannot be decrypted: {_by_count(others)}"
        for why, what in told.items():
            if why in self.tls:
                yield f"{self._share(self.tls[why])} {what}"

    def _foreign_line(self) -> Iterator[str]:
        if cut := self.foreign.get(ConnectionKind.CUT, 0):
            yield f"{self._share(cut)} not recognized: the snapshot length cut off their data"
        foreign = sum(self.foreign.values()) - cut
        if not foreign:
            return
        looks = {_LOOKS[kind]: count for kind, count in self.foreign.items() if kind in _LOOKS}
        unknown = foreign - sum(looks.values())
        what = _by_count(looks | ({"of a protocol that is not known": unknown} if unknown else {}))
        yield f"{self._share(foreign)} not Kafka: {what}"

    def _packet_lines(self) -> Iterator[str]:
        if self.unsupported:
            kinds = _by_count({link_name(kind): count for kind, count in self.unsupported.items()})
            count = sum(self.unsupported.values())
            share = f"{count} of {plural(self.packets, 'packet')} {_verb(count)}"
            yield f"{share} of a link type that is not read: {kinds}"
        wrapped = {name: self.others[name] for name in _ENCAPSULATIONS if self.others.get(name)}
        if wrapped:
            count = sum(wrapped.values())
            share = f"{count} of {plural(self.packets, 'packet')} {_verb(count)}"
            yield f"{share} in an encapsulation that is not read: {_by_count(wrapped)}"
        if self.tcp or not self.packets or self.unread_packets == self.packets:
            return
        rest = {name: count for name, count in self.others.items() if name not in wrapped}
        rest |= {"malformed": self.malformed} if self.malformed else {}
        yield f"{plural(self.packets, 'packet')} without TCP: {_by_count(rest) or 'fragments alone'}"

    def _share(self, count: int) -> str:
        return f"{count} of {plural(self.carrying, 'connection')} {_verb(count)}"


def joined(parts: Iterable[Unread]) -> Unread:
    """Return one summary for all shards of one reading (`engine.shards`): each reads every packet."""
    first, *rest = parts
    for part in rest:
        uses = zip(first.key_logs, part.key_logs, strict=True)
        first = first._replace(
            carrying=first.carrying + part.carrying,
            foreign=Counter(first.foreign) + Counter(part.foreign),
            tls=Counter(first.tls) + Counter(part.tls),
            partly=Counter(first.partly) + Counter(part.partly),
            tapped=first.tapped + part.tapped,
            key_logs=tuple(one._replace(is_used=one.is_used or other.is_used) for one, other in uses),
        )
    return first


def _verb(count: int) -> str:
    return "is" if count == 1 else "are"


def _by_count(counts: Mapping[str, int]) -> str:
    """`3 SSH, 1 HTTP`: the most first."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {name}" for name, count in ranked)


def _key_log_line(log: KeyLogUse) -> str:
    if not log.sessions:
        return f"key log {log.path} opened nothing: no secret is in it"
    sessions = plural(log.sessions, "session")
    return f"key log {log.path} decrypted no connection: the captures do not contain the {sessions} in it"
