"""Exchanges made by hand."""

from typing import Any

from kdissect.model.endpoint import Endpoint
from kdissect.model.frame import Frame
from kdissect.query import compile_filter
from kdissect.query.binding import Context
from kdissect.session.exchange import Exchange, State
from kdissect.session.info import ConnectionInfo

START = 1_700_000_000 * 10**9  # 2023-11-14T22:13:20Z


CLIENT, BROKER = Endpoint("10.1.2.3", 50001), Endpoint("10.9.9.9", 9092)


def exchange(client: Endpoint = CLIENT, **facts: Any) -> Exchange:
    """Return a Metadata exchange, by default without frames."""
    info = ConnectionInfo("00c0ffee00c0ffee", "set", client, BROKER, START)
    made = Exchange(info, 7)
    made.api_key, made.api_version, made.correlation_id = 3, 1, 42
    made.client_id = "app"
    for name, value in facts.items():
        setattr(made, name, value)
    return made


def frame(data: bytes = b"", time_ns: int = START, size: int | None = None) -> Frame:
    """Return a frame with its first and last byte at one time."""
    return Frame(data, len(data) if size is None else size, 1, 1, time_ns, time_ns)


def answered(latency_ns: int, **facts: Any) -> Exchange:
    """Return an exchange with two frames."""
    found = exchange(state=State.COMPLETE, **facts)
    found.request, found.response = frame(bytes(12)), frame(bytes(12), START + latency_ns)
    return found


def takes(text: str, *exchanges: Exchange) -> list[bool]:
    """Return what a filter says to each."""
    test = compile_filter(text).bind(Context(start_ns=lambda: START))
    return [test(made) for made in exchanges]
