#!/usr/bin/env bash
# Apache Kafka 2.8.2 with ZooKeeper omits a partition from Metadata if none of its replicas was online since its creation.
#
# Two brokers run. Each of the topics "early" and "late" has the replica assignment [[1], [2], [1]], so partition 1 is on
# broker 2 only. "early" is created while broker 2 runs, and "late" after broker 2 has stopped.
#
# Expected: Metadata lists three partitions of both topics, and partition 1 has the error LEADER_NOT_AVAILABLE. The error
# code of each partition exists for that, and Jun Rao wrote on the mailing list kafka-users in March 2015 that the response
# lists all partitions, with or without a leader (cited in https://github.com/segmentio/kafka-go/issues/139).
# Observed: "early" has three partitions, and partition 1 has LEADER_NOT_AVAILABLE. "late" has the partitions 0 and 2, without
# an error. ZooKeeper has three partitions. (CreateTopics creates the topic, then answers REQUEST_TIMED_OUT because it waits
# for a leader of each partition.) Partition 1 appears when broker 2 starts again. The controller sends the state of a
# partition to the brokers only after its first leader election. A comment on https://github.com/apache/kafka/pull/5041
# (KAFKA-3143) mentions that it skips replicas without leadership information. Apache Kafka 4 does not support ZooKeeper.
#
# Consequence for captures: the number of partitions in Metadata is not always the number of partitions of the topic. A
# client that chooses the partition from the hash of the key and that number chooses another partition than later.
#
# Needs java 17 or later, mvn, python3 with venv. Exit codes: see README.md.
set -uo pipefail

cannot() { echo "Cannot run: $*"; exit 77; }
for tool in java mvn python3; do command -v "$tool" > /dev/null || cannot "$tool is missing"; done

work=$(mktemp -d)
zookeeper= first= second=
cleanup() {
    for server in $first $second $zookeeper; do { kill "$server" && wait "$server"; } 2> /dev/null; done
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

# ZooKeeper and two brokers.
read -r keeper port other < <(python3 -c '
import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
print(*(s.getsockname()[1] for s in held))')
cat > zookeeper.properties <<PROPERTIES
dataDir=$work/zookeeper
clientPort=$keeper
clientPortAddress=127.0.0.1
admin.enableServer=false
PROPERTIES
java -Xmx256m -cp 'lib/*' org.apache.zookeeper.server.quorum.QuorumPeerMain zookeeper.properties > zookeeper.log 2>&1 &
zookeeper=$!
broker() { # id, port: starts a broker
    cat > "server$1.properties" <<PROPERTIES
broker.id=$1
zookeeper.connect=127.0.0.1:$keeper
listeners=PLAINTEXT://127.0.0.1:$2
log.dirs=$work/data$1
auto.create.topics.enable=false
PROPERTIES
    exec java -Xmx512m -cp 'lib/*' kafka.Kafka "server$1.properties" > "broker$1.log" 2>&1
}
broker 1 "$port" &
first=$!
broker 2 "$other" &
second=$!

# Each call waits until the given number of brokers is up, then creates or lists topics.
cat > topics.py <<'PYTHON'
import sys
import time

from confluent_kafka.admin import AdminClient, NewTopic

server, brokers, action, *names = sys.argv[1:]
admin = AdminClient({"bootstrap.servers": server, "log_level": 0})
end = time.monotonic() + 90
while len(admin.list_topics(timeout=90).brokers) != int(brokers):
    if time.monotonic() > end:
        sys.exit(f"there are not {brokers} brokers")
    time.sleep(0.5)
for name in names:
    if action == "create":
        topic = NewTopic(name, 3, replica_assignment=[[1], [2], [1]])
        error = admin.create_topics([topic], operation_timeout=5)[name].exception(60)
        print(f"CreateTopics of {name}:", error.args[0].name() if error else "no error")
time.sleep(5)  # the controller sends the metadata after its response
for name in names:
    partitions = admin.list_topics(name, timeout=60).topics[name].partitions
    states = [(number, one.error.name() if one.error else f"leader {one.leader}") for number, one in partitions.items()]
    print(f"{brokers} brokers, topic {name}:", *(f"{number}={state}" for number, state in sorted(states)))
PYTHON
topics() {
    venv/bin/python topics.py "127.0.0.1:$port" "$@" 2> topics.log || cannot "the brokers: $(tail -1 topics.log)"
}
both=$(topics 2 create early) || { echo "$both"; exit 77; }
{ kill "$second" && wait "$second"; } 2> /dev/null
one=$(topics 1 create late && topics 1 list early) || { echo "$one"; exit 77; }
stored=$(java -cp 'lib/*' kafka.admin.TopicCommand --zookeeper "127.0.0.1:$keeper" --describe --topic late 2> /dev/null \
    | grep -o 'PartitionCount: [0-9]*')
broker 2 "$other" &
second=$!
again=$(topics 2 list late) || { echo "$again"; exit 77; }

seen="$both
$one
ZooKeeper, topic late: $stored
$again"
echo "$seen"
[ "$seen" = "CreateTopics of early: no error
2 brokers, topic early: 0=leader 1 1=leader 2 2=leader 1
CreateTopics of late: REQUEST_TIMED_OUT
1 brokers, topic late: 0=leader 1 2=leader 1
1 brokers, topic early: 0=leader 1 1=LEADER_NOT_AVAILABLE 2=leader 1
ZooKeeper, topic late: PartitionCount: 3
2 brokers, topic late: 0=leader 1 1=leader 2 2=leader 1" ] \
    || { echo "Changed: the partitions differ from the finding."; exit 1; }
echo "The finding holds: Metadata omits a partition that was never online."
