#!/usr/bin/env bash
# resetOffsets({earliest: true}) of kafkajs 2.2.4 makes consumers of other libraries skip all records.
#
# kafkajs commits the offset -2, the number by which ListOffsets is asked for the first offset. Apache Kafka 4.4.0 stores
# it without an error, as the committed offset of the group.
#
# Expected: the group continues at the first record, whatever its client, as after kafka-consumer-groups --to-earliest,
# which commits the offset that the broker reports as the earliest (KIP-122).
# Observed: of three records, the Java consumer 4.4.0 and kafka-python 3.0.12 receive none. For them a negative offset is
# no commit (KAFKA-9507), so that they start where auto.offset.reset says, by default at the end. librdkafka 2.16.0 starts
# at the first record, as kafkajs itself does. The Java Admin lists no commit. We found no public report.
#
# Consequence for captures: OffsetCommit has an offset that no log has. A reset from a tool in JavaScript, to process the
# records of a topic again, loses them if the consumer is in another language.
#
# Needs java 17 or later, mvn, node, npm, python3 with venv. Exit codes: see README.md.
set -uo pipefail

cannot() { echo "Cannot run: $*"; exit 77; }
for tool in java mvn node npm python3; do command -v "$tool" > /dev/null || cannot "$tool is missing"; done

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
{ python3 -m venv venv && venv/bin/pip install -q --no-cache-dir confluent-kafka==2.16.1 kafka-python==3.0.12; } > pip.log 2>&1 \
    || cannot "PyPI: $(tail -1 pip.log)"
npm install --silent --no-save --prefix "$work" --cache "$work/npm" kafkajs@2.2.4 > npm.log 2>&1 || cannot "npm: $(tail -1 npm.log)"

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
group.initial.rebalance.delay.ms=0
PROPERTIES
java -cp 'lib/*' kafka.tools.StorageTool format -t 4L6g3nShT-eMCtK--X86sw -c server.properties > format.log 2>&1 \
    || cannot "Kafka does not format: $(tail -1 format.log)"
java -Xmx512m -cp 'lib/*' kafka.Kafka server.properties > broker.log 2>&1 &
broker=$!

# Three records, and a group for each consumer that has read them. kafkajs resets the groups.
cat > prepare.py <<'PYTHON'
import sys

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

server = {"bootstrap.servers": sys.argv[1], "log_level": 0}
admin = AdminClient(server)
admin.list_topics(timeout=90)
for future in admin.create_topics([NewTopic("events", 1, 1)]).values():
    future.result(60)
producer = Producer(server)
for value in "abc":
    producer.produce("events", value=value)
if producer.flush(60):
    sys.exit("records were not delivered")
for group in sys.argv[2:]:
    consumer = Consumer({**server, "group.id": group})
    consumer.commit(offsets=[TopicPartition("events", 0, 3)], asynchronous=False)
    consumer.close()
PYTHON
cat > reset.js <<'JAVASCRIPT'
const { Kafka, logLevel } = require('kafkajs')

async function main([server, ...groups]) {
  const admin = new Kafka({ brokers: [server], logLevel: logLevel.NOTHING }).admin()
  await admin.connect()
  for (const groupId of groups) {
    await admin.resetOffsets({ groupId, topic: 'events', earliest: true })
    const [{ partitions }] = await admin.fetchOffsets({ groupId, topics: ['events'] })
    console.log(`kafkajs: reset of ${groupId} to ${partitions[0].offset}`)
  }
  await admin.disconnect()
}

main(process.argv.slice(2)).catch(problem => console.log(`error ${problem}`))
JAVASCRIPT
cat > Read.java <<'JAVA'
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

class Read {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> options = Map.of("bootstrap.servers", arguments[0], "group.id", "java");
        TopicPartition partition = new TopicPartition("events", 0);
        try (Admin admin = Admin.create(options)) {
            System.out.println("Java Admin: commit "
                + admin.listConsumerGroupOffsets("java").partitionsToOffsetAndMetadata().get().get(partition));
        }
        StringDeserializer text = new StringDeserializer();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(options, text, text)) {
            consumer.subscribe(List.of("events"));
            int count = 0;
            long end = System.currentTimeMillis() + 60_000;
            while (consumer.assignment().isEmpty() && System.currentTimeMillis() < end) {
                count += consumer.poll(Duration.ofSeconds(1)).count();
            }
            count += consumer.poll(Duration.ofSeconds(3)).count();
            System.out.println("Java consumer: " + count + " records, position " + consumer.position(partition));
        }
    }
}
JAVA
cat > read.py <<'PYTHON'
import sys
import time

from confluent_kafka import Consumer
from kafka import KafkaConsumer, TopicPartition

consumer = KafkaConsumer("events", bootstrap_servers=sys.argv[1], group_id="kafka-python")
count = 0
end = time.monotonic() + 60
while not consumer.assignment() and time.monotonic() < end:
    count += sum(map(len, consumer.poll(1000).values()))
count += sum(map(len, consumer.poll(3000).values()))
print(f"kafka-python: {count} records, position {consumer.position(TopicPartition('events', 0))}")
consumer.close()

consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "librdkafka", "log_level": 0})
consumer.subscribe(["events"])
count = 0
end = time.monotonic() + 60
while count < 3 and time.monotonic() < end:
    message = consumer.poll(1)
    count += message is not None and message.error() is None
print(f"librdkafka: {count} records")
consumer.close()
PYTHON
server="127.0.0.1:$port"
venv/bin/python prepare.py "$server" java kafka-python librdkafka > prepare.log 2>&1 || cannot "$(tail -1 prepare.log)"
seen=$(node reset.js "$server" java kafka-python librdkafka 2>&1
    java -cp 'lib/*' Read.java "$server" 2> /dev/null
    venv/bin/python read.py "$server" 2> /dev/null)

echo "$seen"
[ "$seen" = "kafkajs: reset of java to -2
kafkajs: reset of kafka-python to -2
kafkajs: reset of librdkafka to -2
Java Admin: commit null
Java consumer: 0 records, position 3
kafka-python: 0 records, position 3
librdkafka: 3 records" ] || { echo "Changed: the output differs from the finding."; exit 1; }
echo "The finding holds: after the reset to the earliest offset, two of three consumers skip all records."
