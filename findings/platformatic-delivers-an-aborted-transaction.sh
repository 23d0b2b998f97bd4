#!/usr/bin/env bash
# @platformatic/kafka 2.12.1 with READ_COMMITTED delivers records of an aborted transaction.
#
# One transactional producer runs four transactions: abort, commit, abort, commit. One Fetch response of Apache Kafka
# 4.4.0 contains all of them, and `aborted_transactions` has two entries with the same producer id.
#
# Expected: only the two committed records. The Kafka documentation of `isolation.level` states that a read_committed
# consumer returns only committed transactional messages. KIP-98 lets a client remove every entry of
# `aborted_transactions` from its first offset to the next abort marker of that producer. librdkafka 2.16.0 does that.
# Observed: the record of the first aborted transaction is delivered, too. The client stores one range of offsets for
# each producer id (dist/clients/consumer/consumer.js, `#filterUncommittedMessages`), and the second entry replaces the
# first.
#
# Consequence for captures: an application can process a record that the capture shows as aborted.
#
# Needs java 17 or later, mvn, python3 with venv, npm. Exit codes: see README.md.
set -uo pipefail

cannot() { echo "Cannot run: $*"; exit 77; }
for tool in java mvn python3 npm; do command -v "$tool" > /dev/null || cannot "$tool is missing"; done

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
# The client needs Node.js 22 or later, which npm installs too.
npm install --silent --no-audit --no-fund --cache "$work/npm" node@24.21.0 @platformatic/kafka@2.12.1 > npm.log 2>&1 \
    || cannot "npm: $(tail -1 npm.log)"

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

# Four transactions, then the reference client.
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
for value, end in [
    ("aborted-1", producer.abort_transaction),
    ("committed-1", producer.commit_transaction),
    ("aborted-2", producer.abort_transaction),
    ("committed-2", producer.commit_transaction),
]:
    producer.begin_transaction()
    producer.produce("payments", value=value)
    if producer.flush(60):
        sys.exit("record was not delivered")
    end(60)
PYTHON
cat > read.py <<'PYTHON'
import sys, time
from confluent_kafka import Consumer

consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "reference", "auto.offset.reset": "earliest",
                     "isolation.level": "read_committed"})
consumer.subscribe(["payments"])
values, end = [], time.monotonic() + 60
while "committed-2" not in values and time.monotonic() < end:
    message = consumer.poll(1)
    if message and not message.error():
        values.append(message.value().decode())
consumer.close()
print(*values)
PYTHON
cat > read.mjs <<'NODE'
import { Consumer, FetchIsolationLevels } from '@platformatic/kafka'
const consumer = new Consumer({ clientId: 'client', groupId: 'other', bootstrapBrokers: [process.argv[2]] })
const stream = await consumer.consume({
  topics: ['payments'], mode: 'earliest', autocommit: false, isolationLevel: FetchIsolationLevels.READ_COMMITTED
})
const values = []
const end = async () => { console.log(values.join(' ')); process.exit(0) }
setTimeout(end, 60000)
for await (const message of stream) {
  values.push(message.value.toString())
  if (values.at(-1) === 'committed-2') await end()
}
NODE
venv/bin/python write.py "127.0.0.1:$port" > write.log 2>&1 || cannot "records were not written: $(tail -1 write.log)"
reference=$(venv/bin/python read.py "127.0.0.1:$port" 2> /dev/null)
observed=$(node_modules/.bin/node read.mjs "127.0.0.1:$port" 2>&1)

echo "librdkafka 2.16.0, read_committed:           $reference"
echo "@platformatic/kafka 2.12.1, READ_COMMITTED:  $observed"
[ "$reference" = "committed-1 committed-2" ] || { echo "Changed: the reference client differs."; exit 1; }
[ "$observed" = "aborted-1 committed-1 committed-2" ] || { echo "Changed: the client differs from the finding."; exit 1; }
echo "The finding holds: the first of two aborted transactions of one producer is delivered."
