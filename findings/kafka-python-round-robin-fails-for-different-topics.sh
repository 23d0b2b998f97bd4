#!/usr/bin/env bash
# RoundRobinPartitionAssignor of kafka-python 3.0.12 raises KeyError if the members of a group subscribe to different topics.
#
# The leader of a classic group assigns the partitions. Members may have different subscriptions: the documentation of
# org.apache.kafka.clients.consumer.RoundRobinAssignor has an example with three members and three topics.
#
# Expected: each partition is assigned to a member that subscribes to its topic, as RangePartitionAssignor does.
# Observed: the assignor passes over a member without the topic of the next partition. It then looks up the next member by
# the pair of its instance id and member id instead of its member id: KeyError: (None, 'member-2').
#
# Consequence on the wire: poll() raises in the leader, which sends no SyncGroup. The coordinator keeps the other members
# waiting until the session or rebalance timeout of the leader. Two applications with one group.id cause this.
#
# Source: kafka/coordinator/assignors/roundrobin.py, RoundRobinPartitionAssignor.assign.
#
# Needs python3 with venv. Exit codes: see README.md.
set -uo pipefail

cannot() { echo "Cannot run: $*"; exit 77; }
command -v python3 > /dev/null || cannot "python3 is missing"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || cannot "no temporary folder"
{ python3 -m venv venv && venv/bin/pip install -q --no-cache-dir kafka-python==3.0.12; } > pip.log 2>&1 \
    || cannot "PyPI: $(tail -1 pip.log)"

cat > assign.py <<'PY'
from types import SimpleNamespace

from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

CLUSTER = SimpleNamespace(partitions_for_topic={"audit": {0}, "events": {0, 1}}.get)


def assigned(assignor, *subscriptions):
    members = [
        SimpleNamespace(member_id=f"member-{number}", group_instance_id=None, metadata=assignor.metadata(topics))
        for number, topics in enumerate(subscriptions, 1)
    ]
    try:
        found = assignor.assign(CLUSTER, members)
    except KeyError as error:
        return f"KeyError: {error}"
    return {name: [(topic, list(numbers)) for topic, numbers in one.assigned_partitions] for name, one in found.items()}


print("equal subscriptions, round robin:    ", assigned(RoundRobinPartitionAssignor, ["events"], ["events"]))
print("different subscriptions, range:      ", assigned(RangePartitionAssignor, ["events"], ["audit"]))
print("different subscriptions, round robin:", assigned(RoundRobinPartitionAssignor, ["events"], ["audit"]))
PY
venv/bin/python assign.py > seen 2> errors || cannot "$(tail -1 errors)"
cat seen

grep -q "^equal subscriptions, round robin: .*member-1.*events.*member-2.*events" seen \
    && grep -q "^different subscriptions, range: .*member-1.*events.*member-2.*audit" seen \
    && grep -q "^different subscriptions, round robin: KeyError: (None, 'member-" seen \
    && { echo "The finding holds."; exit 0; }
echo "The software behaves differently now."
exit 1
