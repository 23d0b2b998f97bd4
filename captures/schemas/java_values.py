"""Writes `java.pcap.gz` and its truth: `python -m captures.schemas.java_values FOLDER`.

The bytes of values are those of Apicurio's Java serializers 3.1.7 for Avro, JSON Schema and Protobuf, and of
AWS Glue's encoder 1.1.27 for Protobuf. The truth is what their deserializers read. FOLDER has a program
`protoc` of Protobuf 4.33 (Maven Central has it) and gets what Maven and the Java compiler make. Needs Maven
and a JDK.
"""

import base64
import gzip
import json
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

from kdissect.decoders.encoder import encode_request
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.traffic import Conversation
from tests.support.packets.pcaps import write_pcap

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "sources"
PROGRAM = HERE.parent / "record" / "serializers"


def written(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of the Java program: topic, value, headers, and what the client reads."""
    made, libraries = folder / "made", folder / "lib"
    made.mkdir(exist_ok=True)
    maven = ("mvn", "-q", "-B", "-f", PROGRAM / "pom.xml", "dependency:copy-dependencies")
    subprocess.run((*maven, f"-DoutputDirectory={libraries}"), check=True)
    subprocess.run((folder / "protoc", f"-I{SOURCES}", f"--java_out={made}", "trip.proto"), check=True)
    path = f"{made}:{libraries}/*"
    sources = (PROGRAM / "JavaValues.java", *made.rglob("*.java"))
    subprocess.run(("javac", "-cp", path, "-d", made, *sources), check=True)
    ran = subprocess.run(("java", "-cp", path, "JavaValues", SOURCES), check=True, stdout=subprocess.PIPE)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def main() -> None:
    """Write the files."""
    found = written(Path(sys.argv[1]))
    talk = Conversation().handshake()
    for number, (topic, group) in enumerate(groupby(found, lambda one: str(one["topic"]))):
        records = [
            record_bytes(at, 0, None, base64.b64decode(one["value"]), headers_of(one))
            for at, one in enumerate(group)
        ]
        batch = batch_bytes(b"".join(records), len(records), last_delta=len(records) - 1)
        topics = [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}]
        body = {"acks": -1, "timeout_ms": 30_000, "topic_data": topics}
        talk.client(encode_request(0, 9, number, "shop", body))
    plain = HERE / "java.pcap"
    write_pcap(plain, talk.packets)
    save("java.pcap", plain.read_bytes())
    plain.unlink()
    truth = [{"topic": one["topic"], "read": one["read"]} for one in found]
    save("java_values.json", json.dumps(truth, ensure_ascii=False).encode())


def headers_of(one: dict[str, Any]) -> list[tuple[str, bytes]]:
    """Return the headers of a record."""
    return [(name, base64.b64decode(value)) for name, value in one["headers"]]


def save(name: str, content: bytes) -> None:
    """Write a compressed file."""
    (HERE / f"{name}.gz").write_bytes(gzip.compress(content, 9, mtime=0))


if __name__ == "__main__":
    main()
