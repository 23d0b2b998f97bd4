"""The command line tools of Apache Kafka: what they print is what they and the broker say."""

import re

from captures.record import jars, workshop
from captures.record.lab import Lab

_JARS = "tools-4.4.0"
_TOOLS = "org.apache.kafka.tools"


def tool(name: str, bootstrap: str, *options: str) -> str:
    """Run a class of the tools to its end; what it printed. Raises RuntimeError if it fails."""
    java = workshop.program("java", "run the command line tools")
    command = [java, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars.classpath(_JARS)]
    return workshop.run([*command, f"{_TOOLS}.{name}", "--bootstrap-server", bootstrap, *options])


def tell_offsets(lab: Lab, cluster: str, bootstrap: str) -> None:
    """Add an event `ends` for each partition of a cluster: the offset that the broker writes next."""
    printed = tool("GetOffsetShell", bootstrap)
    for topic, partition, offset in re.findall(r"^([\w.-]+):(\d+):(\d+)$", printed, re.MULTILINE):
        event = {"event": "ends", "topic": topic, "partition": int(partition), "offset": int(offset)}
        lab.truth.event(event, cluster)


def reset_offsets(lab: Lab, client_id: str, group: str, topic: str, *how: str) -> None:
    """kafka-consumer-groups --reset-offsets; an event `reset` of each partition that it names."""
    printed = tool(
        "consumer.group.ConsumerGroupCommand", lab.cluster.bootstrap, "--group", group, "--topic", topic,
        "--reset-offsets", *how,
    )  # fmt: skip
    rows = re.findall(rf"^{re.escape(group)}\s+{re.escape(topic)}\s+(\d+)\s+(\d+)\s*$", printed, re.MULTILINE)
    for partition, offset in rows:
        event = {"event": "reset", "group": group, "topic": topic, "partition": int(partition)}
        lab.truth.event(event | {"offset": int(offset), "how": " ".join(how)}, client_id)


def tell_topic(lab: Lab, client_id: str, topic: str) -> None:
    """kafka-topics --describe; an event `topic` with the id that the broker has for the name."""
    printed = tool("TopicCommand", lab.cluster.bootstrap, "--describe", "--topic", topic)
    found = re.search(r"TopicId: (\S+)", printed)
    assert found is not None, printed
    lab.truth.event({"event": "topic", "topic": topic, "topic_id": found[1]}, client_id)


def tell_groups(lab: Lab, client_id: str) -> None:
    """kafka-consumer-groups --describe; an event `lag` of each partition that a group committed."""
    printed = tool("consumer.group.ConsumerGroupCommand", lab.cluster.bootstrap, "--describe", "--all-groups")
    for group, topic, partition, offset, end in re.findall(
        r"^(\S+) +(\S+) +(\d+) +(\d+) +(\d+) ", printed, re.MULTILINE
    ):
        place = {"event": "lag", "group": group, "topic": topic, "partition": int(partition)}
        lab.truth.event(place | {"committed": int(offset), "end": int(end)}, client_id)
