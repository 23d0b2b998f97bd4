#!/usr/bin/env bash
# librdkafka 2.16.0 and kadm 1.20.0 (franz-go) report the first record of a partition as the record with the maximum
# timestamp, if the broker is older than Kafka 3.0.
#
# KIP-734 gives timestamp -3 of ListOffsets the meaning "maximum timestamp", in v7 and later. Kafka 2.8.2 has versions
# up to 6. Both clients send -3 in v6. For that broker, -3 is a time before all records, and it answers with the first.
#
# Expected: an error, because no version of the broker can express the request (KIP-734, "Compatibility"). The Java Admin
# 4.4.0 fails with UnsupportedVersionException.
# Observed: no error. Of three records with the timestamps 1000, 3000 and 2000, both clients report offset 0. The correct
# answer is offset 1.
#
# Consequence for captures: the offset in a ListOffsets response to -3 has this meaning only from v7 on.
#
# Needs java 17 or later, mvn, python3 with venv, go. Exit codes: see README.md.
set -uo pipefail

cannot() { echo "Cannot run: $*"; exit 77; }
for tool in java mvn python3 go; do command -v "$tool" > /dev/null || cannot "$tool is missing"; done

work=$(mktemp -d)
zookeeper= broker=
cleanup() {
    for server in $broker $zookeeper; do { kill "$server" && wait "$server"; } 2> /dev/null; done
    chmod -R u+w "$work"
    rm -rf "$work"
}
trap cleanup EXIT
cd "$work" || cannot "no temporary folder"

# Packages.
cat > pom.xml <<'POM'
<project><modelVersion>4.0.0</modelVersion><groupId>f</groupId><artifactId>f</artifactId><version>1</version>
<dependencies><dependency>
<groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>2.8.2</version>
</dependency></dependencies></project>
POM
mvn -q -B -Dmaven.repo.local="$work/m2" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    -DoutputDirectory="$work/lib" > mvn.log 2>&1 || cannot "Maven Central: $(tail -1 mvn.log)"
{ python3 -m venv venv && venv/bin/pip install -q --no-cache-dir confluent-kafka==2.16.1; } > pip.log 2>&1 \
    || cannot "PyPI: $(tail -1 pip.log)"
mkdir admin
sed 's/kafka_2.13/kafka-clients/; s/2.8.2/4.4.0/' pom.xml > admin/pom.xml
(cd admin && mvn -q -B -Dmaven.repo.local="$work/m2" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    -DoutputDirectory="$work/admin/lib") > mvn.log 2>&1 || cannot "Maven Central: $(tail -1 mvn.log)"
cat > admin/Ask.java <<'JAVA'
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.TopicPartition;

class Ask {
    public static void main(String[] arguments) throws Exception {
        TopicPartition partition = new TopicPartition("events", 0);
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", arguments[0]))) {
            System.out.println(admin.listOffsets(Map.of(partition, OffsetSpec.maxTimestamp())).all().get());
        } catch (java.util.concurrent.ExecutionException problem) {
            System.out.println("error " + problem.getCause().getClass().getSimpleName());
        }
    }
}
JAVA
mkdir asker
cat > asker/go.mod <<'GO'
module asker

go 1.21

require github.com/twmb/franz-go/pkg/kadm v1.20.0
GO
cat > asker/main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	admin, err := kadm.NewOptClient(kgo.SeedBrokers(os.Args[1]))
	if err != nil {
		panic(err)
	}
	limit, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	listed, err := admin.ListMaxTimestampOffsets(limit, "events")
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	listed.Each(func(one kadm.ListedOffset) {
		fmt.Printf("offset %d, timestamp %d, error %v\n", one.Offset, one.Timestamp, one.Err)
	})
}
GO
export GOPATH="$work/go" GOCACHE="$work/gocache" GOFLAGS=-mod=mod
(cd asker && go build -o ../ask .) > go.log 2>&1 || cannot "Go modules: $(tail -1 go.log)"

# ZooKeeper and the broker.
read -r keeper port < <(python3 -c '
import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(s.getsockname()[1] for s in held))')
cat > zookeeper.properties <<PROPERTIES
dataDir=$work/zookeeper
clientPort=$keeper
clientPortAddress=127.0.0.1
admin.enableServer=false
PROPERTIES
java -Xmx256m -cp 'lib/*' org.apache.zookeeper.server.quorum.QuorumPeerMain zookeeper.properties > zookeeper.log 2>&1 &
zookeeper=$!
cat > server.properties <<PROPERTIES
broker.id=1
zookeeper.connect=127.0.0.1:$keeper
listeners=PLAINTEXT://127.0.0.1:$port
log.dirs=$work/data
PROPERTIES
java -Xmx512m -cp 'lib/*' kafka.Kafka server.properties > broker.log 2>&1 &
broker=$!

# Three records, then the clients.
cat > librdkafka.py <<'PYTHON'
import sys

from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

server = {"bootstrap.servers": sys.argv[1], "log_level": 0}
admin = AdminClient(server)
admin.list_topics(timeout=90)
for future in admin.create_topics([NewTopic("events", 1, 1)]).values():
    future.result(60)
producer = Producer(server)
for timestamp in (1000, 3000, 2000):
    producer.produce("events", value="x", timestamp=timestamp)
    if producer.flush(60):
        sys.exit("record was not delivered")
(future,) = admin.list_offsets({TopicPartition("events", 0): OffsetSpec.max_timestamp()}).values()
try:
    found = future.result(60)
    print(f"offset {found.offset}, timestamp {found.timestamp}")
except KafkaException as problem:
    print("error", problem.args[0].name())
PYTHON
first=$(venv/bin/python librdkafka.py "127.0.0.1:$port" 2>&1 | tail -1)
second=$(./ask "127.0.0.1:$port" 2>&1 | tail -1)
reference=$(java -cp 'admin/lib/*' admin/Ask.java "127.0.0.1:$port" 2> /dev/null | tail -1)

echo "Java Admin 4.4.0:   $reference"
echo "librdkafka 2.16.0:  $first"
echo "kadm 1.20.0:        $second"
[ "$reference" = "error UnsupportedVersionException" ] || { echo "Changed: the reference client differs."; exit 1; }
[ "$first" = "offset 0, timestamp 1000" ] || { echo "Changed: librdkafka differs from the finding."; exit 1; }
[ "$second" = "offset 0, timestamp 1000, error <nil>" ] || { echo "Changed: kadm differs from the finding."; exit 1; }
echo "The finding holds: both clients report the first record as the one with the maximum timestamp."
