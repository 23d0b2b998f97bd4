"""Connections that are opened, greet their broker and say nothing more, as brokers have them by thousands.

Each is in the capture from its SYN on: the handshake, ApiVersions, Metadata. Their packets end before the
other traffic of the same options begins, whose brokers and topics they share.
"""

from __future__ import annotations

from ipaddress import IPv4Address
from random import Random

from .client import Client, Pair
from .cluster import PORT
from .flow import Endpoints, Flow
from .options import Options
from .sink import START_NS, Sink

# Of clients, whatever the number of connections: tables by client are to have the same rows.
_HOSTS = 20
_FIRST_HOST = IPv4Address("10.201.0.1")
_FIRST_PORT = 32768
_ROUND_TRIP_NS = 120_000
_CONNECTION_NS = 400_000  # one is opened after the other: 2,500 a second
_BEFORE_NS = 2_000_000_000
CLIENT, BROKER = 0, 1


def write_silent(random: Random, sink: Sink, options: Options, clients: list[Client], count: int) -> None:
    """Write so many connections, of these programs in turns, and end `_BEFORE_NS` before START_NS."""
    greetings = [[*client.api_versions(), client.metadata(client.cluster.topics[:2])] for client in clients]
    sink.clock = START_NS - _BEFORE_NS - count * _CONNECTION_NS
    for number in range(count):
        turn = number % len(clients)
        due = START_NS - _BEFORE_NS - (count - number) * _CONNECTION_NS
        sink.clock = max(sink.clock, due)
        _greet(
            Flow(random, sink, _ends(options, clients[turn], number), options.profile, 0.0),
            sink,
            greetings[turn],
        )
    sink.flush()


def _ends(options: Options, client: Client, number: int) -> Endpoints:
    port, host = divmod(number, _HOSTS)
    source = (_FIRST_HOST + host).packed
    broker = IPv4Address(client.broker.host).packed
    return Endpoints(source, _FIRST_PORT + port, broker, PORT, options.link, options.profile.loopback)


def _greet(flow: Flow, sink: Sink, greeting: list[Pair]) -> None:
    for step in range(3):
        flow.open(step)
        sink.clock += _ROUND_TRIP_NS // 6
    for correlation, (request, response) in enumerate(greeting):
        for direction, template in ((CLIENT, request), (BROKER, response)):
            flow.send(direction, memoryview(template.take(correlation)), True)
            sink.clock += _ROUND_TRIP_NS // 6
    flow.acknowledge()
