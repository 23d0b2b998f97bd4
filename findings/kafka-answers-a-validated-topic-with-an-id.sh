#!/usr/bin/env bash
# Apache Kafka 4.4.0 answers CreateTopics with validateOnly=true with a topic id that no topic ever has.
#
# Expected: no topic is created, so the response has no topic id, that is Uuid.ZERO_UUID. The documentation of
# CreateTopicsResult#topicId says that it "provides topic ID for the topic when the request completes", and there is no topic.
# Observed: each of two requests with validateOnly=true for the topic "t" gets an id, and the two ids differ. The request
# that creates "t" gets the id that describeTopics has. A description by one of the first two ids fails with
# UnknownTopicIdException.
#
# Consequence for captures: two ids for one topic name in the responses of one cluster do not prove that the topic was
# deleted and created again.
#
# Needs java 17 or later, mvn, python3. Exit codes: see README.md.
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

# Two validations, one creation, and what is there afterwards.
cat > Ids.java <<'JAVA'
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.Uuid;

public class Ids {
    public static void main(String[] arguments) throws Exception {
        try (Admin admin = Admin.create(java.util.Map.of("bootstrap.servers", arguments[0], "default.api.timeout.ms", "90000"))) {
            admin.describeCluster().nodes().get();
            List<Uuid> validated = new ArrayList<>();
            for (int time = 1; time <= 2; time++) {
                validated.add(create(admin, true));
                System.out.println("validation " + time + ": " + (validated.get(time - 1).equals(Uuid.ZERO_UUID) ? "no id" : "an id"));
            }
            System.out.println("the ids of the validations: " + (validated.get(0).equals(validated.get(1)) ? "equal" : "different"));
            System.out.println("topics after the validations: " + admin.listTopics().names().get());
            Uuid created = create(admin, false);
            Thread.sleep(2000); // the controller sends the topic to the broker after its response
            Uuid described = admin.describeTopics(List.of("t")).allTopicNames().get().get("t").topicId();
            System.out.println("the id of the creation: " + (created.equals(described) ? "that of the topic" : "another one"));
            for (Uuid id : validated) {
                String found = "the topic";
                try {
                    admin.describeTopics(TopicCollection.ofTopicIds(List.of(id))).allTopicIds().get();
                } catch (ExecutionException problem) {
                    found = problem.getCause().getClass().getSimpleName();
                }
                System.out.println("description by the id of a validation: " + found);
            }
        }
    }

    private static Uuid create(Admin admin, boolean isValidation) throws Exception {
        CreateTopicsOptions options = new CreateTopicsOptions().validateOnly(isValidation);
        return admin.createTopics(List.of(new NewTopic("t", 1, (short) 1)), options).topicId("t").get();
    }
}
JAVA
seen=$(java -Xmx256m -cp 'lib/*' Ids.java "127.0.0.1:$port" 2> ids.log) || { echo "$seen"; cannot "the broker: $(tail -1 ids.log)"; }
echo "$seen"
[ "$seen" = "validation 1: an id
validation 2: an id
the ids of the validations: different
topics after the validations: []
the id of the creation: that of the topic
description by the id of a validation: UnknownTopicIdException
description by the id of a validation: UnknownTopicIdException" ] \
    || { echo "Changed: the ids differ from the finding."; exit 1; }
echo "The finding holds: a validation is answered with an id that no topic has."
