#!/usr/bin/env bash
# Apache Kafka 3.9.2 sends a record twice in one Fetch response if it converts the records to an old message format.
#
# One transactional producer commits three transactions with one record each. Offsets 0, 2 and 4 are records, offsets 1, 3
# and 5 are transaction markers. A consumer that uses Fetch version 2 reads them in message format 1, so the broker has to
# convert each batch. Message format 1 does not have transaction markers, so the broker drops them.
#
# Expected: each record once. KIP-283 describes that the broker converts and sends chunks until it has used all messages of
# the response. A Fetch from offset 2 returns each record once, and so does a consumer that does not need the conversion.
# Observed: a Fetch from offset 1 or 3, which are markers, returns the next record twice. kafka-python 3.0.12 with
# api_version=(0, 10) delivers the record to the application twice. Apache Kafka 2.8.2 sends the same. Apache Kafka 4.0
# removed the conversion (https://github.com/apache/kafka/pull/18445).
# Cause (org.apache.kafka.common.record.LazyDownConversionRecords): the constructor converts batches until one yields a
# record, and stores the result. The iterator returns the result first and continues after the first batch. If the
# first batch is a marker, the stored result belongs to the second batch, which is converted again. The loop that skips a
# marker is of https://github.com/apache/kafka/pull/5173.
#
# Consequence for captures: two messages of one Fetch response have the same offset, and the consumer is not the cause. The
# marker is the position of a consumer that has read the last record of a transaction.
#
# Needs java 17 or later, mvn, python3 with venv. Exit codes: see README.md.
set -uo pipefail

cannot() { echo "Cannot run: $*"; exit 77; }
for tool in java mvn python3; do command -v "$tool" > /dev/null || cannot "$tool is missing"; done

work=$(mktemp -d)
broker=
cleanup() {
    [ -z "$broker" ] || { kill "$broker" && wait "$broker"; } 2> /dev/null
    rm -rf "$work"
}
trap cleanup EXIT
cd "$work" || cannot "no temporary folder"

# Packages.
cat > pom.xml <<'POM'
<project><modelVersion>4.0.0</modelVersion><groupId>f</groupId><artifactId>f</artifactId><version>1</version>
<dependencies><dependency>
<groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>3.9.2</version>
</dependency></dependencies></project>
POM
mvn -q -B -Dmaven.repo.local="$work/m2" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    -DoutputDirectory="$work/lib" > mvn.log 2>&1 || cannot "Maven Central: $(tail -1 mvn.log)"
{ python3 -m venv venv && venv/bin/pip install -q --no-cache-dir confluent-kafka==2.16.1 kafka-python==3.0.12; } \
    > pip.log 2>&1 || cannot "PyPI: $(tail -1 pip.log)"

# Broker.
read -r port controller < <(python3 -c '
import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(s.getsockname()[1] for s in held))')
cat > server.properties <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
controller.listener.names=CONTROLLER
log.dirs=$work/data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
PROPERTIES
java -cp 'lib/*' kafka.tools.StorageTool format -t 4L6g3nShT-eMCtK--X86sw -c server.properties > format.log 2>&1 \
    || cannot "Kafka does not format: $(tail -1 format.log)"
java -Xmx512m -cp 'lib/*' kafka.Kafka server.properties > broker.log 2>&1 &
broker=$!

# Three transactions.
cat > write.py <<'PYTHON'
import sys

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

server = {"bootstrap.servers": sys.argv[1]}
admin = AdminClient(server)
admin.list_topics(timeout=90)
for future in admin.create_topics([NewTopic("payments", 1, 1)]).values():
    future.result(60)
producer = Producer({**server, "transactional.id": "writer"})
producer.init_transactions(60)
for value in ("first", "second", "third"):
    producer.begin_transaction()
    producer.produce("payments", value=value)
    if producer.flush(60):
        sys.exit("record was not delivered")
    producer.commit_transaction(60)
PYTHON
# Offsets of one raw Fetch response, version 2 (https://kafka.apache.org/protocol.html)
cat > fetch.py <<'PYTHON'
import socket
import struct
import sys


def fetch(port: int, start: int) -> list[int]:
    body = struct.pack(">hhih4s", 1, 2, 1, 4, b"test")  # Fetch, version 2
    body += struct.pack(">iiiih8siiqi", -1, 500, 1, 1, 8, b"payments", 1, 0, start, 1 << 20)
    with socket.create_connection(("127.0.0.1", port), 30) as connection, connection.makefile("rwb") as stream:
        stream.write(struct.pack(">i", len(body)) + body)
        stream.flush()
        (size,) = struct.unpack(">i", stream.read(4))
        response = stream.read(size)
    *_, error, _, size = struct.unpack_from(">iiih8siihqi", response)
    if error:
        sys.exit(f"error {error}")
    messages, offsets = response[-size:], []
    while messages:
        offset, size = struct.unpack_from(">qi", messages)
        if size > len(messages) - 12:  # KIP-283: an incomplete message ends the response
            break
        offsets.append(offset)
        messages = messages[12 + size :]
    return offsets


for start in range(5):
    print(f"Fetch version 2 from offset {start}: offsets", *fetch(int(sys.argv[1]), start))
PYTHON
cat > read.py <<'PYTHON'
import sys

from kafka import KafkaConsumer, TopicPartition

for version in (0, 10), (0, 11):
    consumer = KafkaConsumer(
        bootstrap_servers=sys.argv[1], api_version=version, consumer_timeout_ms=30000, enable_auto_commit=False
    )
    partition = TopicPartition("payments", 0)
    consumer.assign([partition])
    consumer.seek(partition, 1)
    values = []
    for message in consumer:
        values.append(message.value.decode())
        if values[-1] == "third":
            break
    consumer.close()
    print(f"kafka-python, api_version={version}, from offset 1:", *values)
PYTHON
venv/bin/python write.py "127.0.0.1:$port" > write.log 2>&1 || cannot "records were not written: $(tail -1 write.log)"
seen=$(python3 fetch.py "$port" 2>&1; venv/bin/python read.py "127.0.0.1:$port" 2> /dev/null)

echo "$seen"
[ "$seen" = "Fetch version 2 from offset 0: offsets 0 2 4
Fetch version 2 from offset 1: offsets 2 2 4
Fetch version 2 from offset 2: offsets 2 4
Fetch version 2 from offset 3: offsets 4 4
Fetch version 2 from offset 4: offsets 4
kafka-python, api_version=(0, 10), from offset 1: second second third
kafka-python, api_version=(0, 11), from offset 1: second third" ] \
    || { echo "Changed: the responses differ from the finding."; exit 1; }
echo "The finding holds: a Fetch from a transaction marker returns the next record twice."
