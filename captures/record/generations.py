"""What every generation of the Java client does in the scenarios that compare them: each its own topics
and group.
"""

from captures.record.administer import login
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import USERS

_CODECS = ("none", "gzip", "snappy", "lz4")


def parade(lab: Lab, versions: list[str]) -> None:
    """One version after the other writes, reads in a group, then transacts and administers if it can."""
    for user in ("admin", "alice"):
        lab.truth.principal(f"User:{user}", "PLAIN", USERS[user])
    for place, version in enumerate(versions):
        client = java(version)
        name = "v" + version.replace(".", "-")
        codec = {"compression.type": _CODECS[place % len(_CODECS)], "acks": "all"}
        lab.run_driver(client, "Produce", client_id=f"{name}-producer", topic=name, count=4, properties=codec)
        if version.startswith("0.8"):
            continue  # its consumer is an empty shell
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
            client,
            "OldAdmin",
            client_id=f"{name}-admin",
            bootstrap=lab.cluster.sasl,
            topic=f"{name}-admin",
            group=f"{name}-group",
            properties=login("PLAIN", "admin"),
        )
    if version.startswith(("0.10.2", "0.11")):  # SaslHandshake v0, then bare tokens
        sasl = {"bootstrap": lab.cluster.sasl, "properties": login("PLAIN", "alice")}
        lab.run_driver(client, "Produce", client_id=f"{name}-sasl", topic=name, count=2, **sasl)
    if number >= (3, 7):
        how = {"group.protocol": "consumer"}
        options = {"topic": name, "group": f"{name}-new", "polls": 4, "commit": "true", "properties": how}
        lab.run_driver(client, "Consume", client_id=f"{name}-new-consumer", **options)
    if number == (2, 7):
        lab.run_driver(client, "AdminAccess", client_id=f"{name}-access")
        lab.run_driver(client, "AdminTopics", client_id=f"{name}-topics", topic=f"{name}-topics")
