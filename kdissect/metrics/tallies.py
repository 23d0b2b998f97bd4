"""What is counted of the exchanges with one set of labels."""

from copy import copy
from typing import Self

from kdissect.metrics.time_histogram import TimeHistogram
from kdissect.session.exchange import Exchange, State
from kdissect.stats.response_time import ResponseTime


class ExchangeTally:
    """Exchanges of one API, broker and client id: frames, bytes (size prefixes included), latencies."""

    __slots__ = (
        "latency", "request_bytes", "requests", "response_bytes", "responses", "throttle_ns", "unanswered",
    )  # fmt: skip

    def __init__(self) -> None:
        self.requests = self.responses = self.unanswered = 0
        self.request_bytes = self.response_bytes = 0
        self.throttle_ns = 0
        self.latency = TimeHistogram()

    def add(self, exchange: Exchange, times: ResponseTime | None) -> None:
        """Count one exchange; `times` are None where it has no latency."""
        if exchange.request is not None:
            self.requests += 1
            self.request_bytes += exchange.request.bytes_on_wire
        if exchange.response is not None:
            self.responses += 1
            self.response_bytes += exchange.response.bytes_on_wire
        self.unanswered += exchange.state is State.UNANSWERED
        if times is not None:
            self.latency.add(times.latency)
            self.throttle_ns += times.throttle

    def copy(self) -> Self:
        """The same counts, which do not change any more."""
        new = copy(self)
        new.latency = self.latency.copy()
        return new


class TopicTally:
    """Exchanges of one API that name one topic. `record_bytes` are those of its batches on the wire."""

    __slots__ = ("latency", "record_bytes", "requests")

    def __init__(self) -> None:
        self.requests = self.record_bytes = 0
        self.latency = TimeHistogram()

    def copy(self) -> Self:
        """The same counts, which do not change any more."""
        new = copy(self)
        new.latency = self.latency.copy()
        return new


class Count:
    """A number that grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def copy(self) -> Self:
        """The same number, which does not change any more."""
        return copy(self)
