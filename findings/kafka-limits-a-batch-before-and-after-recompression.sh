#!/usr/bin/env bash
# Apache Kafka 4.4.0 applies max.message.bytes twice: to a batch as sent, and to the batch that it rewrites.
#
# Expected: the documentation of the topic configuration max.message.bytes calls it the largest record batch size "after
# compression if compression is enabled", which names one size.
# Observed: three topics have max.message.bytes=10000, and their compression.type is producer, uncompressed and gzip. One
# value of 50,000 zeros is sent twice: in a gzip batch (about 150 bytes) and in a batch without compression.
#  - The gzip batch is stored by the topics producer and gzip. The topic uncompressed answers MESSAGE_TOO_LARGE
#    (MSG_SIZE_TOO_LARGE in librdkafka), because the broker has to store it without compression.
#  - The batch without compression is answered MESSAGE_TOO_LARGE by all three topics, although the topic gzip would
#    store about 150 bytes.
#
# Consequence for captures: a request of 200 bytes can be refused as too large, and compressing at the producer does not
# help for one topic, while it is the only thing that helps for another.
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
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
PROPERTIES
java -cp 'lib/*' kafka.tools.StorageTool format -t 4L6g3nShT-eMCtK--X86sw -c server.properties > format.log 2>&1 \
    || cannot "Kafka does not format: $(tail -1 format.log)"
java -Xmx512m -cp 'lib/*' kafka.Kafka server.properties > broker.log 2>&1 &
broker=$!

# Three topics, two batches.
cat > send.py <<'PYTHON'
import sys

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

server = {"bootstrap.servers": sys.argv[1]}
kinds = ("producer", "uncompressed", "gzip")
admin = AdminClient(server)
admin.list_topics(timeout=90)
topics = [NewTopic(kind, 1, 1, config={"max.message.bytes": "10000", "compression.type": kind}) for kind in kinds]
for future in admin.create_topics(topics).values():
    future.result(60)
for codec in ("gzip", "none"):
    answers = {}
    producer = Producer({**server, "compression.type": codec})
    for kind in kinds:
        producer.produce(kind, value=bytes(50000),
                         on_delivery=lambda error, message: answers.update({message.topic(): error.name() if error else "stored"}))
        producer.flush(60)
    print(f"batch with {codec}:", *(f"{kind}={answers.get(kind)}" for kind in kinds))
PYTHON
seen=$(venv/bin/python send.py "127.0.0.1:$port" 2> /dev/null)

echo "$seen"
[ "$seen" = "batch with gzip: producer=stored uncompressed=MSG_SIZE_TOO_LARGE gzip=stored
batch with none: producer=MSG_SIZE_TOO_LARGE uncompressed=MSG_SIZE_TOO_LARGE gzip=MSG_SIZE_TOO_LARGE" ] \
    || { echo "Changed: the answers differ from the finding."; exit 1; }
echo "The finding holds: the limit applies to the batch as sent and to the batch as stored."
