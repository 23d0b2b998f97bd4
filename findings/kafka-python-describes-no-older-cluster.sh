#!/usr/bin/env bash
# kafka-python 3.0.12 raises KeyError in KafkaAdminClient.describe_cluster() if the broker is Apache Kafka 2.8 to 3.6.
#
# DescribeCluster version 1 added the field EndpointType (KIP-919). Apache Kafka 2.8 to 3.6 has version 0 only, so
# kafka-python sends version 0, and the response has no EndpointType.
#
# Expected: the cluster id, the controller and the brokers, as the documentation of describe_cluster() states. confluent-kafka
# 2.16.1 returns them from the same broker. The schema of kafka-python itself has EndpointType in versions "1+" only
# (kafka/protocol/schemas/resources/DescribeClusterResponse.json).
# Observed: the broker answers without an error, and kafka-python raises KeyError: 'endpoint_type'.
# Cause (kafka/admin/_cluster.py): metadata.pop('endpoint_type') has no default, and to_dict() leaves out fields that the
# version of the response does not have. The fallback to Metadata is only for brokers without
# DescribeCluster.
#
# Needs java 11 or later, mvn, python3 with venv. Exit codes: see README.md.
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
<groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>3.6.2</version>
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
PROPERTIES
java -cp 'lib/*' kafka.tools.StorageTool format -t 4L6g3nShT-eMCtK--X86sw -c server.properties > format.log 2>&1 \
    || cannot "Kafka does not format: $(tail -1 format.log)"
java -Xmx512m -cp 'lib/*' kafka.Kafka server.properties > broker.log 2>&1 &
broker=$!

# The same question by two clients.
cat > describe.py <<'PYTHON'
import sys

from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient

server = sys.argv[1]
reference = AdminClient({"bootstrap.servers": server})
reference.list_topics(timeout=90)
found = reference.describe_cluster(request_timeout=60).result()
print("confluent-kafka:", found.cluster_id, [node.id for node in found.nodes])

client = KafkaAdminClient(bootstrap_servers=server)
try:
    found = client.describe_cluster()
    print("kafka-python:", found["cluster_id"], [node["broker_id"] for node in found["brokers"]])
except KeyError as error:
    print("kafka-python: KeyError", error)
client.close()
PYTHON
seen=$(venv/bin/python describe.py "127.0.0.1:$port" 2> describe.log)
[ -n "$seen" ] || cannot "the broker does not answer: $(tail -1 describe.log)"

echo "$seen"
[ "$seen" = "confluent-kafka: 4L6g3nShT-eMCtK--X86sw [1]
kafka-python: KeyError 'endpoint_type'" ] || { echo "Changed: the clients behave differently from the finding."; exit 1; }
echo "The finding holds: kafka-python raises KeyError, and another client describes the cluster."
