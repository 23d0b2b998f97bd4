"""What both ends of a connection said, line by line, and the packets that say it again.

A mutator changes one thing of a `Talk`; the packets then take the usual way through `Analyzer` and `Judge`.
"""

from collections.abc import Iterable

from kdissect.engine.analyzer import Analyzer
from kdissect.model.endpoint import Ports
from kdissect.model.packets.packet import Packet, packet_ref
from kdissect.rules.judge import Judge
from kdissect.session.exchange import Exchange
from tests.support.messages.traffic import BROKER, CLIENT, STEP_NS, Conversation

# Bytes of a segment: those of a jumbo frame, so that few packets are needed and large frames are still cut.
SEGMENT = 8000
FIRST_PORT = 40000
# Its captures prove that the broker speaks Kafka; one exchange with zeros for an answer would not.
KNOWN = Ports({9092})


class Line:
    """One frame, said by `side` at `at_ns`: `content` behind a size, which `size` overrides.

    `exchange` is the index of the exchange within the talk. `bare` content has no size before it.
    """

    __slots__ = ("at_ns", "bare", "content", "exchange", "side", "size")

    def __init__(
        self,
        side: int,
        content: bytes,
        at_ns: int,
        exchange: int,
        size: int | None = None,
        bare: bool = False,
    ) -> None:
        self.side = side
        self.content = content
        self.at_ns = at_ns
        self.exchange = exchange
        self.size = size
        self.bare = bare

    def data(self) -> bytes:
        """Return the bytes of the stream."""
        if self.bare:
            return self.content
        size = len(self.content) if self.size is None else self.size
        return size.to_bytes(4, signed=True) + self.content

    def copy(self, **changes: object) -> "Line":
        """Return the same line with changes."""
        line = Line(self.side, self.content, self.at_ns, self.exchange, self.size, self.bare)
        for name, value in changes.items():
            setattr(line, name, value)
        return line


class Talk:
    """The lines of one connection in the order they are said; `closer` sends FIN at the end.

    `other` is another connection to the same broker that tells what this one builds on.
    """

    def __init__(self, exchanges: Iterable[Exchange], other: Iterable[Exchange] = ()) -> None:
        self.lines: list[Line] = []
        further = tuple(other)
        self.other: Talk | None = Talk(further) if further else None
        self.closer: int | None = CLIENT
        for index, exchange in enumerate(exchanges):
            for side, frame in ((CLIENT, exchange.request), (BROKER, exchange.response)):
                if frame is not None:
                    self.lines.append(Line(side, frame.data, frame.time_ns, index))
        self.lines.sort(key=lambda line: line.at_ns)  # stable: a request stays before its response

    def line(self, exchange: int, side: int) -> Line:
        """Return the request or response of an exchange."""
        return next(line for line in self.lines if line.exchange == exchange and line.side == side)

    def replace(self, exchange: int, side: int, content: bytes) -> "Talk":
        """Say something else."""
        self.line(exchange, side).content = content
        return self

    def drop(self, exchange: int, side: int) -> "Talk":
        """Leave a line out."""
        self.lines.remove(self.line(exchange, side))
        return self

    def insert_behind(self, line: Line, other: Line) -> "Talk":
        """Say one line more."""
        self.lines.insert(self.lines.index(line) + 1, other)
        return self

    def cut_behind(self, line: Line) -> "Talk":
        """Nothing more is said."""
        del self.lines[self.lines.index(line) + 1 :]
        return self

    def packets(self) -> list[Packet]:
        """Return the connection, from SYN to FIN, at the recorded times."""
        if self.other is None:
            return self._packets(FIRST_PORT)
        both = [*self.other._packets(FIRST_PORT + 1), *self._packets(FIRST_PORT)]
        both.sort(key=lambda packet: packet.time_ns)
        return [packet._replace(ref=packet_ref(0, number)) for number, packet in enumerate(both, 1)]

    def _packets(self, port: int) -> list[Packet]:
        start = self.lines[0].at_ns - 8 * STEP_NS
        talk = Conversation(ports=(port, 9092), start_ns=start).handshake()
        for line in self.lines:
            talk.now = max(talk.now, line.at_ns - STEP_NS)
            (talk.client if line.side == CLIENT else talk.broker)(line.data(), SEGMENT)
        return talk.packets if self.closer is None else talk.fin(self.closer).packets


def judged(talk: Talk, *, guards: bool = True) -> Judge:
    """Return the verdict of every rule on a talk, by the whole path from packets on."""
    analyzer, judge = Analyzer(KNOWN), Judge(guards=guards)
    for packet in talk.packets():
        for event in analyzer.feed(packet):
            judge.add(event)
    for event in analyzer.close():
        judge.add(event)
    judge.finish()
    return judge
