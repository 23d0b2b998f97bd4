"""Every field of exchanges made by hand: its value, whether it is there, how many values it has.

`python -m tests.regenerate filters` writes field_values.txt.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kdissect.decoders.encoder import encode
from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.frame import Frame
from kdissect.model.packets.packet import packet_ref
from kdissect.model.packets.process import Process
from kdissect.model.packets.stream import CloseKind
from kdissect.query import compile_filter
from kdissect.query.binding import Binding, Context
from kdissect.query.fields.field_table import chosen_fields
from kdissect.query.fields.lookup import ENTITIES, look_up
from kdissect.query.fields.printed_fields import FieldValues, type_of
from kdissect.query.fields.row_fields import row_fields
from kdissect.schema.protocol_messages import api
from kdissect.session.exchange import DelayOfSide, Exchange, ExchangeKind, State
from kdissect.session.identities import Identities, learn_identities
from kdissect.session.info import Close
from tests.query.exchanges import BROKER, CLIENT, START, exchange
from tests.support.messages.batches import batch_bytes, message_bytes, record_bytes

GOLDEN = Path(__file__).parent / "field_values.txt"
FILES = ("a.pcap", "b.pcap", "c.pcap")
ID = bytes(range(16))
NO_COLUMNS = ("number", "batch")
# Objects of kdissect, which columns have of rows instead.
STRUCTS = ("request", "response", "closed", "anomalies", "processes", "request.packets", "response.packets")


HEADER = b"head"


def framed(body: bytes, first: tuple[int, int], last: tuple[int, int], begins_ns: int, ends_ns: int) -> Frame:
    data = HEADER + body
    return Frame(data, len(data), packet_ref(*first), packet_ref(*last), START + begins_ns, START + ends_ns)


def with_headers(**facts: Any) -> Exchange:
    """Return an exchange whose frames have something before their bodies."""
    return exchange(request_body_offset=len(HEADER), response_body_offset=len(HEADER), **facts)


def whole() -> Exchange:
    """Return everything that can be known of a Metadata exchange."""
    made = with_headers(api_version=12, state=State.COMPLETE)
    metadata = api(3)
    assert metadata is not None
    asked = {
        "topics": [{"topic_id": ID, "name": "orders"}], "allow_auto_topic_creation": True,
        "include_topic_authorized_operations": False,
    }  # fmt: skip
    topic = {
        "error_code": 3, "name": "orders", "topic_id": ID, "is_internal": False, "partitions": [],
        "topic_authorized_operations": 0,
    }  # fmt: skip
    told = {
        "throttle_time_ms": 250, "brokers": [], "cluster_id": "abc", "controller_id": 1, "topics": [topic]
    }  # fmt: skip
    made.request = framed(encode(metadata.request, 12, asked), (0, 3), (0, 5), 1, 2)
    made.response = framed(encode(metadata.response, 12, told), (0, 7), (1, 9), 1_000_002, 1_000_500)
    java, kafka = Process("java", 41, "orders-7d", "shop", "app-1"), Process("kafka", 7)
    made.connection.processes = ((CLIENT, java), (BROKER, kafka), (None, Process("sh", 9)))
    made.connection.software_name, made.connection.software_version = "franz-go", "1.2"
    made.connection.principal, made.connection.mechanism = "alice", "PLAIN"
    made.client_trip_ns, made.broker_trip_ns = 30, 400
    made.delays = (DelayOfSide(False, START + 100, START + 700),)
    made.close = Close("client", CloseKind.FIN, START + 10**9)
    made.connection.identities = Identities()
    made.note(AnomalyKind.GAP, "10 bytes")
    made.response.note(Anomaly(AnomalyKind.CUT_FRAME, "why"))
    learn_identities(made)  # as the conversation does when an exchange is complete
    return made


def bare() -> Exchange:
    """No frames."""
    return exchange(state=State.UNANSWERED)


def orphan() -> Exchange:
    """Return a response alone, of no error; its connection ended."""
    made = with_headers(api_key=12, api_version=1, client_id=None, state=State.ORPHAN_RESPONSE)
    heartbeat = api(12)
    assert heartbeat is not None
    body = encode(heartbeat.response, 1, {"throttle_time_ms": 0, "error_code": 0})
    made.response = framed(body, (2, 1), (2, 1), 5, 5)
    made.close = Close(None, CloseKind.CAPTURE_END, START + 6)
    return made


def token() -> Exchange:
    """Return a frame without a header, cut."""
    made = exchange(api_key=None, api_version=None, correlation_id=None, client_id=None)
    made.kind = ExchangeKind.SASL_TOKEN
    made.request = Frame(b"\0user", 9, packet_ref(1, 2), packet_ref(9, 3), START, START)
    return made


def produced() -> Exchange:
    """Return batches of different magic, codec and producer."""
    made = with_headers(api_key=0, api_version=3, state=State.NO_RESPONSE_EXPECTED)
    batches = (
        batch_bytes(
            record_bytes(value=b"v"), 1, base_offset=5, attributes=0x10, producer_id=7, epoch=2, sequence=3
        ),
        batch_bytes(record_bytes(value=b"w"), 1, crc=1, max_timestamp=-1),
        batch_bytes(b"", 0, attributes=0x24),
    )
    partitions = [{"index": number, "records": batch} for number, batch in enumerate(batches)]
    produce = api(0)
    assert produce is not None
    asked = {
        "transactional_id": "t", "acks": 0, "timeout_ms": 1500,
        "topic_data": [{"name": "orders", "partition_data": partitions}],
    }  # fmt: skip
    made.request = framed(encode(produce.request, 3, asked), (0, 1), (0, 1), 0, 0)
    return made


def old() -> Exchange:
    """Messages of magic 0 and 1."""
    made = with_headers(api_key=0, api_version=2)
    records = message_bytes(b"a", magic=0, offset=1) + message_bytes(b"b", magic=1, offset=2)
    produce = api(0)
    assert produce is not None
    topic = {"name": "orders", "partition_data": [{"index": 0, "records": records}]}
    body = encode(produce.request, 2, {"acks": 1, "timeout_ms": 1, "topic_data": [topic]})
    made.request = framed(body, (0, 1), (0, 1), 0, 0)
    return made


def joining() -> Exchange:
    """Return a body with bytes that are decoded, and entities."""
    made = with_headers(api_key=11, api_version=5, state=State.COMPLETE)
    join = api(11)
    assert join is not None
    metadata = bytes(2) + (1).to_bytes(4) + b"\0\6orders" + b"\xff\xff\xff\xff"
    asked = {
        "group_id": "g", "session_timeout_ms": 1, "rebalance_timeout_ms": 2, "member_id": "",
        "group_instance_id": None, "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": metadata}],
    }  # fmt: skip
    told = {
        "throttle_time_ms": 7, "error_code": 27, "generation_id": -1, "protocol_name": "", "leader": "",
        "member_id": "m", "members": [],
    }  # fmt: skip
    made.request = framed(encode(join.request, 5, asked), (0, 1), (0, 1), 0, 0)
    made.response = framed(encode(join.response, 5, told), (0, 2), (0, 2), 10, 10)
    return made


def login() -> Exchange:
    """Return a secret, and a response that does not fit."""
    made = with_headers(api_key=36, api_version=1, state=State.COMPLETE)
    login, session = api(36), (5000).to_bytes(8)
    assert login is not None
    body = encode(login.request, 1, {"auth_bytes": b"\0alice\0secret"})
    made.request = framed(body, (0, 1), (0, 1), 0, 0)
    made.response = framed(b"\0\0\xff\xff\0\0\0\0" + session + b"more", (0, 2), (0, 2), 10, 10)
    return made


def slowed() -> Exchange:
    """Return a time of throttling in a response that is longer than its layout."""
    made = with_headers(api_key=12, api_version=1, state=State.COMPLETE)
    made.response = framed((9).to_bytes(4) + b"\0\0" + b"more", (0, 2), (0, 2), 10, 10)
    return made


def described() -> Exchange:
    """Return a field that is a struct in another API."""
    made = with_headers(api_key=15, api_version=0)
    groups = api(15)
    assert groups is not None
    made.request = framed(encode(groups.request, 0, {"groups": ["g", "h"]}), (0, 1), (0, 1), 0, 0)
    return made


EXCHANGES = (whole, bare, orphan, token, produced, old, joining, login, slowed, described)
OF_BODIES = (
    "request.acks", "request.timeout_ms", "request.topic_data.partition_data.index",
    "request.topic_data.partition_data.records", "request.topics.topic_id", "request.protocols.metadata",
    "request.protocols.metadata_decoded.value.topics", "request.protocols.metadata_decoded.value",
    "request.protocol_type", "request.allow_auto_topic_creation", "response.throttle_time_ms",
    "response.topics.error_code", "response.error_code", "response.body.cluster_id", "response.**.error_code",
    "request.*.name", "request.groups", "response.session_lifetime_ms",
)  # fmt: skip


def context() -> Context:
    return Context(start_ns=lambda: START, file_names=FILES)


def facts_of(name: str, made: dict[str, Exchange]) -> Iterator[str]:
    """Yield what a filter and a column have of a field, and which exchanges have it so."""
    predicate = compile_filter(name)
    needs = [need for need in ("all", "topics", "bodies", "findings") if getattr(predicate, f"needs_{need}")]
    needs += ["same for its kind"] * predicate.is_by_kind
    yield ", ".join((f"{name}: {type_of(name)}", *needs))
    there, null = predicate.bind(context()), compile_filter(f"{name} == null").bind(context())
    count = look_up(name).counter(Binding(context()))
    print_values = FieldValues([name], context())
    found: dict[str, list[str]] = {}
    for which, each in made.items():
        value = print_values(each)[name]
        line = "struct" if name in STRUCTS and value else repr(value)
        line += f"; {'there' if there(each) else 'not there'}, {int(count(each))} times"
        found.setdefault(line + ", null" * null(each), []).append(which)
    for line, those in found.items():
        yield f"    {' '.join(those)}: {line}"


def test_every_field() -> None:
    made = {make.__name__: make() for make in EXCHANGES}
    names = [*row_fields(), *ENTITIES, *OF_BODIES]
    chosen = {
        one.column.name: one
        for one in chosen_fields([name for name in names if "*" not in name and name not in NO_COLUMNS])
    }
    lines = []
    for name in names:
        lines += facts_of(name, made)
        if (one := chosen.get(name)) is not None:
            lines.append(f"    column: {one.type} at {'.'.join(one.column.keys)}")
    found = "\n".join(lines) + "\n"
    if os.environ.get("KDISSECT_UPDATE"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8")
