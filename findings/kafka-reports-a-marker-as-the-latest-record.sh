#!/usr/bin/env bash
# Apache Kafka 4.4.0 returns the offset of a transaction marker if a client asks for a record by its time.
#
# ListOffsets finds the record with the maximum timestamp (KIP-734), or the first record that is not older than a time
# (KIP-79). The end of a transaction is a marker: a batch with an offset and the time of the broker, which consumers skip.
#
# Expected: of two records with the timestamps 1000 and 2000 the second one has the maximum timestamp, and no record is of
# 3000 or later. KIP-734 is about the record with the largest timestamp, and confluent_kafka documents -1 for a time after
# the last message of the partition. Both answers come for a topic whose records were sent without a transaction.
# Observed: if the same two records are sent in a transaction, the broker answers both questions with offset 2, the
# marker, and its time. READ_COMMITTED returns the same. We found no public report.
#
# Consequence for captures: the offset of a ListOffsets response may have no record. A program that seeks to it, to read
# the latest record, waits for the next one; a check for records after a time finds one that nobody can read.
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
<groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>4.4.0</version>
</dependency></dependencies></project>
POM
mvn -q -B -Dmaven.repo.local="$work/m2" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    -DoutputDirectory="$work/lib" > mvn.log 2>&1 || cannot "Maven Central: $(tail -1 mvn.log)"
{ python3 -m venv venv && venv/bin/pip install -q --no-cache-dir confluent-kafka==2.16.1; } > pip.log 2>&1 \
    || cannot "PyPI: $(tail -1 pip.log)"

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
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
PROPERTIES
java -cp 'lib/*' kafka.tools.StorageTool format -t 4L6g3nShT-eMCtK--X86sw -c server.properties > format.log 2>&1 \
    || cannot "Kafka does not format: $(tail -1 format.log)"
java -Xmx512m -cp 'lib/*' kafka.Kafka server.properties > broker.log 2>&1 &
broker=$!

# The same records without and with a transaction.
cat > ask.py <<'PYTHON'
import sys
import time

from confluent_kafka import Consumer, IsolationLevel, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

server = {"bootstrap.servers": sys.argv[1], "log_level": 0}
admin = AdminClient(server)
admin.list_topics(timeout=90)
for future in admin.create_topics([NewTopic(name, 1, 1) for name in ("plain", "transactional")]).values():
    future.result(60)


def records(topic):
    """Return the offsets of the records that a consumer receives."""
    consumer = Consumer({**server, "group.id": "none", "enable.auto.commit": False, "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = []
    end = time.monotonic() + 60
    while time.monotonic() < end:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            break
        found.append(message.offset())
    consumer.close()
    return found


def asked(topic, spec, level):
    (future,) = admin.list_offsets({TopicPartition(topic, 0): spec}, isolation_level=level).values()
    found = future.result(60)
    return found.offset, "now" if abs(time.time() * 1000 - found.timestamp) < 600_000 else found.timestamp


for topic in ("plain", "transactional"):
    producer = Producer(server if topic == "plain" else {**server, "transactional.id": "one"})
    if topic == "transactional":
        producer.init_transactions(60)
        producer.begin_transaction()
    for timestamp in (1000, 2000):
        producer.produce(topic, value="x", timestamp=timestamp)
        if producer.flush(60):
            sys.exit("record was not delivered")
    if topic == "transactional":
        producer.commit_transaction(60)
    print(f"{topic}: records", records(topic))
    for level in IsolationLevel:
        print(
            f"{topic} {level.name}: maximum timestamp {asked(topic, OffsetSpec.max_timestamp(), level)},",
            f"3000 or later {asked(topic, OffsetSpec.for_timestamp(3000), level)}",
        )
PYTHON
seen=$(venv/bin/python ask.py "127.0.0.1:$port" 2>&1)

echo "$seen"
[ "$seen" = "plain: records [0, 1]
plain READ_UNCOMMITTED: maximum timestamp (1, 2000), 3000 or later (-1, -1)
plain READ_COMMITTED: maximum timestamp (1, 2000), 3000 or later (-1, -1)
transactional: records [0, 1]
transactional READ_UNCOMMITTED: maximum timestamp (2, 'now'), 3000 or later (2, 'now')
transactional READ_COMMITTED: maximum timestamp (2, 'now'), 3000 or later (2, 'now')" ] \
    || { echo "Changed: the output differs from the finding."; exit 1; }
echo "The finding holds: the broker returns the offset of the marker, which has no record."
