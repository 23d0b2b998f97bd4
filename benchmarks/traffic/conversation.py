"""One connection from SYN to FIN: a generator that sends what is due and yields when it wants to go on."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from random import Random

from .exchange import Exchange
from .flow import HEADER_BYTES, Flow
from .options import Profile
from .role import Role
from .sink import Sink
from .truth import Truth

CLIENT, BROKER = 0, 1
DELAYED_ACK_NS = 40_000_000  # Linux's TCP_DELACK_MIN
ROUND_TRIP_NS = 120_000
BURST_GAP_NS = 25_000  # mean between two bursts of a long write, while others use the link
REQUEST_GAP_NS = 300_000  # mean between two pipelined requests
HANDSHAKE_PACKETS = 7  # of a connection, at its start and its end
COALESCED_FRAMES = 3  # frames of one write, at most


class Budget:
    """Bytes of the file not yet promised: conversations ask before each plan, so that none is cut off."""

    __slots__ = ("left",)

    def __init__(self, size: int) -> None:
        self.left = size

    def charge(self, exchanges: list[Exchange], profile: Profile) -> int:
        """Take what these exchanges will need with headers and ACKs, and return it."""
        cost = 0
        for exchange in exchanges:
            for template in (exchange.request, exchange.response):
                if template is not None:
                    segments = -(-len(template.data) // profile.mss)
                    cost += len(template.data) + HEADER_BYTES * (segments + segments // profile.ack_every)
        self.left -= cost
        return cost


class Conversation:
    """A role played on a flow."""

    def __init__(
        self,
        random: Random,
        profile: Profile,
        sink: Sink,
        truth: Truth,
        budget: Budget,
        flow: Flow,
        role: Role,
    ) -> None:
        self._random = random
        self._profile = profile
        self._sink = sink
        self._truth = truth
        self._budget = budget
        self._flow = flow
        self._role = role
        self._correlation = 0
        self._waiting: deque[tuple[int, int, Exchange]] = deque()

    def run(self, byte_ns: float, plans: int) -> Iterator[int]:
        """Play the role, paced by `byte_ns` (nanoseconds a byte), for `plans` plans at most (-1: no end)."""
        for step in range(3):
            self._flow.open(step)
            yield self._sink.clock + ROUND_TRIP_NS // 2
        opening = self._role.opening()
        if self._profile.plans > 0:  # where connections are short, most bytes are those of their start
            self._budget.charge(opening, self._profile)
            self._budget.left -= HANDSHAKE_PACKETS * HEADER_BYTES
        for exchange in opening:
            yield from self._converse([exchange])
        while self._budget.left > 0 and plans:
            plans -= 1
            plan = self._role.plan()
            cost = self._budget.charge(plan, self._profile)
            yield from self._converse(plan)
            yield from self._idle(self._sink.clock + int(self._random.expovariate(1.0) * cost * byte_ns))
        for exchange in self._role.closing():
            yield from self._converse([exchange])
        for step in range(4):
            self._flow.close(step)
            yield self._sink.clock + ROUND_TRIP_NS // 2

    def _idle(self, until: int) -> Iterator[int]:
        if until - self._sink.clock > DELAYED_ACK_NS:
            yield self._sink.clock + DELAYED_ACK_NS
            self._flow.acknowledge()
        yield max(until, self._sink.clock)

    def _converse(self, plan: list[Exchange]) -> Iterator[int]:
        """Send the plan's requests one after the other, answers meanwhile, and wait for the rest."""
        position = 0
        while position < len(plan):
            count = 1
            if self._random.random() < self._profile.coalesce:
                count = self._random.randint(1, COALESCED_FRAMES)
            yield from self._ask(plan[position : position + count])
            position += count
            if position < len(plan):
                yield self._sink.clock + int(self._random.expovariate(1.0) * REQUEST_GAP_NS)
                yield from self._answer_due()
        while self._waiting:
            yield from self._idle(self._waiting[0][0])
            yield from self._answer_due()

    def _ask(self, exchanges: list[Exchange]) -> Iterator[int]:
        now_ms = self._sink.clock // 1_000_000
        frames = []
        ids = range(self._correlation, self._correlation + len(exchanges))
        self._correlation += len(exchanges)
        for correlation, exchange in zip(ids, exchanges, strict=True):
            frame = exchange.request_frame(correlation, now_ms)
            self._truth.add_request(exchange, len(frame))
            frames.append(frame)
        yield from self._transmit(CLIENT, frames, exchanges)
        due = self._sink.clock
        for correlation, exchange in zip(ids, exchanges, strict=True):
            if exchange.response is None:
                self._truth.settle(exchange)
            else:
                due += exchange.service_ns
                self._waiting.append((due, correlation, exchange))

    def _answer_due(self) -> Iterator[int]:
        """Send the responses whose time has come, in request order; small ones share a segment."""
        while self._waiting and self._waiting[0][0] <= self._sink.clock:
            exchanges: list[Exchange] = []
            frames: list[bytearray] = []
            size = 0
            while self._waiting and self._waiting[0][0] <= self._sink.clock and size < self._profile.mss:
                _, correlation, exchange = self._waiting.popleft()
                frame = exchange.response_frame(correlation, self._sink.clock // 1_000_000)
                self._truth.add_response(exchange, len(frame))
                exchanges.append(exchange)
                frames.append(frame)
                size += len(frame)
            yield from self._transmit(BROKER, frames, exchanges)
            for exchange in exchanges:
                self._truth.settle(exchange)

    def _transmit(self, direction: int, frames: list[bytearray], exchanges: list[Exchange]) -> Iterator[int]:
        """Send frames as one write, burst by burst; while a long request goes out, responses come in."""
        data = memoryview(frames[0] if len(frames) == 1 else b"".join(frames))
        step = self._profile.mss * self._profile.burst
        for start in range(0, len(data), step):
            if start:
                yield self._sink.clock + int(self._random.expovariate(1.0) * BURST_GAP_NS)
                if direction == CLIENT:
                    yield from self._answer_due()
            part = data[start : start + step]
            missed = self._flow.send(direction, part, start + step >= len(data))
            if missed:
                self._mark(
                    direction, frames, exchanges, [(start + low, start + high) for low, high in missed]
                )

    def _mark(
        self,
        direction: int,
        frames: list[bytearray],
        exchanges: list[Exchange],
        missed: list[tuple[int, int]],
    ) -> None:
        """Note which frames of a write are not whole in the capture."""
        begin = 0
        for frame, exchange in zip(frames, exchanges, strict=True):
            end = begin + len(frame)
            if any(low < end and high > begin for low, high in missed):
                if direction == CLIENT:
                    exchange.request_whole = False
                else:
                    exchange.response_whole = False
            begin = end
