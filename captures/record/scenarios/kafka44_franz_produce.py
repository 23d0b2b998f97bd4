"""Apache Kafka 4.4.0, one KRaft node, franz-go: producers with acks 0, 1 and all and with the five codecs,
keys, null values, headers and old timestamps; one of them idempotent. Each topic is read back without a
group.
"""

from captures.record.golang import franz
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_franz_produce"
BROKER = Spec("4.4.0", properties={"num.partitions": "2"})
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def run(lab: Lab) -> None:
    """One topic a codec, one a kind of acks, one for the idempotent producer."""
    client = franz()
    for codec in _CODECS:
        _round(lab, f"codec-{codec}", codec=codec)
    for name, acks in {"0": 0, "1": 1, "all": -1}.items():
        _round(lab, f"acks-{name}", acks=acks)
    _round(lab, "idempotent", idempotent="yes")
    lab.run_driver(client, "consume", client_id="reader-again", topic="codec-none", count=6)


def _round(lab: Lab, topic: str, **options: object) -> None:
    client = franz()
    lab.run_driver(client, "produce", client_id=f"p-{topic}", topic=topic, label=topic, **options)
    lab.run_driver(client, "consume", client_id=f"c-{topic}", topic=topic, count=6)
