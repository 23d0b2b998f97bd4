"""What every generation of the Java client does in the scenarios that compare them: each its own topics and group."""

from captures.record.java import java
from captures.record.lab import Lab

_CODECS = ("none", "gzip", "snappy", "lz4")


def parade(lab: Lab, versions: list[str]) -> None:
    """One version of kafka-clients after the other writes, reads in a group, then transacts and administers if it can."""
    for place, version in enumerate(versions):
        client = java(version)
        name = "v" + version.replace(".", "-")
        codec = {"compression.type": _CODECS[place % len(_CODECS)], "acks": "all"}
        lab.run_driver(client, "Produce", client_id=f"{name}-producer", topic=name, count=4, properties=codec)
        lab.run_driver(
            client,
            "Consume",
            client_id=f"{name}-consumer",
            topic=name,
            group=f"{name}-group",
            polls=8,  # long enough for heartbeats
            commit="true",
            properties={"session.timeout.ms": "6000", "heartbeat.interval.ms": "500"},
        )
        _newer(lab, version, name)


def _newer(lab: Lab, version: str, name: str) -> None:
    client = java(version)
    number = tuple(int(part) for part in version.split(".")[:2])
    if number >= (0, 11):
        options = {"topic": name, "count": 2, "source": name, "group": f"{name}-group"}
        lab.run_driver(
            client,
            "Transact",
            client_id=f"{name}-transactor",
            transactional_id=f"{name}-txn",
            plan="commit,abort,offsets",
            **options,
        )
    if number >= (1, 0):
        lab.run_driver(
            client, "OldAdmin", client_id=f"{name}-admin", topic=f"{name}-admin", group=f"{name}-group"
        )
