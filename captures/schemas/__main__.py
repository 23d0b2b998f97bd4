"""Writes `schemas.pcap`, the registry's answers and the truth: `python -m captures.schemas`.

The bytes of keys and values are those of the serializers of confluent-kafka with its mock registry, and the
truth is what its deserializers read from them. Needs `confluent-kafka[avro,protobuf,json]`, `grpcio-tools`.
Prefixes of Apicurio and AWS Glue are put before the same payloads by hand, as their serializers write them.
"""

import base64
import datetime
import json
import subprocess
import sys
import tempfile
import uuid
import zlib
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    header_schema_id_serializer,
    prefix_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.json_format import MessageToDict

from kdissect.decoders.encoder import encode_request, encode_response
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.traffic import Conversation
from tests.support.packets.pcaps import write_pcap

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "sources"
_PRODUCE, _VERSION = 0, 9
_GLUE_ID = uuid.UUID("6f3a2b1c-4d5e-4f60-8a7b-9c0d1e2f3a4b")
_UNKNOWN_ID = 999


class Records:
    """Records as they are written, each with what the client reads from it."""

    def __init__(self) -> None:
        self.registry = SchemaRegistryClient.new_client({"url": "mock://schemas"})
        self.records: list[dict[str, Any]] = []

    def add(
        self, topic: str, value: bytes | None, read: Any, headers: Sequence[Any] = (), key: bytes = b""
    ) -> None:
        """Add a record; `read` is the value that the client reads, None if it cannot read it."""
        record = {"topic": topic, "key": key, "value": value, "headers": list(headers), "read": read}
        self.records.append(record)

    def written(self, topic: str, serializer: Any, deserializer: Any, message: Any) -> bytes:
        """Add a message that a serializer writes, and return its bytes."""
        headers: list[Any] = []
        context = SerializationContext(topic, MessageField.VALUE, headers)
        data = serializer(message, context)
        key = f"k{len(self.records)}".encode()
        self.add(topic, data, plain(deserializer(data, context)), headers, key)
        return bytes(data)


def plain(value: Any) -> Any:
    """Return a value of the client as JSON."""
    if hasattr(value, "DESCRIPTOR"):
        return MessageToDict(
            value, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat().replace("+00:00", "Z")
    return str(value) if isinstance(value, (Decimal, uuid.UUID)) else value


def orders() -> list[dict[str, Any]]:
    """Orders with every kind of field."""
    return [
        {
            "id": 1000 + number,
            "customer": {"email": f"anna{number}@example.com", "phone": (None, "+49 30 123")[number % 2]},
            "state": ("NEW", "PAID", "SENT")[number % 3],
            "total": Decimal(f"{number}9.90"),
            "placed": datetime.datetime(2026, 11, 27, 10, 0, number, 123000, tzinfo=datetime.UTC),
            "day": datetime.date(2026, 11, 27),
            "slot": datetime.time(12, 30, number),
            "token": uuid.UUID(int=0x1234567890ABCDEF1234567890ABCD00 + number),
            "raw": bytes((0, 255, number)),
            "weight": 1.5 * number,
            "lines": [{"sku": f"A-{line}", "count": line} for line in range(number)],
            "labels": {"shop": "north"} if number else {},
            "note": (None, "leave at the door", 7)[number % 3],
        }
        for number in range(3)
    ]


def add_avro(made: Records) -> None:
    """Add Avro: records, references, unions, logical types, recursion; ids before values and in headers."""
    customer = Schema((SOURCES / "customer.avsc").read_text(), "AVRO")
    made.registry.register_schema("shop.Customer", customer)
    order = Schema(
        (SOURCES / "order.avsc").read_text(), "AVRO", [SchemaReference("shop.Customer", "shop.Customer", 1)]
    )
    node = Schema((SOURCES / "node.avsc").read_text(), "AVRO")
    data = b""
    for topic, where in (("orders", prefix_schema_id_serializer), ("orders-h", header_schema_id_serializer)):
        write = AvroSerializer(made.registry, order, conf={"schema.id.serializer": where})
        read = AvroDeserializer(made.registry)
        for message in orders():
            data = made.written(topic, write, read, message)
    write, read = AvroSerializer(made.registry, node), AvroDeserializer(made.registry)
    leaf = {"name": "leaf", "children": []}
    tree = {"name": "root", "children": [leaf, {"name": "b", "children": [leaf]}]}
    made.written("trees", write, read, tree)
    payload = data
    expected = made.records[-2]["read"]
    made.add("orders-raw", payload, expected)
    made.add("orders-apicurio", b"\0" + (7).to_bytes(8, "big") + payload, expected)
    made.add("orders-apicurio-h", payload, expected, [("apicurio.value.globalId", (7).to_bytes(8, "big"))])
    made.add("orders-glue", b"\3\0" + _GLUE_ID.bytes + payload, expected)
    made.add("orders-glue", b"\3\5" + _GLUE_ID.bytes + zlib.compress(payload), expected)
    made.add("orders", b"\0" + _UNKNOWN_ID.to_bytes(4, "big") + payload, None)
    made.add("orders", made.records[0]["value"][:-9], None)  # a poison pill: cut
    made.add("orders", b'{"id": 1}', {"id": 1})
    made.add("orders", None, None)


def add_protobuf(made: Records) -> None:
    """Messages of a file, the first and one inside of the second."""
    sys.path.insert(0, compiled())
    import place_pb2  # noqa: F401  made by `compiled`
    import visit_pb2  # made by `compiled`

    for topic, where in (("visits", prefix_schema_id_serializer), ("visits-h", header_schema_id_serializer)):
        conf = {"schema.id.serializer": where}
        for kind, messages in (
            (visit_pb2.Visit, visits(visit_pb2.Visit)),
            (visit_pb2.Basket.Line, [visit_pb2.Basket.Line(sku="A-1", count=3)]),
        ):
            write = ProtobufSerializer(kind, made.registry, conf)
            read = ProtobufDeserializer(kind, {}, made.registry)
            for message in messages:
                made.written(topic, write, read, message)
    made.add("visits-raw", visits(visit_pb2.Visit)[0].SerializeToString(), plain(visits(visit_pb2.Visit)[0]))


def visits(kind: Any) -> list[Any]:
    """Visits with every kind of field, and one without."""
    visit = kind(
        id=2**60, page="/cart", device=1, tags=["a", "b"], counts={"clicks": 4}, cookie=b"\0\xff",
        email="anna@example.com",
    )  # fmt: skip
    visit.at.FromJsonString("2026-11-27T10:00:00.5Z")
    visit.place.latitude = 52.5
    return [visit, kind()]


def compiled() -> str:
    """Return a folder with the modules of the .proto files."""
    folder = tempfile.mkdtemp()
    command = (sys.executable, "-m", "grpc_tools.protoc", f"-I{SOURCES}", f"--python_out={folder}")
    subprocess.run((*command, "place.proto", "visit.proto"), check=True)
    return folder


def add_json(made: Records) -> None:
    """Objects with a schema that refers to another."""
    address = Schema((SOURCES / "address.schema.json").read_text(), "JSON")
    made.registry.register_schema("address.json", address)
    references = [SchemaReference("address.json", "address.json", 1)]
    user = Schema((SOURCES / "user.schema.json").read_text(), "JSON", references)
    message = {"name": "Anna", "email": "anna@example.com", "age": 41, "address": {"city": "Köln"}}
    for topic, where in (("users", prefix_schema_id_serializer), ("users-h", header_schema_id_serializer)):
        write = JSONSerializer(user, made.registry, conf={"schema.id.serializer": where})
        read = JSONDeserializer(None, schema_registry_client=made.registry)
        made.written(topic, write, read, message)
    first = next(each for each in made.records if each["topic"] == "users")["value"][:5]
    made.add("users", first + json.dumps({"name": "Bob"}).encode(), None)  # a poison pill: without email


def saved(made: Records) -> None:
    """Save the responses of `GET /schemas` of a registry, with Protobuf as text."""
    texts = {"place.proto": "place.proto", "visits-value": "visit.proto", "visits-h-value": "visit.proto"}
    answers = []
    for subject in made.registry.get_subjects():
        for version in made.registry.get_versions(subject):
            found = made.registry.get_version(subject, version)
            schema = found.schema
            answer = {"subject": subject, "version": version, "id": found.schema_id, "guid": found.guid}
            if schema.schema_type != "AVRO":
                answer["schemaType"] = schema.schema_type
            if schema.references:
                answer["references"] = [
                    {"name": each.name, "subject": each.subject, "version": each.version}
                    for each in schema.references
                    if not each.name.startswith("google/")
                ]
            text = texts.get(subject)
            answer["schema"] = schema.schema_str if text is None else (SOURCES / text).read_text()
            answers.append(answer)
    answers.sort(key=lambda answer: answer["id"])
    order = next(each for each in answers if each["subject"] == "orders-value")
    answers.append({"subject": "orders-glue-value", "version": 1, "guid": str(_GLUE_ID),
                    "schema": order["schema"], "references": order["references"]})  # fmt: skip
    (HERE / "registry" / "schemas.json").write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n")


def saved_by_apicurio() -> None:
    """Save what Apicurio returns: contents by id, metadata of a version, references of a content."""
    ids = HERE / "apicurio" / "ids" / "globalIds"
    ids.mkdir(parents=True, exist_ok=True)
    (ids / "6.json").write_text((SOURCES / "customer.avsc").read_text())
    (ids / "7.json").write_text((SOURCES / "order.avsc").read_text())
    name = "shop.Customer"
    references = [{"groupId": None, "artifactId": name, "version": "1", "name": name}]
    (ids / "7.references.json").write_text(json.dumps(references) + "\n")
    for global_id, artifact in ((6, name), (7, "orders-apicurio-value")):
        metadata = {"globalId": global_id, "contentId": global_id, "artifactId": artifact, "version": "1",
                    "artifactType": "AVRO"}  # fmt: skip
        (HERE / "apicurio" / f"{artifact}.json").write_text(json.dumps(metadata) + "\n")


def packets(made: Records) -> None:
    """One producer writes the records, one request each."""
    talk = Conversation().handshake()
    offsets: dict[str, int] = {}
    for number, record in enumerate(made.records):
        topic = record["topic"]
        content = record_bytes(0, 0, record["key"] or None, record["value"], record["headers"])
        batch = batch_bytes(content, base_timestamp=1_700_000_000_000 + number)
        partition = {"index": 0, "records": batch}
        topics = [{"name": topic, "partition_data": [partition]}]
        body = {"acks": -1, "timeout_ms": 30000, "topic_data": topics}
        talk.client(encode_request(_PRODUCE, _VERSION, number, "shop", body))
        answer = {"index": 0, "error_code": 0, "base_offset": offsets.get(topic, 0), "log_append_time_ms": -1}
        offsets[topic] = offsets.get(topic, 0) + 1
        responses = {"responses": [{"name": topic, "partition_responses": [answer]}]}
        talk.broker(encode_response(_PRODUCE, _VERSION, number, responses))
    write_pcap(HERE / "schemas.pcap", talk.packets)
    truth = [{"topic": each["topic"], "read": each["read"]} for each in made.records]
    (HERE / "values.json").write_text(json.dumps(truth, ensure_ascii=False) + "\n")


def main() -> None:
    """Write the files."""
    made = Records()
    add_avro(made)
    add_protobuf(made)
    add_json(made)
    saved(made)
    saved_by_apicurio()
    packets(made)


if __name__ == "__main__":
    main()
