"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0: a share group (KIP-932) delivers records again. The
first member takes all and hangs until its locks time out; the second accepts, releases and rejects. What is
released comes again until it was delivered three times, the most that the broker allows here.
"""

import time

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_redelivery"
_LOCK_MS = 2000
BROKER = Spec(
    "4.4.0",
    properties={
        "group.share.delivery.count.limit": "3",
        "group.share.min.record.lock.duration.ms": "1000",
        "group.share.record.lock.duration.ms": str(_LOCK_MS),
    },
)


def run(lab: Lab) -> None:
    """Hang, then accept, release and reject; then a record that comes once."""
    client = java("4.4.0")
    lab.run_driver(client, "Produce", client_id="producer", topic="jobs", count=8)
    lab.run_driver(client, "AdminGroupKinds", client_id="configurer", group="workers", what="share")
    share = {"topic": "jobs", "group": "workers", "wait": "true"}
    hangs = lab.start_driver(
        client, "ShareConsume", client_id="hangs", explicit="true", stall="true", **share
    )
    hangs.until("delivered", 8)
    time.sleep(2 * _LOCK_MS / 1000)
    lab.truth.note("the locks of all that the first member took have timed out")
    acts = "ACCEPT,RELEASE,REJECT,RELEASE"
    works = lab.start_driver(client, "ShareConsume", client_id="works", explicit="true", acts=acts, **share)
    works.until("delivered", 12)
    hangs.kill()
    lab.run_driver(client, "Produce", client_id="producer-2", topic="jobs", count=1, prefix="later")
    works.until("delivered", 13)
    works.stop()
