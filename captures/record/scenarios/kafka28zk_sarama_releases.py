"""Apache Kafka 2.8.2 with ZooKeeper, one broker, sarama told that the broker is of release 0.8.2, 0.10.2,
0.11.0, 1.0 and 2.8 in turn: it writes (message formats 0, 1 and 2; gzip and snappy), reads, joins groups
and administers with the API versions of that release.
"""

from captures.record.golang import sarama
from captures.record.lab import Lab
from captures.record.scenarios._members import two_members
from captures.record.spec import Spec

NAME = "kafka28zk_sarama_releases"
BROKER = Spec("2.8.2", zookeeper=True, properties={"num.partitions": "2"})
_RELEASES = {"0.8.2.0": "snappy", "0.10.2.0": "gzip", "0.11.0.0": "snappy", "1.0.0": "gzip", "2.8.0": "zstd"}


def run(lab: Lab) -> None:
    """Write, read, group and administer as of one release after the other."""
    for release, codec in _RELEASES.items():
        name = "v" + release.replace(".", "-")
        options = {"max": release, "topic": name}
        headers = "no" if release in ("0.8.2.0", "0.10.2.0") else "yes"
        written = {"label": name, "codec": codec, "headers": headers, **options}
        lab.run_driver(sarama(), "produce", client_id=f"p-{name}", **written)
        lab.run_driver(sarama(), "consume", client_id=f"c-{name}", **options)
        if release != "0.8.2.0":
            two_members(lab, sarama(), f"g-{name}", group=f"group-{name}", **options)
            managed = {"max": release, "topic": f"{name}-managed", "group": f"{name}-managed"}
            lab.run_driver(sarama(), "admin", client_id=f"a-{name}", **managed)
