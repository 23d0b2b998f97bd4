#!/usr/bin/env bash
# Apache Kafka 4.0.2 refuses a member that joins a consumer group again, although its own message requests it to do so.
#
# Three members join a group of KIP-848 with ConsumerGroupHeartbeat version 1, so the epoch of the first member increases
# twice. Then the first member sends heartbeats with member epoch 0 and its member id, as a fenced client does.
#
# Expected: the member is in the group again. KIP-848 describes that a fenced member gives up its partitions and joins again
# with its member id and epoch 0. Apache Kafka 4.4.0 accepts the heartbeat and returns the epoch of the member.
# Observed: each heartbeat with epoch 0 is answered FENCED_MEMBER_EPOCH with the message "must abandon all its partitions
# and rejoin". The coordinator compares epoch 0 with the epoch that it has stored, and accepts only that epoch and the one
# before it. The member can join when its session has timed out (45 s), if it does not send a valid heartbeat before.
# Known as KAFKA-19233, corrected by https://github.com/apache/kafka/pull/21305, in 4.2.0 and later.
#
# Consequence for captures: FENCED_MEMBER_EPOCH responses that repeat are not proof of a client that ignores the error.
#
# Needs java 17 or later, mvn, python3. Exit codes: see README.md.
set -uo pipefail

cannot() { echo "Cannot run: $*"; exit 77; }
for tool in java mvn python3; do command -v "$tool" > /dev/null || cannot "$tool is missing"; done

work=$(mktemp -d)
broker=
stop() {
    [ -z "$broker" ] || { kill "$broker" && wait "$broker"; } 2> /dev/null
    broker=
}
trap 'stop; rm -rf "$work"' EXIT
cd "$work" || cannot "no temporary folder"

# Raw requests: the Python clients do not let a program choose the member epoch.
cat > rejoin.py <<'PYTHON'
import socket
import struct
import sys
import time
import uuid

ERRORS = {0: "no error", 110: "FENCED_MEMBER_EPOCH"}
GROUP, TOPIC = b"billing", b"payments"


def connect(port: int) -> socket.socket:
    for _ in range(180):
        try:
            return socket.create_connection(("127.0.0.1", port), 30)
        except OSError:
            time.sleep(0.5)
    sys.exit("the broker does not start")


connection = connect(int(sys.argv[1]))
stream = connection.makefile("rwb")


def send(api: int, version: int, body: bytes) -> bytes:
    """Return the response without its correlation id."""
    message = struct.pack(">hhih4s", api, version, 1, 4, b"test") + body
    stream.write(struct.pack(">i", len(message)) + message)
    stream.flush()
    (size,) = struct.unpack(">i", stream.read(4))
    return stream.read(size)[4:]


def string(value: bytes) -> bytes:
    return struct.pack(">h", len(value)) + value


def compact(value: bytes) -> bytes:
    return bytes([len(value) + 1]) + value


def compact_string(response: bytes, position: int) -> tuple[bytes, int]:
    """Return the string, which is empty if it is null, and the position after it."""
    size = shift = 0
    while True:
        byte = response[position]
        size |= (byte & 0x7F) << shift
        position += 1
        shift += 7
        if byte < 0x80:
            break
    end = position + max(size - 1, 0)
    return response[position:end], end


def heartbeat(member: bytes, epoch: int, joins: bool) -> tuple[int, bytes, int]:
    """Return the error code, the error message, and the member epoch of the response."""
    body = b"\0" + compact(GROUP) + compact(member) + struct.pack(">i", epoch) + b"\0\0"  # no instance id, no rack
    # A heartbeat without news has null for all other fields.
    body += struct.pack(">i", 60000) + b"\x02" + compact(TOPIC) if joins else struct.pack(">i", -1) + b"\0"
    body += b"\0\0" + (b"\x01" if joins else b"\0") + b"\0"  # regex, assignor, owned partitions, tags
    response = send(68, 1, body)
    (error,) = struct.unpack_from(">h", response, 5)  # after the tags of the header and the throttle time
    text, position = compact_string(response, 7)
    _, position = compact_string(response, position)
    return error, text, struct.unpack_from(">i", response, position)[0]


def wait(done) -> None:
    end = time.monotonic() + 90
    while not done():
        if time.monotonic() > end:
            sys.exit("the broker does not become ready")
        time.sleep(0.5)


# CreateTopics version 2: error 36 means that the topic exists. FindCoordinator version 0 creates __consumer_offsets.
create = struct.pack(">i", 1) + string(TOPIC) + struct.pack(">ihiiiB", 1, 1, 0, 0, 30000, 0)
wait(lambda: struct.unpack_from(">h", send(19, 2, create), 8 + 2 + len(TOPIC))[0] in (0, 36))
wait(lambda: send(10, 0, string(GROUP))[:2] == b"\0\0")
members = [str(uuid.uuid4()).encode() for _ in range(3)]
error, _, epoch = heartbeat(members[0], 0, True)
if error:
    sys.exit(f"the first member does not join: error {error}")
for member in members[1:]:
    if heartbeat(member, 0, True)[0]:
        sys.exit("a member does not join")
    before = epoch

    def advance() -> bool:
        global epoch
        error, _, answered = heartbeat(members[0], epoch, False)
        if error:
            sys.exit(f"heartbeat: error {error}")
        epoch = answered
        return epoch > before

    wait(advance)
for _ in range(3):
    error, text, answered = heartbeat(members[0], 0, True)
    answer = f"{ERRORS.get(error, error)}, {text.decode() or f'epoch {answered}'}"
    print(f"stored epoch {epoch}, heartbeat with epoch 0: {answer}")
    time.sleep(1)
PYTHON

run() { # version: prints the responses of that version
    cat > pom.xml <<POM
<project><modelVersion>4.0.0</modelVersion><groupId>f</groupId><artifactId>f</artifactId><version>1</version>
<dependencies><dependency>
<groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$1</version>
</dependency></dependencies></project>
POM
    mvn -q -B -Dmaven.repo.local="$work/m2" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
        -DoutputDirectory="$work/lib-$1" > mvn.log 2>&1 || cannot "Maven Central: $(tail -1 mvn.log)"
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
log.dirs=$work/data-$1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
PROPERTIES
    java -cp "lib-$1/*" kafka.tools.StorageTool format -t 4L6g3nShT-eMCtK--X86sw -c server.properties > format.log 2>&1 \
        || cannot "Kafka does not format: $(tail -1 format.log)"
    java -Xmx512m -cp "lib-$1/*" kafka.Kafka server.properties > broker.log 2>&1 &
    broker=$!
    python3 rejoin.py "$port" > "seen-$1" 2> rejoin.log || cannot "Apache Kafka $1: $(tail -1 rejoin.log)"
    stop
    sed "s/^/Apache Kafka $1, /" "seen-$1"
}
run 4.0.2
run 4.4.0

fenced="stored epoch 3, heartbeat with epoch 0: FENCED_MEMBER_EPOCH, The consumer group member has a smaller member epoch (0)\
 than the one known by the group coordinator (3). The member must abandon all its partitions and rejoin."
accepted="stored epoch 4, heartbeat with epoch 0: no error, epoch 4"
[ "$(< seen-4.4.0)" = "$accepted
$accepted
$accepted" ] || { echo "Changed: the reference version differs."; exit 1; }
[ "$(< seen-4.0.2)" = "$fenced
$fenced
$fenced" ] || { echo "Changed: the responses differ from the finding."; exit 1; }
echo "The finding holds: a member that rejoins is fenced."
