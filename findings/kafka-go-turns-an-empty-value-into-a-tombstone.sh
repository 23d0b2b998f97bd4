#!/usr/bin/env bash
# kafka-go 0.4.51 reads an empty value as null, so that a copy of a compacted topic deletes the key.
#
# A record has a value of zero bytes, or none: the length is 0 or -1. In a compacted topic a key without a value is a
# tombstone, and compaction removes the key. An empty value is data.
#
# Expected: a program that reads records and writes their fields to another topic copies them. In the Kafka documentation
# of log compaction, only null means a deletion. librdkafka 2.16.0 reads both values as they were sent, and
# kafka-go writes an empty slice as an empty value and nil as null.
# Observed: the Reader returns nil for the empty value, as for the tombstone. What it read and a Writer wrote has two
# tombstones. An empty value of a header becomes null in the same way. There is no error. We found no public report.
#
# Consequence for captures: Produce of the copy has the length -1 where Fetch of the original has 0. A consumer of the copy
# deletes what the original has.
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
mkdir copier
cat > copier/go.mod <<'GO'
module copier

go 1.21

require github.com/segmentio/kafka-go v0.4.51
GO
cat > copier/main.go <<'GO'
package main

import (
	"context"
	"os"
	"time"

	"github.com/segmentio/kafka-go"
)

func main() {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{os.Args[1]}, Topic: "events", StartOffset: kafka.FirstOffset,
	})
	writer := &kafka.Writer{Addr: kafka.TCP(os.Args[1]), BatchTimeout: time.Millisecond}
	limit, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for range [2]int{} {
		message, err := reader.ReadMessage(limit)
		if err != nil {
			panic(err)
		}
		copied := kafka.Message{Topic: "copy", Key: message.Key, Value: message.Value, Headers: message.Headers}
		if err := writer.WriteMessages(limit, copied); err != nil {
			panic(err)
		}
	}
	for _, value := range [][]byte{{}, nil} {
		if err := writer.WriteMessages(limit, kafka.Message{Topic: "written", Key: []byte("own"), Value: value}); err != nil {
			panic(err)
		}
	}
}
GO
export GOPATH="$work/go" GOCACHE="$work/gocache" GOFLAGS=-mod=mod
(cd copier && go build -o ../copy .) > go.log 2>&1 || cannot "Go modules: $(tail -1 go.log)"

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

# An empty value and a tombstone, copied by kafka-go and read by librdkafka.
cat > topics.py <<'PYTHON'
import subprocess
import sys
import time

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

server = {"bootstrap.servers": sys.argv[1], "log_level": 0}
admin = AdminClient(server)
admin.list_topics(timeout=90)
topics = ("events", "copy", "written")
for future in admin.create_topics([NewTopic(name, 1, 1, config={"cleanup.policy": "compact"}) for name in topics]).values():
    future.result(60)
producer = Producer(server)
producer.produce("events", key="empty", value=b"", headers=[("header", b"")])
producer.produce("events", key="tombstone", value=None)
if producer.flush(60):
    sys.exit("records were not delivered")
subprocess.run(["./copy", sys.argv[1]], check=True)

for topic in topics:
    consumer = Consumer({**server, "group.id": "none", "enable.auto.commit": False, "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    end = time.monotonic() + 60
    while time.monotonic() < end:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            break
        print(f"{topic}: {message.key().decode()} {message.value()} {message.headers() or ''}".rstrip())
    consumer.close()
PYTHON
seen=$(venv/bin/python topics.py "127.0.0.1:$port" 2>&1)

echo "$seen"
[ "$seen" = "events: empty b'' [('header', b'')]
events: tombstone None
copy: empty None [('header', None)]
copy: tombstone None
written: own b''
written: own None" ] || { echo "Changed: the output differs from the finding."; exit 1; }
echo "The finding holds: the copy has a tombstone where the original has an empty value."
