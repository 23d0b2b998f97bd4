#!/usr/bin/env bash
# @platformatic/kafka 2.12.1 cannot run a transaction with the permissions that a transactional producer needs.
#
# The user has Write and Describe on the topic and on the transactional id, and nothing else.
#
# Expected: the transaction commits. The Kafka documentation ("Protocol in Kafka ACLs") requires Write on the
# transactional id and on the topic for AddPartitionsToTxn. librdkafka 2.16.0 commits with these permissions.
# Observed: the transaction fails with CLUSTER_AUTHORIZATION_FAILED. The client sends
# AddPartitionsToTxn v5 (`dist/apis/producer/add-partitions-to-txn-v5.js`). Versions 4 and later are for brokers (KIP-890),
# and Apache Kafka 4.4.0 requires ClusterAction on the cluster for them. With that permission, the transaction commits.
#
# Consequence for captures: AddPartitionsToTxn v4 or later does not show that the sender is a broker.
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
listeners=SASL_PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
listener.security.protocol.map=SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
sasl.mechanism.inter.broker.protocol=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
  username=admin password=a user_admin=a user_writer=w;
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:admin;User:ANONYMOUS
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

# Permissions, then one transaction with each client.
cat > grant.py <<'PYTHON'
import sys

from confluent_kafka.admin import (
    AclBinding, AclOperation, AclPermissionType, AdminClient, NewTopic, ResourcePatternType, ResourceType
)

login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "admin", "sasl.password": "a"}
admin = AdminClient({"bootstrap.servers": sys.argv[1], **login})
admin.list_topics(timeout=90)
exact, allow = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
acls = [AclBinding(ResourceType.BROKER, "kafka-cluster", exact, "User:writer", "*", AclOperation.CLUSTER_ACTION, allow)]
if sys.argv[2] == "writer":
    acls = [
        AclBinding(kind, name, exact, "User:writer", "*", operation, allow)
        for kind, name in [(ResourceType.TOPIC, "payments"), (ResourceType.TRANSACTIONAL_ID, "payer")]
        for operation in (AclOperation.WRITE, AclOperation.DESCRIBE)
    ]
    admin.create_topics([NewTopic("payments", 1, 1)])["payments"].result(60)
for future in admin.create_acls(acls).values():
    future.result(60)
PYTHON
cat > write.py <<'PYTHON'
import sys

from confluent_kafka import KafkaException, Producer

login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "writer", "sasl.password": "w"}
producer = Producer({"bootstrap.servers": sys.argv[1], **login, "transactional.id": "payer", "log_level": 0})
try:
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce("payments", value="x")
    producer.commit_transaction(60)
    print("committed")
except KafkaException as problem:
    print("error", problem.args[0].name())
PYTHON
cat > write.mjs <<'NODE'
import { Producer, stringSerializers } from '@platformatic/kafka'
const producer = new Producer({
  clientId: 'client', bootstrapBrokers: [process.argv[2]], idempotent: true, transactionalId: 'payer',
  serializers: stringSerializers, sasl: { mechanism: 'PLAIN', username: 'writer', password: 'w' }, retries: 0
})
const names = error => [error.apiId ?? [], ...(error.errors ?? []).map(names), error.cause ? names(error.cause) : []].flat(9)
try {
  const transaction = await producer.beginTransaction()
  await transaction.send({ messages: [{ topic: 'payments', value: 'x' }] })
  await transaction.commit()
  console.log('committed')
} catch (error) {
  console.log('error', ...new Set(names(error)))
}
process.exit(0)
NODE
grant() { venv/bin/python grant.py "127.0.0.1:$port" "$1" > grant.log 2>&1 || cannot "no permissions: $(tail -1 grant.log)"; }
grant writer
reference=$(venv/bin/python write.py "127.0.0.1:$port" 2> /dev/null)
observed=$(node_modules/.bin/node write.mjs "127.0.0.1:$port" 2>&1)
grant broker
allowed=$(node_modules/.bin/node write.mjs "127.0.0.1:$port" 2>&1)

echo "librdkafka 2.16.0:           $reference"
echo "@platformatic/kafka 2.12.1:  $observed"
echo "  with ClusterAction:        $allowed"
[ "$reference" = "committed" ] || { echo "Changed: the reference client differs."; exit 1; }
[ "$observed" = "error CLUSTER_AUTHORIZATION_FAILED" ] || { echo "Changed: the client differs from the finding."; exit 1; }
[ "$allowed" = "committed" ] || { echo "Changed: ClusterAction is not enough."; exit 1; }
echo "The finding holds: a transaction needs ClusterAction with this client."
