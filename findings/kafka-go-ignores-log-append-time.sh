#!/usr/bin/env bash
# kafka-go 0.4.51 returns the time of the producer for a record of a topic with LogAppendTime.
#
# A broker that stores records with message.timestamp.type=LogAppendTime sets bit 3 of the attributes of a batch, writes
# its own time into MaxTimestamp, and leaves the timestamps of the records as the producer sent them.
#
# Expected: every record has the time of the broker. The Kafka documentation of message.timestamp.type gives that
# meaning, and KIP-32 has consumers use the time of the batch if the bit is set. librdkafka 2.16.0 does that.
# sarama (IBM/sarama#1259) and ruby-kafka (zendesk/ruby-kafka#706) had the same fault and repaired it.
# Observed: a record that the producer stamped with 1000000000000 (2001) on Apache Kafka 4.4.0 has that time in kafka-go.
#
# Consequence for captures: an application can compute a delay of years from a record whose delay was milliseconds.
#
# Needs java 17 or later, mvn, python3 with venv, go. Exit codes: see README.md.
set -uo pipefail

cannot() { echo "Cannot run: $*"; exit 77; }
for tool in java mvn python3 go; do command -v "$tool" > /dev/null || cannot "$tool is missing"; done

work=$(mktemp -d)
broker=
cleanup() {
    [ -z "$broker" ] || { kill "$broker" && wait "$broker"; } 2> /dev/null
    chmod -R u+w "$work"
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
mkdir reader
cat > reader/go.mod <<'GO'
module reader

go 1.21

require github.com/segmentio/kafka-go v0.4.51
GO
cat > reader/main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/segmentio/kafka-go"
)

func main() {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{os.Args[1]}, Topic: "events", StartOffset: kafka.FirstOffset,
	})
	limit, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	message, err := reader.ReadMessage(limit)
	if err != nil {
		panic(err)
	}
	fmt.Println(message.Time.UnixMilli())
}
GO
export GOPATH="$work/go" GOCACHE="$work/gocache" GOFLAGS=-mod=mod
(cd reader && go build -o ../read .) > go.log 2>&1 || cannot "Go modules: $(tail -1 go.log)"

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

# One record, two readers.
cat > reference.py <<'PYTHON'
import sys
import time

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

server = {"bootstrap.servers": sys.argv[1]}
admin = AdminClient(server)
admin.list_topics(timeout=90)
topic = NewTopic("events", 1, 1, config={"message.timestamp.type": "LogAppendTime"})
for future in admin.create_topics([topic]).values():
    future.result(60)
producer = Producer(server)
producer.produce("events", value="x", timestamp=1_000_000_000_000)
if producer.flush(60):
    sys.exit("record was not delivered")
consumer = Consumer({**server, "group.id": "reference", "auto.offset.reset": "earliest"})
consumer.subscribe(["events"])
end = time.monotonic() + 60
while time.monotonic() < end:
    message = consumer.poll(1)
    if message and not message.error():
        kind, milliseconds = message.timestamp()
        is_now = abs(time.time() * 1000 - milliseconds) < 600_000
        print("append time" if kind == TIMESTAMP_LOG_APPEND_TIME and is_now else message.timestamp())
        break
consumer.close()
PYTHON
reference=$(venv/bin/python reference.py "127.0.0.1:$port" 2> /dev/null)
observed=$(./read "127.0.0.1:$port" 2>&1 | tail -1)

echo "librdkafka 2.16.0:  $reference"
echo "kafka-go 0.4.51:    $observed"
[ "$reference" = "append time" ] || { echo "Changed: the reference client differs."; exit 1; }
[ "$observed" = "1000000000000" ] || { echo "Changed: kafka-go differs from the finding."; exit 1; }
echo "The finding holds: kafka-go returns the time that the producer set."
